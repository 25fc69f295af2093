import { defineConfig } from 'vitest/config';

/** The black-box suite: `npm run test:deployed`. One file at a time, since one of them closes the lane for a moment. */
export default defineConfig({
  test: {
    include: ['test/deployed/**/*.test.ts'],
    fileParallelism: false,
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
