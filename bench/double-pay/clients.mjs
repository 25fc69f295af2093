/*
 * The official clients as their documentation shows them, with every default left alone: one user action each.
 * JavaScript, because they are installed in this folder only and the project's type check must pass without them.
 */
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { readFileSync } from 'node:fs';
import { createFalClient } from '@fal-ai/client';
import RunwayML from '@runwayml/sdk';
import { LumaAI } from 'lumaai';
import OpenAI from 'openai';
import Replicate from 'replicate';
import Together from 'together-ai';

const require = createRequire(import.meta.url);

/** The version that is installed, which is the one that is measured. */
function versionOf(name) {
  const folder = require.resolve.paths(name)?.find((path) => path.startsWith(dirname(import.meta.filename)));
  return JSON.parse(readFileSync(join(folder ?? '', name, 'package.json'), 'utf8')).version;
}

const prompt = 'a lighthouse';

export const clients = [
  {
    name: '@fal-ai/client',
    act: (baseUrl) => {
      // It has no base URL of its own, but takes a fetch.
      const toUs = (url, init) => fetch(new URL(new URL(url).pathname, baseUrl), init);
      return createFalClient({ credentials: 'key', fetch: toUs }).queue.submit('fal-ai/flux/dev', {
        input: { prompt },
      });
    },
  },
  {
    name: 'replicate',
    act: (baseUrl) => new Replicate({ auth: 'key', baseUrl }).predictions.create({ version: 'v', input: { prompt } }),
  },
  {
    name: 'openai',
    act: (baseURL) => new OpenAI({ apiKey: 'key', baseURL }).images.generate({ model: 'gpt-image-1', prompt }),
  },
  {
    name: '@runwayml/sdk',
    act: (baseURL) => {
      const order = { model: 'gen4_image', ratio: '1920:1080', promptText: prompt };
      return new RunwayML({ apiKey: 'key', baseURL }).textToImage.create(order);
    },
  },
  {
    name: 'lumaai',
    act: (baseURL) => new LumaAI({ authToken: 'key', baseURL }).generations.image.create({ model: 'photon-1', prompt }),
  },
  {
    name: 'together-ai',
    act: (baseURL) => {
      const images = new Together({ apiKey: 'key', baseURL }).images;
      const order = { model: 'black-forest-labs/FLUX.1-schnell', prompt };
      return images.generate ? images.generate(order) : images.create(order);
    },
  },
].map((client) => ({ ...client, version: versionOf(client.name) }));
