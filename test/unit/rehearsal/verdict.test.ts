import { describe, expect, test } from 'vitest';
import { type Findings, judge, type TestResult } from '../../rehearsal/verdict.ts';

const passed = (name: string): TestResult => ({ name, status: 'passed', messages: [] });
const failed = (name: string): TestResult => ({ name, status: 'failed', messages: ['expected 200 to be 403'] });

const cors = { id: 'cors', breaks: ['cors.test.ts > preflight'] };

function findings(changes: Partial<Findings> = {}): Findings {
  return {
    results: [passed('jobs.test.ts > submit'), failed('cors.test.ts > preflight')],
    differences: [cors],
    proofs: new Map([['cors', { kind: 'shown' }]]),
    ...changes,
  };
}

describe('the verdict of a rehearsal', () => {
  test('is good where exactly the known differences show', () => {
    expect(judge(findings())).toEqual([]);
  });

  test('names a test that fails without an excuse', () => {
    const results = [failed('jobs.test.ts > submit'), failed('cors.test.ts > preflight')];
    expect(judge(findings({ results }))).toEqual(['jobs.test.ts > submit: expected 200 to be 403']);
  });

  test('names an excuse whose test passes', () => {
    const results = [passed('jobs.test.ts > submit'), passed('cors.test.ts > preflight')];
    expect(judge(findings({ results }))).toEqual(['cors.test.ts > preflight: passes, so difference cors must go']);
  });

  test('names an excuse for a test that does not exist', () => {
    const results = [passed('jobs.test.ts > submit')];
    expect(judge(findings({ results }))).toEqual(['cors.test.ts > preflight: is excused by cors, and is no test']);
  });

  test('names a difference that is no longer shown', () => {
    const proofs = new Map([['cors', { kind: 'not-shown', instead: 'answered 204' } as const]]);
    expect(judge(findings({ proofs }))).toEqual(['difference cors is gone and must go: answered 204']);
  });

  test('names a difference that nobody probed', () => {
    expect(judge(findings({ proofs: new Map() }))).toEqual(['difference cors: was not probed']);
  });

  test('names a skipped test, and a suite without tests', () => {
    const results = [{ name: 'jobs.test.ts > submit', status: 'skipped', messages: [] } as const];
    expect(judge({ results, differences: [], proofs: new Map() })).toEqual(['jobs.test.ts > submit: was skipped']);
    expect(judge({ results: [], differences: [], proofs: new Map() })).toEqual(['The suite ran no test.']);
  });
});
