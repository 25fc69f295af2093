import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { mutants } from './list.ts';
import { plant } from './mutant.ts';

it.each(mutants)('can be planted: $name', ({ edits }) => {
  const sources = new Map<string, string>();
  for (const edit of edits) {
    const url = new URL(`../../../lambdas/${edit.file}`, import.meta.url);
    const source = sources.get(edit.file) ?? readFileSync(url, 'utf8');
    sources.set(edit.file, plant(source, edit));
  }
  expect(sources.size).toBeGreaterThan(0);
});

it('each has a name of its own', () => {
  expect(new Set(mutants.map(({ name }) => name)).size).toBe(mutants.length);
});
