import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { type BuildOptions, build, type Metafile, type Plugin } from 'esbuild';
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
  alias: { '@aws-sdk/credential-provider-node': './lambdas/runtime/lambda-credentials.ts' },
  legalComments: 'none',
  metafile: true,
  write: false,
  logLevel: 'silent',
} as const satisfies BuildOptions;

/** Modules that a team may put its own in the place of, by their path in this project. */
const replaceable = {
  features: 'lambdas/catalogue/own-features.ts',
  adapters: 'lambdas/vendors/own-adapters.ts',
} as const;

/** Absolute paths of a team's modules: `features` exports `ownFeatures`, `adapters` exports `ownAdapters`. */
export type OwnModules = { readonly [Name in keyof typeof replaceable]?: string };

/** What the last run was made from. */
const stamp = z.object({ hash: z.string(), inputs: z.array(z.string()) });

const projectRoot = resolve(import.meta.dirname, '..');

/**
 * Bundles every function in one run of esbuild, unless nothing that went into the last run has changed.
 * @param root the folder that holds `lambdas/functions`; the bundles go to its `.build/functions/<name>/index.mjs`
 * @param ownModules a team's features and adapters, bundled in the place of the empty ones
 * @returns the code of each function, for the stacks; asked for one that has no file, it throws an Error that names it
 * @throws Error naming a file that is no function, or exports no handler; or what esbuild refused
 */
export async function bundleFunctions(root = projectRoot, ownModules: OwnModules = {}): Promise<FunctionCode> {
  await new Bundle(root, ownModules).refresh();
  const built = buildFolder(root, ownModules);
  return (name) => Code.fromAsset(folderOf(built, name));
}

/** A team's bundles stand beside the plain ones, so that one run doesn't replace the other's. */
function buildFolder(root: string, ownModules: OwnModules): string {
  if (Object.keys(ownModules).length === 0) return join(root, '.build');
  const id = createHash('sha256').update(JSON.stringify(ownModules)).digest('hex').slice(0, 8);
  return join(root, '.build', `own-${id}`);
}

function folderOf(built: string, name: FunctionName): string {
  const folder = join(built, 'functions', name);
  if (existsSync(join(folder, 'index.mjs'))) return folder;
  throw new Error(`lambdas/functions/${name}.ts does not exist: it is deployed, so it must export a handler.`);
}

class Bundle {
  readonly #root: string;
  readonly #built: string;
  readonly #outputs: string;
  readonly #stampPath: string;
  readonly #names: readonly string[];
  readonly #ownModules: OwnModules;

  constructor(root: string, ownModules: OwnModules) {
    this.#root = root;
    this.#ownModules = ownModules;
    this.#built = buildFolder(root, ownModules);
    this.#outputs = join(this.#built, 'functions');
    this.#stampPath = join(this.#built, 'functions.stamp.json');
    this.#names = functionFiles(join(root, 'lambdas/functions'));
  }

  async refresh(): Promise<void> {
    if (this.#isUpToDate()) return;
    for (const name of this.#names) {
      if (!(name in functionEnvironments)) throw new Error(`lambdas/functions/${name}.ts is no deployed function.`);
    }
    const startedAt = Date.now();
    const { outputFiles, metafile } = await build({
      ...options,
      plugins: [replaceModules(this.#root, this.#ownModules)],
      absWorkingDir: this.#root,
      outdir: this.#outputs,
      entryPoints: Object.fromEntries(this.#names.map((name) => [`${name}/index`, `lambdas/functions/${name}.ts`])),
    });
    requireHandlers(metafile);
    this.#removeStale();
    for (const { path, contents } of outputFiles) this.#replace(path, contents);
    this.#replace(join(this.#built, 'functions.meta.json'), JSON.stringify(metafile));
    const inputs = ownInputs(metafile);
    // Saved while esbuild ran: it may have read the old text, so the next synth bundles again.
    if (inputs.some((path) => this.#changedSince(path, startedAt))) return rmSync(this.#stampPath, { force: true });
    // Last: a run that dies before this line is repeated.
    this.#replace(this.#stampPath, JSON.stringify({ hash: this.#hashOf(inputs), inputs }));
  }

  #isUpToDate(): boolean {
    if (!existsSync(this.#stampPath)) return false;
    if (!this.#names.every((name) => existsSync(join(this.#outputs, name, 'index.mjs')))) return false;
    const { hash, inputs } = stamp.parse(JSON.parse(readFileSync(this.#stampPath, 'utf8')));
    return hash === this.#hashOf(inputs);
  }

  #changedSince(path: string, time: number): boolean {
    const file = join(this.#root, path);
    return !existsSync(file) || statSync(file).mtimeMs >= time;
  }

  #hashOf(inputs: readonly string[]): string {
    const hash = createHash('sha256').update(JSON.stringify([options, this.#names, this.#ownModules]));
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
    const temporary = join(this.#built, `${relative(this.#built, path).replaceAll('/', '-')}.${process.pid}`);
    writeFileSync(temporary, contents);
    renameSync(temporary, path);
  }
}

/** A team's module is loaded in the place of the empty one, wherever that is imported from. */
function replaceModules(root: string, ownModules: OwnModules): Plugin {
  const places = Object.entries(ownModules).map(([name, file]) => [
    join(root, replaceable[name as keyof OwnModules]),
    file,
  ]);
  const own = new Map(places.map(([place = '', file = '']) => [place, file]));
  return {
    name: 'own-modules',
    setup(build) {
      build.onResolve({ filter: /own-(features|adapters)\.ts$/ }, ({ path, resolveDir }) => {
        const file = own.get(resolve(resolveDir, path));
        return file === undefined ? undefined : { path: file };
      });
    },
  };
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
