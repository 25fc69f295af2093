import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { pythonEnvironment } from '../../python/environment.ts';
import { runToEnd } from '../../python/run-to-end.ts';
import type { KnownJobs } from './known-jobs.ts';

export interface Fuzzing {
  readonly url: string;
  /** With every scope: a request that stops at the door tells nothing of the rooms. */
  readonly key: string;
  readonly seed: number;
  /** How many requests each operation gets, beside one for each boundary of its schema. */
  readonly examples: number;
  /** Only these; all where there are none. */
  readonly operations: readonly string[];
  /** Named in place of invented ids and keys. */
  readonly knownJobs?: KnownJobs;
}

const document = path.resolve(import.meta.dirname, '../../../docs/openapi.json');
const hooks = path.join(import.meta.dirname, 'gateway_limits.py');

const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
];

/** Runs schemathesis, its report on our own output. @returns its exit code */
export async function fuzz({ url, key, seed, examples, operations, knownJobs }: Fuzzing): Promise<number> {
  const environment = await pythonEnvironment('schemathesis');
  const folder = await mkdtemp(path.join(os.tmpdir(), 'slowlane-schemathesis-'));
  const config = path.join(folder, 'schemathesis.toml');
  const options = {
    '--url': url,
    '--header': `X-API-Key: ${key}`,
    '--checks': checks.join(','),
    '--phases': 'examples,coverage,fuzzing',
    '--warnings': 'off',
    '--seed': String(seed),
    '--max-examples': String(examples),
    '--generation-database': 'none',
    '--max-redirects': '0',
    '--request-timeout': '60',
    '--suppress-health-check': 'all',
  };
  const included = operations.flatMap((id) => ['--include-operation-id', id]);
  const flags = ['--continue-on-failure', '--no-color'];
  const args = ['--config-file', config, 'run', document, ...Object.entries(options).flat(), ...included, ...flags];
  try {
    await writeFile(config, configOf(knownJobs));
    const { code } = await runToEnd(environment.command('schemathesis'), args, {
      cwd: folder,
      onOutput: (chunk) => process.stdout.write(chunk),
    });
    return code ?? 1;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** TOML; its strings are written as JSON writes them. */
function configOf(knownJobs: KnownJobs | undefined): string {
  const tables = Object.entries(knownJobs?.idByOperation ?? {}).map(([operation, id]) =>
    operationTable(operation, 'path.id', id),
  );
  const byKey = knownJobs && operationTable('readJobByKey', 'header.Idempotency-Key', knownJobs.idempotencyKey);
  return [`hooks = ${JSON.stringify(hooks)}`, ...tables, ...(byKey === undefined ? [] : [byKey])].join('\n\n');
}

function operationTable(operation: string, parameter: string, value: string): string {
  const parameters = `{ ${JSON.stringify(parameter)} = ${JSON.stringify(value)} }`;
  return `[[operations]]\ninclude-operation-id = ${JSON.stringify(operation)}\nparameters = ${parameters}`;
}
