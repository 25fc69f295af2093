import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import path from 'node:path';

const root = path.resolve(import.meta.dirname, '../..');
const buildFolder = path.join(root, '.build/local');

/** Everything that a template or a bundle is made of. */
const inputs = ['bin', 'lib', 'lambdas', 'cdk.json', 'package-lock.json'];

/**
 * Stands for the studio's address in the template, whose port may be known only later; every start replaces it by the
 * address of its own studio, and a template synthesized once serves them all.
 */
export const studioPlaceholder = 'http://127.255.255.254:65535';

/** Synthesizes the app's `local` environment, unless an earlier run did so from the same sources. @returns the folder. */
export async function synthesize(): Promise<string> {
  const folder = path.join(buildFolder, (await hashInputs()).slice(0, 16));
  if (await exists(path.join(folder, 'manifest.json'))) return folder;
  const working = `${folder}.${process.pid}`;
  await mkdir(buildFolder, { recursive: true });
  await run(path.join(root, 'bin/slowlane.ts'), {
    ...process.env,
    CDK_OUTDIR: working,
    // Functions are named after their constructs, whose paths the CDK CLI puts in templates by default.
    CDK_CONTEXT_JSON: JSON.stringify({ environment: 'local', 'aws:cdk:enable-path-metadata': true }),
    STUDIO_URL: studioPlaceholder,
  });
  await moveInto(working, folder);
  await dropOthers(folder);
  return folder;
}

async function run(script: string, env: NodeJS.ProcessEnv): Promise<void> {
  const child = spawn(process.execPath, [script], { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const output: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => output.push(chunk));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  if (code !== 0) throw new Error(`Synthesizing the app failed:\n${Buffer.concat(output).toString()}`);
}

/** Two starts may synthesize the same thing at once: the one that comes second keeps the first one's. */
async function moveInto(working: string, folder: string): Promise<void> {
  try {
    await rename(working, folder);
  } catch (error) {
    if (!(await exists(path.join(folder, 'manifest.json')))) throw error;
    await rm(working, { recursive: true });
  }
}

/** Earlier syntheses are kept for a day: a runtime that still serves one reads its bundles when it needs a new thread. */
async function dropOthers(kept: string): Promise<void> {
  const dayMs = 24 * 60 * 60_000;
  for (const name of await readdir(buildFolder)) {
    const folder = path.join(buildFolder, name);
    if (folder !== kept && Date.now() - (await stat(folder)).mtimeMs > dayMs) await rm(folder, { recursive: true });
  }
}

async function hashInputs(): Promise<string> {
  const hash = createHash('sha256').update(process.version);
  for (const input of inputs) {
    for (const file of await filesOf(path.join(root, input))) {
      hash.update(`\0${path.relative(root, file)}\0`).update(await readFile(file));
    }
  }
  return hash.digest('hex');
}

async function filesOf(entry: string): Promise<string[]> {
  if (!(await exists(entry))) return [];
  if (!(await stat(entry)).isDirectory()) return [entry];
  const found = await readdir(entry, { recursive: true, withFileTypes: true });
  return found
    .filter((one) => one.isFile())
    .map((one) => path.join(one.parentPath, one.name))
    .toSorted();
}

async function exists(file: string): Promise<boolean> {
  try {
    await stat(file);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
}
