import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { renderLifecycle } from '../../docs/render-lifecycle.ts';

it('docs/lifecycle.md is what the table renders (`node docs/render-lifecycle.ts` writes it)', () => {
  const written = readFileSync(new URL('../../docs/lifecycle.md', import.meta.url), 'utf8');
  expect(written).toBe(renderLifecycle());
});
