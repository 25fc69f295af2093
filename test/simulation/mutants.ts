import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { mutants } from './mutants/list.ts';
import { plant, type Mutant } from './mutants/mutant.ts';
import { notPlanted } from './mutants/not-planted.ts';

/**
 * `npm run simulate:mutants`: plants each known bug in a copy of the sources, one at a time, and runs the simulation
 * until something catches it. Writes docs/mutants.md; exits 1 where one survives.
 */
const { values } = parseArgs({ options: { only: { type: 'string' }, seconds: { type: 'string', default: '20' } } });

const root = join(import.meta.dirname, '../..');
const copied = [
  'lambdas',
  'test/simulation',
  'test/fakes',
  'test/fixtures/patched-dynalite.ts',
  'test/fixtures/remembered-expressions.ts',
  'package.json',
];
const table = join(root, 'docs/mutants.md');
const timeoutMs = 240_000;

const caughtLine = z.object({
  level: z.string(),
  invariant: z.string(),
  what: z.string(),
  faults: z.array(z.string()),
});

type Verdict = { readonly by: string; readonly how: string } | undefined;

function copySources(): string {
  const copy = mkdtempSync(join(tmpdir(), 'mutants-'));
  for (const path of copied) cpSync(join(root, path), join(copy, path), { recursive: true });
  symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
  return copy;
}

/** Returns what puts the copy right again. */
function plantIn(copy: string, mutant: Mutant): () => void {
  const originals = new Map<string, string>();
  for (const edit of mutant.edits) {
    const path = join(copy, 'lambdas', edit.file);
    const source = readFileSync(path, 'utf8');
    if (!originals.has(path)) originals.set(path, source);
    writeFileSync(path, plant(source, edit));
  }
  return () => originals.forEach((source, path) => writeFileSync(path, source));
}

/** What caught each when the table was last written: it is tried first. */
function lastCaught(): ReadonlyMap<string, string> {
  if (!existsSync(table)) return new Map();
  const rows = readFileSync(table, 'utf8').matchAll(/^\| (.+?) +\| .+? \| .+? \| (A .+?)(?:, #\d.*?)? +\|/gmu);
  return new Map([...rows].map(([, name = '', task = '']) => [name, task]));
}

/** A bug of the adapters can only be seen over them; one of the domain everywhere, and sooner over the fakes. */
function tablesFor({ edits }: Mutant): 'memory' | 'dynamo' {
  return edits.every(({ file }) => file.startsWith('store/')) ? 'dynamo' : 'memory';
}

/** The same seed for each: the table is the same whenever it is made. */
function simulate(copy: string, first: string, tables: 'memory' | 'dynamo' | 'both'): Verdict {
  const bounds = ['--seed', '1', '--pairs', '10', '--seconds', values.seconds];
  const args = ['test/simulation/run.ts', '--until-caught', ...bounds, '--first', first, '--tables', tables];
  const ran = spawnSync(process.execPath, args, { cwd: copy, encoding: 'utf8', timeout: timeoutMs });
  if (ran.status === 0) return undefined;
  const last = ran.stdout.trimEnd().split('\n').at(-1) ?? '';
  if (!last.startsWith('{')) throw new Error(`The mutant doesn't run: ${ran.stderr.slice(0, 2_000)}`);
  const { level, invariant, what, faults } = caughtLine.parse(JSON.parse(last));
  return { by: `${level}${faults.length === 0 ? '' : `, ${faults.join(' and ')}`}`, how: `${invariant}: ${what}` };
}

function tableOf(results: readonly { readonly mutant: Mutant; readonly verdict: Verdict }[]): string {
  const caught = results.filter(({ verdict }) => verdict !== undefined).length;
  const cell = (text: string) => text.replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');
  const rows = results.map(
    ({ mutant, verdict }) =>
      `| ${cell(mutant.name)} | ${mutant.source} | ${cell(mutant.why)} | ${cell(verdict?.by ?? 'nothing')} | ${cell(verdict?.how ?? '')} |`,
  );
  return [
    '# Known bugs, and what catches them',
    '',
    'Who tests the tests? Each row is a bug that a natural reading of the protocol has, planted in the domain, or in its adapters to',
    'DynamoDB, one at a time; the simulation then has to find it. `V…`, `rule …`, `item …` and `draft 2, …` are traces of a model checker; the others',
    'would break a promise. Written by `npm run simulate:mutants`.',
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
    ...notPlanted.map(({ source, what, why }) => `| ${source} | ${cell(what)} | ${cell(why)} |`),
    '',
  ].join('\n');
}

const hints = lastCaught();
const copy = copySources();
const healthy = values.only === undefined ? simulate(copy, '', 'both') : undefined;
if (healthy !== undefined) throw new Error(`Without any mutant: ${healthy.by}: ${healthy.how}`);
const results: { readonly mutant: Mutant; readonly verdict: Verdict }[] = [];
try {
  for (const mutant of mutants) {
    if (values.only !== undefined && !mutant.name.includes(values.only)) continue;
    const restore = plantIn(copy, mutant);
    const verdict = simulate(copy, hints.get(mutant.name) ?? '', tablesFor(mutant));
    restore();
    results.push({ mutant, verdict });
    console.log(`${verdict === undefined ? 'SURVIVED' : 'caught'}  ${mutant.source}  ${mutant.name}`);
    if (verdict !== undefined) console.log(`        by ${verdict.by}\n        ${verdict.how}`);
  }
} finally {
  rmSync(copy, { recursive: true, force: true });
}
const survivors = results.filter(({ verdict }) => verdict === undefined);
console.log(`${results.length - survivors.length} of ${results.length} caught`);
if (values.only === undefined) writeFileSync(table, tableOf(results));
process.exitCode = survivors.length === 0 ? 0 : 1;
