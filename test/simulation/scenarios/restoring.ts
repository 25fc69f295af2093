import { markRestored } from '../../../lambdas/domain/mark-restored.ts';
import { changeLaneAfter, lane, none, replay, submit, type Scenario } from '../scenario.ts';
import type { Simulation } from '../world/simulation.ts';

/** The table as it was at one moment comes back at another; everything rings on as if nothing had been. */
function restore(simulation: Simulation, takenAfterMs: number, restoredAfterMs: number): void {
  const { timeline, tables } = simulation;
  let bringBack = (): void => undefined;
  timeline.after(takenAfterMs, () => {
    bringBack = tables.backUp();
  });
  timeline.after(restoredAfterMs, () => {
    simulation.watchdog.isLenient = true;
    simulation.close();
    bringBack();
    void mark(simulation);
  });
}

/** Run by a person, and run again where it broke off. */
async function mark(simulation: Simulation): Promise<void> {
  for (let end = ''; end !== 'done';) {
    end = await simulation.start('person', async (world) => {
      const restoredTo = world.clock.now();
      await markRestored(world, [lane], { actor: 'eve', reason: 'restored', restoredTo });
    });
  }
  simulation.isClosed = false;
}

export const restoring: readonly Scenario[] = [none, replay].flatMap((vendor) =>
  [15, 70, 1_500].map((takenAfterMs): Scenario => ({
    name: `${vendor.dedupe}: restored to ${takenAfterMs} ms after the submit`,
    vendors: [vendor],
    begin: (simulation) => {
      submit(simulation, ['a', 'b'], 'v');
      restore(simulation, takenAfterMs, 15_000);
      for (const delayMs of [30_000, 90_000]) changeLaneAfter(simulation, delayMs, { state: 'open' });
    },
  })),
);
