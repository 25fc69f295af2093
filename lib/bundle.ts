import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { type BuildOptions, build, type Metafile } from 'esbuild';
import * as z from 'zod';
import { functionEnvironments, type FunctionName } from '../lambdas/runtime/env.ts';
import type { FunctionCode } from './constructs/gateway-function.ts';

/**
 * The SDK is bundled: the one in Lambda's runtime is of another version, and slower to load. A bundled CommonJS package may
 * call `require`, which an ES module has not; the alias can't clash with an import of the same name.
 */
const options = {
  bundle: true,
  platform: 'node',
  format: 'esm',
  target: 'node24',
  minify: true,
  mainFields: ['module', 'main'],
  conditions: ['module', 'import', 'node'],
  outExtension: { '.js': '.mjs' },
  banner: {
    js: "import{createRequire as __slowlaneRequire}from'node:module';const require=__slowlaneRequire(import.meta.url);",
  },
  legalComments: 'none',
  metafile: true,
  write: false,
  logLevel: 'silent',
} as const satisfies BuildOptions;

/** What the last run was made from. */
const stamp = z.object({ hash: z.string(), inputs: z.array(z.string()) });

const projectRoot = resolve(import.meta.dirname, '..');

/**
 * Bundles every function in one run of esbuild, unless nothing that went into the last run has changed.
 * @param root the folder that holds `lambdas/functions`; the bundles go to its `.build/functions/<name>/index.mjs`
 * @returns the code of each function, for the stacks; asked for one that has no file, it throws an Error that names it
 * @throws Error naming a file that is no function, or exports no handler; or what esbuild refused
 */
export async function bundleFunctions(root = projectRoot): Promise<FunctionCode> {
  await new Bundle(root).refresh();
  return (name) => Code.fromAsset(folderOf(root, name));
}

function folderOf(root: string, name: FunctionName): string {
  const folder = join(root, '.build/functions', name);
  if (existsSync(join(folder, 'index.mjs'))) return folder;
  throw new Error(`lambdas/functions/${name}.ts does not exist: it is deployed, so it must export a handler.`);
}

class Bundle {
  readonly #root: string;
  readonly #outputs: string;
  readonly #stampPath: string;
  readonly #names: readonly string[];

  constructor(root: string) {
    this.#root = root;
    this.#outputs = join(root, '.build/functions');
    this.#stampPath = join(root, '.build/functions.stamp.json');
    this.#names = functionFiles(join(root, 'lambdas/functions'));
  }

  async refresh(): Promise<void> {
    if (this.#isUpToDate()) return;
    for (const name of this.#names) {
      if (!(name in functionEnvironments)) throw new Error(`lambdas/functions/${name}.ts is no deployed function.`);
    }
    const { outputFiles, metafile } = await build({
      ...options,
      absWorkingDir: this.#root,
      outdir: this.#outputs,
      entryPoints: Object.fromEntries(this.#names.map((name) => [`${name}/index`, `lambdas/functions/${name}.ts`])),
    });
    requireHandlers(metafile);
    this.#removeStale();
    for (const { path, contents } of outputFiles) this.#replace(path, contents);
    this.#replace(join(this.#root, '.build/functions.meta.json'), JSON.stringify(metafile));
    const inputs = ownInputs(metafile);
    // Last: a run that dies before this line is repeated.
    this.#replace(this.#stampPath, JSON.stringify({ hash: this.#hashOf(inputs), inputs }));
  }

  #isUpToDate(): boolean {
    if (!existsSync(this.#stampPath)) return false;
    if (!this.#names.every((name) => existsSync(join(this.#outputs, name, 'index.mjs')))) return false;
    const { hash, inputs } = stamp.parse(JSON.parse(readFileSync(this.#stampPath, 'utf8')));
    return hash === this.#hashOf(inputs);
  }

  #hashOf(inputs: readonly string[]): string {
    const hash = createHash('sha256').update(JSON.stringify([options, this.#names]));
    for (const path of ['package-lock.json', ...inputs]) {
      const file = join(this.#root, path);
      hash.update(`\0${path}\0`).update(existsSync(file) ? readFileSync(file) : '');
    }
    return hash.digest('hex');
  }

  #removeStale(): void {
    if (!existsSync(this.#outputs)) return;
    for (const folder of readdirSync(this.#outputs)) {
      if (!this.#names.includes(folder)) rmSync(join(this.#outputs, folder), { recursive: true });
    }
  }

  /** Whoever reads the file meanwhile, in another synth, sees the old one or the new one. */
  #replace(path: string, contents: string | Uint8Array): void {
    mkdirSync(dirname(path), { recursive: true });
    const temporary = join(this.#root, '.build', `${relative(this.#root, path).replaceAll('/', '-')}.${process.pid}`);
    writeFileSync(temporary, contents);
    renameSync(temporary, path);
  }
}

function functionFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -'.ts'.length))
    .toSorted();
}

/** Files of packages are vouched for by the lock file. */
function ownInputs({ inputs }: Metafile): string[] {
  return Object.keys(inputs)
    .filter((path) => !path.includes('node_modules/'))
    .toSorted();
}

function requireHandlers({ outputs }: Metafile): void {
  for (const { entryPoint, exports } of Object.values(outputs)) {
    if (entryPoint !== undefined && !exports.includes('handler')) throw new Error(`${entryPoint} exports no handler.`);
  }
}
