import { eraseJob } from '../../../lambdas/domain/erase-jobs.ts';
import { jobIdOf, sha256Of } from '../../../lambdas/domain/idempotency.ts';
import { inputKeyOf, ownerOf } from '../../../lambdas/domain/job.ts';
import { submitJob, type SubmitWorld } from '../../../lambdas/domain/submit-job.ts';
import { lane, none, type Scenario } from '../scenario.ts';
import { featureIn } from '../world/feature.ts';
import { otherPicture, picture } from '../world/picture.ts';
import type { Simulation } from '../world/simulation.ts';
import type { SimulatedWorld } from '../world/world-of.ts';

const principal = { tenant: 'team', user: 'ada', kind: 'key', scopes: ['jobs'] } as const;
const key = 'tap-1';
const id = jobIdOf(ownerOf(principal.tenant, principal.user), key);

const feature = featureIn(lane, 30_000);

function submitWorldOf(simulation: Simulation, world: SimulatedWorld, submitsPerMinute: number) {
  return {
    ...world,
    uploads: simulation.uploads,
    catalogue: { named: () => feature, all: () => [feature] },
    limits: { activeJobs: 1, submitsPerMinute },
    notices: { notRung: () => undefined, leftoversNotDeleted: () => undefined },
  };
}

/** The app's action, sent again and again under one key until it is answered. */
async function act(simulation: Simulation, bytes: Uint8Array, { perMinute = 60, againMs = 2_000 } = {}): Promise<void> {
  for (let tries = 0; tries < 3; tries += 1) {
    let answer: string | undefined;
    await simulation.start('submit', async (world) => {
      answer = await submitOnce(simulation, submitWorldOf(simulation, world, perMinute), bytes);
    });
    if (answer !== undefined && answer !== 'refused') return;
    await simulation.timeline.sleep(againMs);
  }
}

async function submitOnce(simulation: Simulation, world: SubmitWorld, bytes: Uint8Array): Promise<string> {
  const said = { feature: 'upscale', parameters: {}, consent: undefined };
  const command = { principal, key, said, picture: { kind: 'bytes', bytes }, metadata: undefined } as const;
  const outcome = await submitJob(command, world);
  if (outcome.kind === 'refused' && simulation.jobOf(id) !== undefined) {
    simulation.watchdog.say('4 one key', `refused (${outcome.refusal.code}), and its job exists`);
  }
  if ((outcome.kind === 'accepted' || outcome.kind === 'replayed') && outcome.job.id !== id) {
    simulation.watchdog.say('4 one key', 'one key, two jobs');
  }
  return outcome.kind;
}

function erase(simulation: Simulation): void {
  void simulation.start('erase', async (world) => {
    await eraseJob(id, principal, { ...world, notAnnounced: () => undefined });
  });
}

/** The picture that its job sends is the one that this job was submitted with. */
function judgePicture(simulation: Simulation): void {
  const job = simulation.jobOf(id);
  if (job?.picture === undefined) return;
  const stored = simulation.pictureAt(inputKeyOf(job));
  if (stored === undefined || sha256Of(stored) !== job.picture.sha256) {
    simulation.watchdog.say('4 one key', "the job's picture is another submit's");
  }
}

export const submitting: readonly Scenario[] = [
  {
    name: 'submit: one action, sent twice',
    vendors: [none],
    begin: (simulation) => {
      void act(simulation, picture);
      simulation.timeline.after(5, () => void act(simulation, picture));
    },
    ends: 'succeeded',
    withinMs: 5_000,
    judge: judgePicture,
  },
  {
    // The first one uses up the minute, so that the second is refused unless it looks once more.
    name: 'submit: one action, sent twice, and one submit a minute',
    vendors: [none],
    begin: (simulation) => {
      const limited = { perMinute: 1, againMs: 61_000 };
      void act(simulation, picture, limited);
      simulation.timeline.after(5, () => void act(simulation, picture, limited));
    },
    ends: 'succeeded',
    judge: judgePicture,
  },
  {
    name: 'submit: one action, sent once more when it has failed',
    vendors: [{ ...none, ends: 'failed' }],
    begin: (simulation) => {
      void act(simulation, picture);
      simulation.timeline.after(8_000, () => void act(simulation, picture));
    },
    ends: 'failed',
    judge: judgePicture,
  },
  {
    name: 'submit: one key, two pictures',
    vendors: [none],
    latencyMs: 5,
    begin: (simulation) => {
      void act(simulation, picture);
      void act(simulation, otherPicture);
    },
    ends: 'succeeded',
    judge: judgePicture,
  },
  {
    name: 'submit: retried while its job is erased',
    // The last erasure comes when nobody can be at work any more who stalled before the first.
    quietMs: 660_000,
    vendors: [none],
    latencyMs: 5,
    begin: (simulation) => {
      void act(simulation, picture);
      void act(simulation, picture);
      for (const delayMs of [8_000, 75_000, 600_000]) simulation.timeline.after(delayMs, () => erase(simulation));
    },
    judge: (simulation) => {
      if (simulation.jobOf(id) !== undefined) return;
      const left = simulation.files.keys.filter((file) => file.includes(id));
      if (left.length > 0) simulation.watchdog.say('4 one key', `erased, and ${left.join(', ')} is left`);
    },
  },
];
