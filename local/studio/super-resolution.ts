import { readFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import * as tf from '@tensorflow/tfjs-core';
import { loadLayersModel } from '@tensorflow/tfjs-layers';
import * as z from 'zod';

import type { Patch } from './tiles.ts';

export const scale = 2;

/**
 * How far the model looks, in pixels of the input: its convolutions of 3 (seven in a row), 5 and 3 at double size
 * reach 10 at most. A tile that is read with this margin gives exactly the pixels of the undivided picture.
 */
export const reach = 10;

/** Enlarges one patch of a picture. Takes all of the thread's time while it runs. */
export type Enlarge = (patch: Patch) => Promise<Patch>;

// The package exports its loaders for other runtimes only; the files of the model lie beside them.
const modelFolder = new URL('../../../../../models/x2/', import.meta.resolve('@upscalerjs/esrgan-slim'));

const modelSchema = z.object({
  modelTopology: z.looseObject({}),
  weightsManifest: z.array(
    z.object({
      paths: z.array(z.string()),
      weights: z.array(z.object({ name: z.string(), shape: z.array(z.int()), dtype: z.literal('float32') })),
    }),
  ),
});

/** Loads ESRGAN-slim ×2 (MIT, weights from npm) on WebAssembly: about 40 ms. */
export async function loadSuperResolution(): Promise<Enlarge> {
  setWasmPaths(`${dirname(fileURLToPath(import.meta.resolve('@tensorflow/tfjs-backend-wasm')))}/`);
  if (!(await tf.setBackend('wasm'))) throw new Error('The WebAssembly backend does not start.');
  await tf.ready();
  const model = await loadLayersModel({ load: readModel });

  return async ({ pixels, width, height }) => {
    const enlarged = tf.tidy(() => {
      const input = tf.tensor4d(Float32Array.from(pixels), [1, height, width, 3]);
      const output = model.predict(input);
      if (Array.isArray(output)) throw new Error('The model gave several pictures.');
      return tf.cast(tf.round(tf.clipByValue(output, 0, 255)), 'int32');
    });
    const values = await enlarged.data();
    enlarged.dispose();
    return { pixels: Uint8Array.from(values), width: width * scale, height: height * scale };
  };
}

async function readModel() {
  const { modelTopology, weightsManifest } = modelSchema.parse(
    JSON.parse(await readFile(new URL('model.json', modelFolder), 'utf8')),
  );
  const shards = weightsManifest.flatMap(({ paths }) => paths);
  const weights = Buffer.concat(await Promise.all(shards.map((shard) => readFile(new URL(shard, modelFolder)))));
  return {
    modelTopology,
    weightSpecs: weightsManifest.flatMap((group) => group.weights),
    weightData: new Uint8Array(weights).buffer,
  };
}
