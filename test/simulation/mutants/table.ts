import type { Mutant } from './mutant.ts';
import { notPlanted } from './not-planted.ts';

/** What caught a mutant, and what it said; undefined: nothing did. */
export type Verdict = { readonly by: string; readonly how: string } | undefined;

/** docs/mutants.md. */
export function mutantsTable(results: readonly { readonly mutant: Mutant; readonly verdict: Verdict }[]): string {
  const caught = results.filter(({ verdict }) => verdict !== undefined).length;
  const rows = results.map(({ mutant: { name, source, why }, verdict }) =>
    row([name, source, why, verdict?.by ?? 'nothing', verdict?.how ?? '']),
  );
  return [
    '# Known bugs, and what catches them',
    '',
    'Who tests the tests? Each row is a bug that a natural reading of the protocol has, planted in the domain, or in its adapters to',
    'DynamoDB, one at a time; the simulation then has to find it. `V…`, `rule …`, `item …` and `draft 2, …` are traces of a model',
    'checker; the others would break a promise. Written by `npm run simulate:mutants`.',
    '',
    `**${caught} of ${results.length} caught.**`,
    '',
    '| bug | found as | what it does | caught by | which said |',
    '| --- | --- | --- | --- | --- |',
    ...rows,
    '',
    '## Found, and not planted',
    '',
    '| found as | what | why not |',
    '| --- | --- | --- |',
    ...notPlanted.map(({ source, what, why }) => row([source, what, why])),
    '',
  ].join('\n');
}

function row(cells: readonly string[]): string {
  return `| ${cells.map((text) => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ')).join(' | ')} |`;
}

/** Out of an older table: the task that caught each mutant, by its name. */
export function caughtBefore(table: string): ReadonlyMap<string, string> {
  const rows = table.matchAll(/^\| (.+?) +\| .+? \| .+? \| (A .+?)(?:, #\d.*?)? +\|/gmu);
  return new Map([...rows].map(([, name = '', task = '']) => [name, task]));
}
