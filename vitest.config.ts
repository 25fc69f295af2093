import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { defineConfig } from 'vitest/config';

/** Folders whose files take long, longest first: begun last, one of them alone would keep the whole run waiting. */
const longest = ['test/simulation/', 'test/e2e/', 'test/contract/', 'test/infra/', 'test/integration/'];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const rank = ({ moduleId }: TestSpecification) => {
      const place = longest.findIndex((folder) => moduleId.includes(`/${folder}`));
      return place < 0 ? longest.length : place;
    };
    return files.toSorted((a, b) => rank(a) - rank(b) || a.moduleId.localeCompare(b.moduleId));
  }
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // The black-box suite needs a deployment's URL; the rehearsal and `npm run test:deployed` run it.
    exclude: ['test/deployed/**', 'test/rehearsal/**', 'node_modules/**'],
    testTimeout: 30_000,
    hookTimeout: 120_000,
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
  },
});
