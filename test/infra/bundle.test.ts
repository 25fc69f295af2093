import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { bundleFunctions } from '../../lib/bundle.ts';

let root: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'slowlane-bundle-'));
  mkdirSync(join(root, 'lambdas/functions'), { recursive: true });
  writeFileSync(join(root, 'package-lock.json'), '{}');
  write('lambdas/greeting.ts', "export const greeting: string = 'hello';");
  write(
    'lambdas/functions/read-job.ts',
    "import { greeting } from '../greeting.ts'; export const handler = () => greeting;",
  );
});

afterEach(() => {
  rmSync(root, { recursive: true });
});

/** A source as somebody saved it a minute ago; `savedAt` in the future is one that is saved while esbuild runs. */
function write(path: string, text: string, savedAt = new Date(Date.now() - 60_000)): void {
  writeFileSync(join(root, path), text);
  utimesSync(join(root, path), savedAt, savedAt);
}

const outputOf = (name: string) => join(root, '.build/functions', name, 'index.mjs');

async function run(name: string): Promise<unknown> {
  const module: unknown = await import(`${pathToFileURL(outputOf(name)).href}?${statSync(outputOf(name)).mtimeMs}`);
  return (module as { handler(): unknown }).handler();
}

test('each function becomes one ES module that runs by itself', async () => {
  await bundleFunctions(root);
  expect(await run('read-job')).toBe('hello');
});

test('a package that requires, and one that makes its own require, run in the same module', async () => {
  write('lambdas/old.cjs', "module.exports = { separator: require('node:path').sep };");
  write(
    'lambdas/functions/read-job.ts',
    `import { createRequire } from 'node:module';
     import old from '../old.cjs';
     export const handler = () => [old.separator, typeof createRequire(import.meta.url)];`,
  );
  await bundleFunctions(root);
  expect(await run('read-job')).toEqual(['/', 'function']);
});

test('nothing is bundled again until something that went into it changes', async () => {
  await bundleFunctions(root);
  const { ino } = statSync(outputOf('read-job'));
  await bundleFunctions(root);
  expect(statSync(outputOf('read-job')).ino).toBe(ino);

  write('lambdas/greeting.ts', "export const greeting: string = 'good morning';");
  await bundleFunctions(root);
  expect(readFileSync(outputOf('read-job'), 'utf8')).toContain('good morning');
});

test('a source that is saved while it is bundled is bundled again', async () => {
  write('lambdas/greeting.ts', "export const greeting: string = 'hello';", new Date(Date.now() + 60_000));
  await bundleFunctions(root);
  const { ino } = statSync(outputOf('read-job'));
  await bundleFunctions(root);
  expect(statSync(outputOf('read-job')).ino).not.toBe(ino);
});

test('a new version of the packages is bundled', async () => {
  await bundleFunctions(root);
  const { ino } = statSync(outputOf('read-job'));
  writeFileSync(join(root, 'package-lock.json'), '{"lockfileVersion":3}');
  await bundleFunctions(root);
  expect(statSync(outputOf('read-job')).ino).not.toBe(ino);
});

test('a function that is gone is no longer deployed', async () => {
  write('lambdas/functions/list-jobs.ts', 'export const handler = () => [];');
  const code = await bundleFunctions(root);
  expect(code('list-jobs')).toBeDefined();

  rmSync(join(root, 'lambdas/functions/list-jobs.ts'));
  const rest = await bundleFunctions(root);
  expect(() => rest('list-jobs')).toThrow('lambdas/functions/list-jobs.ts does not exist');
});

test('a deployed function without a file is named', async () => {
  const code = await bundleFunctions(root);
  expect(() => code('submit-job')).toThrow('lambdas/functions/submit-job.ts does not exist');
});

test('a file that is no function is named', async () => {
  write('lambdas/functions/submit-jobs.ts', 'export const handler = () => 1;');
  await expect(bundleFunctions(root)).rejects.toThrow('lambdas/functions/submit-jobs.ts is no deployed function.');
});

test('a function without a handler is named', async () => {
  write('lambdas/functions/list-jobs.ts', 'export const handle = () => 1;');
  await expect(bundleFunctions(root)).rejects.toThrow('lambdas/functions/list-jobs.ts exports no handler.');
});
