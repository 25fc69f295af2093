/*
 * How often does one user action reach a vendor that reads the whole request and then loses its answer? Each POST past
 * the first may be a second picture, paid for again. Loopback only; the clients run with their own defaults.
 * Fails if ours sends more than once.
 */
import { createVendors } from '../../lambdas/vendors/registry.ts';
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
  name: 'slowlane',
  version: 'this repository',
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

const rows: Record<string, string | number>[] = [];
// A client that gives up says so by rejecting; what counts is what it asked for until then.
const official = clients.map((client) => ({
  ...client,
  act: (baseUrl: string) => client.act(baseUrl).catch(() => null),
}));
for (const client of [...official, slowlane]) {
  const measured = new Map<Loss, Measured>();
  for (const loss of losses) measured.set(loss, await measure(client, loss));
  if (client === slowlane && [...measured.values()].some(({ posts }) => posts !== 1)) process.exitCode = 1;
  const keys = measured.get('drop')?.keys ?? 0;
  rows.push({
    client: client.name,
    version: client.version,
    'POSTs, socket dropped': measured.get('drop')?.posts ?? 0,
    'POSTs, 500': measured.get(500)?.posts ?? 0,
    'POSTs, 503': measured.get(503)?.posts ?? 0,
    'idempotency key': keys === 0 ? 'none' : keys === 1 ? 'one' : 'a new one each time',
  });
}
console.table(rows);
