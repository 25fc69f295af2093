import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { Code } from 'aws-cdk-lib/aws-lambda';
import { type BuildOptions, build, type Metafile } from 'esbuild';
import { functionEnvironments, type FunctionName } from '../lambdas/runtime/env.ts';
import type { FunctionCode } from './constructs/gateway-function.ts';

const root = resolve(import.meta.dirname, '..');
const sources = join(root, 'lambdas/functions');
const outputs = join(root, '.build/functions');
const metafilePath = join(root, '.build/functions.meta.json');
const stampPath = join(root, '.build/functions.stamp.json');

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

interface Stamp {
  readonly hash: string;
  readonly inputs: readonly string[];
}

/**
 * Bundles every function in one run of esbuild, unless nothing that went into the last run has changed.
 * @returns the code of each function, for the stack
 * @throws Error naming the function whose file does not exist, once its code is asked for; or what esbuild refused
 */
export async function bundleFunctions(): Promise<FunctionCode> {
  const names = readdirSync(sources)
    .filter((file) => file.endsWith('.ts'))
    .map((file) => file.slice(0, -'.ts'.length))
    .toSorted();
  if (!isUpToDate(names)) await bundle(names);
  return bundledCode;
}

function bundledCode(name: FunctionName): Code {
  const folder = join(outputs, name);
  if (!existsSync(join(folder, 'index.mjs'))) {
    throw new Error(`lambdas/functions/${name}.ts does not exist: it is deployed, so it must export a handler.`);
  }
  return Code.fromAsset(folder);
}

async function bundle(names: readonly string[]): Promise<void> {
  for (const name of names) {
    if (!(name in functionEnvironments))
      throw new Error(`lambdas/functions/${name}.ts is none of the deployed functions.`);
  }
  const { outputFiles, metafile } = await build({
    ...options,
    absWorkingDir: root,
    outdir: outputs,
    entryPoints: Object.fromEntries(names.map((name) => [`${name}/index`, join(sources, `${name}.ts`)])),
  });
  removeStale(names);
  for (const { path, contents } of outputFiles) replaceFile(path, contents);
  replaceFile(metafilePath, JSON.stringify(metafile));
  const inputs = ownInputs(metafile);
  // Last: a run that dies before this line is repeated.
  replaceFile(stampPath, JSON.stringify({ hash: hashOf(names, inputs), inputs } satisfies Stamp));
}

function isUpToDate(names: readonly string[]): boolean {
  if (!existsSync(stampPath)) return false;
  if (!names.every((name) => existsSync(join(outputs, name, 'index.mjs')))) return false;
  const { hash, inputs } = JSON.parse(readFileSync(stampPath, 'utf8')) as Stamp;
  return hash === hashOf(names, inputs);
}

/** Files of packages are vouched for by the lock file. */
function ownInputs({ inputs }: Metafile): string[] {
  return Object.keys(inputs)
    .filter((path) => !path.includes('node_modules/'))
    .toSorted();
}

function hashOf(names: readonly string[], inputs: readonly string[]): string {
  const hash = createHash('sha256').update(JSON.stringify([options, names]));
  for (const path of ['package-lock.json', ...inputs]) {
    const file = join(root, path);
    hash.update(`\0${path}\0`).update(existsSync(file) ? readFileSync(file) : '');
  }
  return hash.digest('hex');
}

function removeStale(names: readonly string[]): void {
  if (!existsSync(outputs)) return;
  for (const folder of readdirSync(outputs)) {
    if (!names.includes(folder)) rmSync(join(outputs, folder), { recursive: true });
  }
}

/** Whoever reads it meanwhile, in another synth, sees the old file or the new one. */
function replaceFile(path: string, contents: string | Uint8Array): void {
  mkdirSync(dirname(path), { recursive: true });
  const temporary = join(dirname(dirname(path)), `.${relative(root, path).replaceAll('/', '-')}.${process.pid}`);
  writeFileSync(temporary, contents);
  renameSync(temporary, path);
}
