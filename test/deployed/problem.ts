import { expect } from 'vitest';
import * as z from 'zod';
import type { Answer } from './api.ts';

const problemSchema = z.looseObject({
  type: z.string(),
  title: z.string().min(1),
  status: z.int(),
  code: z.string(),
  detail: z.string().min(1),
  requestId: z.string().min(1),
});
export type Problem = z.infer<typeof problemSchema>;

/** Holds a refusal to its contract: RFC 9457, a stable code, and the request's id, twice. */
export function expectProblem(answer: Answer, status: number, code: string): Problem {
  expect({ status: answer.status, body: answer.text }).toEqual({
    status,
    body: expect.stringContaining(`"code":"${code}"`),
  });
  expect(answer.headers.get('content-type')).toBe('application/problem+json');
  const problem = problemSchema.parse(answer.json());
  expect(problem).toMatchObject({ type: `urn:slowlane:problem:${code}`, status, code });
  expect(answer.headers.get('request-id')).toBe(problem.requestId);
  return problem;
}
