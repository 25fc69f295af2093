/** What the suite found, against what this emulator is known to do otherwise. */

export interface TestResult {
  /** `cors.test.ts > a browser may read what an answer says` */
  readonly name: string;
  readonly status: 'passed' | 'failed' | 'skipped';
  /** The first line of each failure. */
  readonly messages: readonly string[];
}

export interface ExpectedDifference {
  readonly id: string;
  /** The tests of the suite that can't pass in this emulator because of it. */
  readonly breaks: readonly string[];
}

/** Whether the difference was shown to be there. */
export type Proof = { readonly kind: 'shown' } | { readonly kind: 'not-shown'; readonly instead: string };

export interface Findings {
  readonly results: readonly TestResult[];
  readonly differences: readonly ExpectedDifference[];
  /** By the difference's id. */
  readonly proofs: ReadonlyMap<string, Proof>;
}

/** @returns everything that is wrong, a line each; nothing else is tolerated than the listed differences, all of them. */
export function judge({ results, differences, proofs }: Findings): string[] {
  const excuses = new Map(differences.flatMap(({ id, breaks }) => breaks.map((name) => [name, id] as const)));
  const byName = new Map(results.map((result) => [result.name, result]));
  return [
    ...(results.length === 0 ? ['The suite ran no test.'] : []),
    ...results.flatMap(({ name, status, messages }) => {
      if (status === 'skipped') return [`${name}: was skipped`];
      if (status === 'failed' && !excuses.has(name)) return [`${name}: ${messages.join('; ')}`];
      return [];
    }),
    ...[...excuses].flatMap(([name, id]) => {
      const status = byName.get(name)?.status;
      if (status === undefined) return [`${name}: is excused by ${id}, and is no test`];
      return status === 'passed' ? [`${name}: passes, so difference ${id} must go`] : [];
    }),
    ...differences.flatMap(({ id }) => {
      const proof = proofs.get(id);
      if (proof === undefined) return [`difference ${id}: was not probed`];
      return proof.kind === 'shown' ? [] : [`difference ${id} is gone and must go: ${proof.instead}`];
    }),
  ];
}
