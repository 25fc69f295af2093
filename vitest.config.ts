import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/deployed/**', 'test/rehearsal/**', 'test/chaos/run/**', 'node_modules/**'],
    typecheck: { enabled: false },
    testTimeout: 30_000,
    hookTimeout: 120_000,
    maxWorkers: 3,
  },
});
