import { readFile } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';
import type { TestResult } from './verdict.ts';

/** What vitest's JSON reporter writes, as far as it is read here. */
const reportSchema = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      message: z.string().default(''),
      assertionResults: z.array(
        z.object({
          ancestorTitles: z.array(z.string()),
          title: z.string(),
          status: z.string(),
          failureMessages: z.array(z.string()).nullish(),
        }),
      ),
    }),
  ),
});

export async function readResults(file: string): Promise<TestResult[]> {
  const { testResults } = reportSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  return testResults.flatMap(({ name, status, message, assertionResults }): TestResult[] => {
    const suite = path.basename(name);
    // A file that can't be loaded, or whose hook failed, holds no failed test to tell of it.
    const brokenFile = status === 'failed' && !assertionResults.some((one) => one.status === 'failed');
    return [
      ...(brokenFile ? [{ name: suite, status: 'failed' as const, messages: [firstLine(message)] }] : []),
      ...assertionResults.map((one) => ({
        name: [suite, ...one.ancestorTitles, one.title].join(' > '),
        status: statusOf(one.status),
        messages: (one.failureMessages ?? []).map(firstLine),
      })),
    ];
  });
}

function statusOf(status: string): TestResult['status'] {
  return status === 'passed' || status === 'failed' ? status : 'skipped';
}

function firstLine(text: string): string {
  return text.split('\n', 1)[0] ?? '';
}
