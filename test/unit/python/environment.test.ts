import { afterEach, expect, test, vi } from 'vitest';
import { pythonEnvironment } from '../../python/environment.ts';
import { runToEnd } from '../../python/run-to-end.ts';

afterEach(() => vi.unstubAllEnvs());

test('says plainly that Python is missing', async () => {
  vi.stubEnv('PATH', '/nowhere');

  await expect(pythonEnvironment('cfn-lint')).rejects.toThrow('python3 is not on PATH');
});

test('a command ends with its code and all that it wrote', async () => {
  const script = 'console.log("out"); console.error("err"); process.exit(3)';

  const { code, output } = await runToEnd(process.execPath, ['-e', script]);

  expect(code).toBe(3);
  expect(output.split('\n').toSorted()).toEqual(['', 'err', 'out']);
});

test('a command that takes too long is ended, and has no code', async () => {
  const endless = ['-e', 'setInterval(() => {}, 1000)'];

  expect(await runToEnd(process.execPath, endless, { timeoutMs: 200 })).toEqual({ code: null, output: '' });
});
