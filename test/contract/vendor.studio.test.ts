import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';
import type { DeployedVendor } from '../../lambdas/runtime/env.ts';
import { createVendors } from '../../lambdas/vendors/registry.ts';
import { startStudio } from '../../local/studio/studio.ts';
import { readSettings } from '../../local/studio/settings.ts';
import { vendorContract, type VendorFault, type VendorUnderTest } from './vendor.suite.ts';

const ledgerAnswer = z.object({ posts: z.int(), accepted: z.array(z.object({ key: z.string().nullable() })) });

/** The embedded vendor, as it is served to the local environment, on a folder of its own. */
async function studioVendor(
  settings: Pick<DeployedVendor, 'dedupe' | 'dedupeMs'>,
  path: string,
): Promise<VendorUnderTest> {
  const dataDir = await mkdtemp(join(tmpdir(), 'studio-'));
  const studio = await startStudio(readSettings({ DATA_DIR: dataDir, PORT: '0' }));
  const deployed: DeployedVendor = {
    ...settings,
    adapter: 'jobs-api',
    baseUrl: studio.url + path,
    secretArn: 'arn:studio',
    sendTimeoutMs: 10_000,
    pollMs: 20,
  };
  const secret = { apiKey: 'studio-local-key' };
  let remembered = { ...secret };
  // Whole seconds: an HTTP date knows no others.
  const now = Math.floor(Date.now() / 1_000) * 1_000;
  const world = {
    clock: { now: () => now },
    waiting: { wait: (ms: number, signal: AbortSignal) => wait(ms, undefined, { signal }).catch(() => undefined) },
    secretOf: () => ({
      read: () => Promise.resolve(remembered),
      refresh: () => Promise.resolve((remembered = { ...secret })),
    }),
  };
  const ledger = async () => ledgerAnswer.parse(await (await fetch(`${studio.url}/control/ledger`)).json());
  let stopping: Promise<void> | undefined;
  return {
    vendor: createVendors({ studio: deployed }, world).named('studio')!,
    order: {
      feature: 'stylize',
      parameters: { style: 'sketch' },
      picture: { bytes: await readFile('test/fixtures/photo.jpg'), contentType: 'image/jpeg' },
    },
    posts: async () => (await ledger()).posts,
    takenKeys: async () => (await ledger()).accepted.map(({ key }) => key ?? undefined),
    fault: async (fault) => {
      const body = JSON.stringify({ ...studioFault(fault), times: 1 });
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${studio.url}/control/faults`, { method: 'POST', headers, body });
      if (!answer.ok) throw new Error(`the studio refused the fault: ${await answer.text()}`);
    },
    // It does real work, and ends by itself.
    finish: () => Promise.resolve(),
    breakKey: () => (secret.apiKey = 'a-key-of-nobody'),
    now,
    stop: () =>
      (stopping ??= (async () => {
        await studio.close();
        await rm(dataDir, { recursive: true, force: true });
      })()),
  };
}

function studioFault({ at, how, ...rest }: VendorFault): object {
  return { point: at, fault: how, ...rest };
}

vendorContract('the studio', () => studioVendor({ dedupe: 'replay', dedupeMs: 3_600_000 }, ''));
vendorContract('the studio, blind', () => studioVendor({ dedupe: 'none' }, '/blind'));
