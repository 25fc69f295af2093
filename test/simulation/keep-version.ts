import path from 'node:path';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';

/**
 * `npm run keep-version`: keeps the domain as it is now, in one file, as the version that the next one is deployed
 * beside. Run it when a version is released; `--from` names another checkout.
 */
const root = path.resolve(import.meta.dirname, '../..');
const { values } = parseArgs({ options: { from: { type: 'string', default: root } } });

await build({
  stdin: {
    contents: "export { dispatchJob } from './dispatch-job.ts'; export { reconcileJobs } from './reconcile-jobs.ts';",
    resolveDir: path.join(path.resolve(values.from), 'lambdas/domain'),
  },
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  minifyWhitespace: true,
  minifySyntax: true,
  legalComments: 'none',
  outfile: path.join(import.meta.dirname, 'previous-version/domain.mjs'),
});
