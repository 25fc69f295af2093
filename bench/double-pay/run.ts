/*
 * How often does one user action reach a vendor that reads the whole request and then loses its answer? Each POST past
 * the first may be a second picture, paid for again. Loopback only; the clients run with their own defaults.
 * Fails if ours sends more than once. `--write` puts the table into docs/benchmarks.md.
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import { createVendors } from '../../lambdas/vendors/registry.ts';
import { markdownTable, writeSection } from '../marked-section.ts';
import { clients, type OfficialClient } from './clients.mjs';
import { LossyVendor, type Loss } from './lossy-vendor.ts';

const losses: readonly Loss[] = ['drop', 500, 503];

interface Measured {
  readonly posts: number;
  readonly keys: number;
}

async function measure(client: OfficialClient, loss: Loss): Promise<Measured> {
  const vendor = await LossyVendor.start(loss);
  try {
    await client.act(vendor.baseUrl);
    if (vendor.posts === 0) throw new Error(`${client.name} never reached the vendor: nothing was measured`);
    return { posts: vendor.posts, keys: vendor.keys.size };
  } finally {
    await vendor.close();
  }
}

const slowlane: OfficialClient = {
  name: 'Slowlane',
  version: '',
  act: async (baseUrl) => {
    const secret = () => Promise.resolve({ apiKey: 'key' });
    const settings = { adapter: 'jobs-api', baseUrl, dedupe: 'none', secretArn: 'arn:bench' } as const;
    const vendors = createVendors(
      { vendor: settings },
      {
        clock: { now: () => Date.now() },
        waiting: { wait: () => Promise.resolve() },
        secretOf: () => ({ read: secret, refresh: secret }),
      },
    );
    const outcome = await vendors.named('vendor')?.submit({
      vendorKey: 'job_bench.1',
      feature: 'text-to-image',
      parameters: { prompt: 'a lighthouse' },
      picture: undefined,
      callbackUrl: undefined,
      sendBy: Date.now() + 60_000,
      signal: AbortSignal.timeout(60_000),
    });
    if (outcome?.kind !== 'unknown') throw new Error(`expected an unknown outcome, got ${outcome?.kind}`);
    return outcome;
  },
};

const { values } = parseArgs({ options: { write: { type: 'boolean' } } });
const rows: string[][] = [];
// A client that gives up says so by rejecting; what counts is what it asked for until then.
const official = clients.map((client) => ({
  ...client,
  act: (baseUrl: string) => client.act(baseUrl).catch(() => null),
}));
for (const client of [...official, slowlane]) {
  const measured: Measured[] = [];
  for (const loss of losses) measured.push(await measure(client, loss));
  if (client === slowlane && measured.some(({ posts }) => posts !== 1)) process.exitCode = 1;
  const posts = measured.map(({ posts }) => `${posts}`);
  rows.push([`${client.name} ${client.version}`.trim(), ...posts, keysSaid(measured[0]?.keys ?? 0)]);
}
const table = markdownTable(['client', 'socket dropped', '500', '503', 'idempotency key'], rows);
console.log(table);
if (values.write) {
  await writeSection(path.resolve(import.meta.dirname, '../../docs/benchmarks.md'), 'double-pay', table);
}

function keysSaid(keys: number): string {
  if (keys === 0) return 'none';
  return keys === 1 ? 'one' : 'a new one each time';
}
