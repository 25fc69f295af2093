import { execFile, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import * as z from 'zod';
import { mutants } from './mutants/list.ts';
import { plant, type Mutant } from './mutants/mutant.ts';
import { caughtBefore, mutantsTable, type Verdict } from './mutants/table.ts';

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
/** Nothing has caught it by then. */
const timeoutMs = 600_000;
/** The same seed for each: the table is the same whenever it is made. */
const bounds = ['test/simulation/run.ts', '--seed', '1', '--pairs', '10'];

const caughtLine = z.object({
  level: z.string(),
  invariant: z.string(),
  what: z.string(),
  faults: z.array(z.string()),
});

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

/** A bug of the adapters can only be seen over them; one of the domain everywhere, and sooner over the fakes. */
function tablesFor({ edits }: Mutant): 'memory' | 'dynamo' {
  return edits.every(({ file }) => file.startsWith('store/')) ? 'dynamo' : 'memory';
}

/** `first`: the task that goes before all others. */
async function simulate(copy: string, mutant: Mutant, first: string): Promise<Verdict> {
  const how = ['--until-caught', '--seconds', values.seconds, '--first', first, '--tables', tablesFor(mutant)];
  const { isKilled, code, stdout, stderr } = await ended([...bounds, ...how], copy);
  if (isKilled || code === 0) return undefined;
  const last = stdout.trimEnd().split('\n').at(-1) ?? '';
  if (!last.startsWith('{')) throw new Error(`${mutant.name} doesn't run: ${stderr.slice(0, 2_000)}`);
  const { level, invariant, what, faults } = caughtLine.parse(JSON.parse(last));
  return { by: `${level}${faults.length === 0 ? '' : `, ${faults.join(' and ')}`}`, how: `${invariant}: ${what}` };
}

interface Ended {
  readonly isKilled: boolean;
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

async function ended(args: readonly string[], cwd: string): Promise<Ended> {
  return await new Promise((resolve) => {
    const child = execFile(process.execPath, args, { cwd, timeout: timeoutMs }, (error, stdout, stderr) => {
      resolve({ isKilled: error?.killed === true, code: child.exitCode, stdout, stderr });
    });
  });
}

interface Result {
  readonly mutant: Mutant;
  readonly verdict: Verdict;
}

/** One mutant after the other in a copy of its own. */
async function catchIn(copy: string, waiting: Iterator<Mutant>, hints: ReadonlyMap<string, string>): Promise<Result[]> {
  const results: Result[] = [];
  for (let next = waiting.next(); next.done !== true; next = waiting.next()) {
    const mutant = next.value;
    const restore = plantIn(copy, mutant);
    const verdict = await simulate(copy, mutant, hints.get(mutant.name) ?? '');
    restore();
    results.push({ mutant, verdict });
    console.log(`${verdict === undefined ? 'SURVIVED' : 'caught'}  ${mutant.source}  ${mutant.name}`);
    if (verdict !== undefined) console.log(`        by ${verdict.by}\n        ${verdict.how}`);
  }
  return results;
}

/** What fails by itself would catch every mutant. */
function insistOnHealth(copy: string): void {
  const ran = spawnSync(process.execPath, [...bounds, '--seconds', values.seconds], { cwd: copy, stdio: 'inherit' });
  if (ran.status !== 0) throw new Error('The simulation fails without any mutant.');
}

const { only } = values;
const tried = mutants.filter(({ name }) => only === undefined || name.includes(only));
const hints = existsSync(table) ? caughtBefore(readFileSync(table, 'utf8')) : new Map<string, string>();
const copies = Array.from({ length: availableParallelism() }, copySources);
try {
  if (only === undefined) copies.slice(0, 1).forEach(insistOnHealth);
  const waiting = tried.values();
  const results = (await Promise.all(copies.map((copy) => catchIn(copy, waiting, hints)))).flat();
  const ordered = results.toSorted((a, b) => tried.indexOf(a.mutant) - tried.indexOf(b.mutant));
  const caught = ordered.filter(({ verdict }) => verdict !== undefined).length;
  console.log(`${caught} of ${ordered.length} caught`);
  if (only === undefined) writeFileSync(table, mutantsTable(ordered));
  process.exitCode = caught === ordered.length ? 0 : 1;
} finally {
  for (const copy of copies) rmSync(copy, { recursive: true, force: true });
}
