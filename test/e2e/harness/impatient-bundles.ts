import path from 'node:path';
import { build } from 'esbuild';
import type { LocalFunctionSpec } from '../../../local/runtime/functions.ts';

const root = path.resolve(import.meta.dirname, '../../..');
const timingFile = path.join(root, 'lambdas/domain/timing.ts');
const impatientTimingFile = path.join(import.meta.dirname, 'impatient-timing.ts');

/** The functions that live by the protocol's times. */
const names = ['dispatch-job', 'operate-jobs', 'receive-vendor-event', 'reconcile-jobs'] as const;

/**
 * Bundles those functions once more, their source unchanged but for the times.
 * @returns what deploys them in the place of the ordinary ones
 */
export async function impatientBundles(folder: string): Promise<(spec: LocalFunctionSpec) => LocalFunctionSpec> {
  await build({
    bundle: true,
    platform: 'node',
    format: 'esm',
    target: 'node24',
    mainFields: ['module', 'main'],
    conditions: ['module', 'import', 'node'],
    outExtension: { '.js': '.mjs' },
    banner: {
      js: "import{createRequire as __slowlaneRequire}from'node:module';const require=__slowlaneRequire(import.meta.url);",
    },
    logLevel: 'silent',
    absWorkingDir: root,
    outdir: folder,
    entryPoints: Object.fromEntries(names.map((name) => [name, `lambdas/functions/${name}.ts`])),
    plugins: [
      {
        name: 'impatient-timing',
        setup: (bundling) => {
          bundling.onResolve({ filter: /\/timing\.ts$/ }, ({ path: asked, resolveDir, importer }) => {
            const isTiming = path.resolve(resolveDir, asked) === timingFile && importer !== impatientTimingFile;
            return isTiming ? { path: impatientTimingFile } : undefined;
          });
        },
      },
    ],
  });
  return (spec) => {
    // A worker is named after its lane too.
    const name = names.find((one) => spec.name.startsWith(one));
    return name === undefined ? spec : { ...spec, bundleFile: path.join(folder, `${name}.mjs`) };
  };
}
