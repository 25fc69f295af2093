import { receiveVendorEvent } from '../../../lambdas/domain/receive-vendor-event.ts';
import type { SimulatedVendor, VendorRun } from './simulated-vendor.ts';
import type { Simulation } from './simulation.ts';

const usualDelaysMs = [20, 1_500, 100_000] as const;

/** A vendor posts its event until it is taken, once more for good measure, and once when nobody expects it any more. */
export function callBack(simulation: Simulation, vendor: SimulatedVendor, run: VendorRun): void {
  const url = run.callbackUrl;
  if (url === undefined || vendor.setup.webhooks !== 'reliable' || simulation.isDeaf) return;
  for (const delayMs of vendor.setup.webhookDelaysMs ?? usualDelaysMs) {
    simulation.timeline.after(delayMs, () => void post(simulation, vendor, run, url));
  }
}

async function post(simulation: Simulation, vendor: SimulatedVendor, run: VendorRun, url: string): Promise<void> {
  const again = (delayMs: number) =>
    void simulation.timeline.after(delayMs, () => void post(simulation, vendor, run, url));
  if (simulation.isClosed) return again(1_000);
  if (simulation.isDeaf) return;
  const [jobId = '', generation = ''] = url.split('|');
  const body = new TextEncoder().encode(JSON.stringify({ vendorJobId: run.id }));
  const event = { headers: {}, body, at: simulation.timeline.now() };
  const at = { vendor: vendor.setup.name, jobId, generation: Number(generation), event };
  const end = await simulation.start('event', async (world) => await receiveVendorEvent(world, at));
  if (end !== 'done') again(10_000);
}
