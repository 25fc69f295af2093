import type {
  Found,
  Submission,
  SubmitOutcome,
  Vendor,
  VendorResult,
  VendorWord,
} from '../../../lambdas/domain/vendor.ts';
import type { Actor } from './actor.ts';
import type { VendorAnswer } from './faults.ts';
import type { SimulatedVendor, VendorRun } from './simulated-vendor.ts';
import type { Simulation } from './simulation.ts';
import { picture } from './picture.ts';

const travelMs = 50;

/** An adapter as one sandbox has it, over the simulated vendor: one request per submit, `sendBy` checked last. */
export function adapterOf(simulation: Simulation, actor: Actor, vendor: SimulatedVendor): Vendor {
  return {
    name: vendor.setup.name,
    version: 1,
    traits: vendor.traits,
    submit: async (submission) => await submit(simulation, actor, vendor, submission),
    refreshSecret: async () => false,
    ask: async (id) => await ask(simulation, actor, vendor, id),
    watch: (id, signal) => watch(simulation, actor, vendor, id, signal),
    cancel: async (id) => {
      const asked = await simulation.ask(actor, `cancel ${id}`, vendor, () => {
        const run = vendor.run(id);
        if (run !== undefined) vendor.cancel(run);
        return true;
      });
      return asked === undefined ? 'unreachable' : 'asked';
    },
    find: canFind(vendor) ? async (key) => await find(simulation, actor, vendor, key) : undefined,
    fetchResult: async () => await fetchResult(simulation, actor, vendor),
    readEvent: async (event) => {
      const { vendorJobId } = JSON.parse(new TextDecoder().decode(event.body)) as { vendorJobId: string };
      return { kind: 'event', vendorJobId, vendorKey: undefined };
    },
  };
}

function canFind(vendor: SimulatedVendor): boolean {
  return vendor.traits.dedupe === 'lookup' || vendor.traits.dedupe === 'reject';
}

async function submit(
  simulation: Simulation,
  actor: Actor,
  vendor: SimulatedVendor,
  submission: Submission,
): Promise<SubmitOutcome> {
  const { timeline } = simulation;
  const fault = await simulation.beginSend(actor, `send ${submission.vendorKey}`);
  if (simulation.clockOf(actor).now() >= submission.sendBy || submission.signal.aborted) {
    return { kind: 'not-sent', cause: 'too_late', message: 'The time to send it was over.' };
  }
  const planned = vendor.nextAnswer(submission.vendorKey.slice(0, submission.vendorKey.lastIndexOf('.')));
  const answer: VendorAnswer = fault?.kind === 'vendor' ? fault.answer : planned;
  if (fault?.kind === 'crash_after' || fault?.kind === 'crash_late') {
    simulation.leaveTravelling(vendor, submission, fault.kind === 'crash_after' ? travelMs : fault.delayMs);
    return await simulation.kill(actor);
  }
  await timeline.sleep(answer === 'late' ? vendor.traits.sendTimeoutMs - 1 : travelMs);
  vendor.posts += 1;
  const outcome = await answerOf(simulation, vendor, submission, answer);
  await timeline.sleep(travelMs);
  return await simulation.alive(actor, outcome);
}

async function answerOf(
  simulation: Simulation,
  vendor: SimulatedVendor,
  submission: Submission,
  answer: VendorAnswer,
): Promise<SubmitOutcome> {
  const unknown = { kind: 'unknown', bodySent: true, keyReused: false } as const;
  switch (answer) {
    case 'throttle':
      return { kind: 'throttled', retryAfterMs: 3_000, message: 'Too many requests.' };
    case 'refuse':
      vendor.refused.add(submission.vendorKey);
      return { kind: 'refused', status: 422, message: 'The picture is too dark.' };
    case 'account':
      return { kind: 'account-refused', status: 401, message: 'The key is not valid.' };
    case 'not_sent':
      return { kind: 'not-sent', cause: 'connect', message: 'Connection refused.' };
    case 'lost_untaken':
    case 'error_untaken':
      return { ...unknown, cause: answer, message: 'No answer.' };
    default: {
      const arrived = vendor.arrive(submission.vendorKey, submission.callbackUrl);
      if (arrived.kind === 'key_reused') return { ...unknown, keyReused: true, cause: 'key_reused', message: 'Seen.' };
      if (answer !== 'accept') return { ...unknown, cause: answer, message: 'No answer.' };
      return vendor.setup.isSynchronous === true
        ? await synchronousAnswer(simulation, vendor, arrived.run)
        : { kind: 'accepted', vendorJobId: arrived.run.id };
    }
  }
}

async function synchronousAnswer(
  simulation: Simulation,
  vendor: SimulatedVendor,
  run: VendorRun,
): Promise<SubmitOutcome> {
  await simulation.timeline.sleep(vendor.setup.runMs ?? 3_000);
  if (run.status === 'failed') vendor.refused.add(run.key);
  if (run.status === 'succeeded') return { kind: 'finished', vendorJobId: undefined, result: resultOf() };
  return { kind: 'refused', status: 422, message: 'It failed.' };
}

function resultOf(): VendorResult {
  return { kind: 'bytes', bytes: picture, contentType: 'image/png' };
}

async function ask(simulation: Simulation, actor: Actor, vendor: SimulatedVendor, id: string): Promise<VendorWord> {
  const word = await simulation.ask(actor, `ask ${id}`, vendor, () => wordOf(simulation, vendor, id));
  return word ?? { kind: 'unreachable', message: 'No answer.', retryAfterMs: undefined };
}

function wordOf(simulation: Simulation, vendor: SimulatedVendor, id: string): VendorWord {
  const run = vendor.forgets ? undefined : vendor.run(id);
  switch (run?.status) {
    case undefined:
      return { kind: 'gone' };
    case 'running': {
      const spentMs = simulation.timeline.now() - run.acceptedAt;
      // Vendors' percentages go backwards now and then, and beyond.
      const isOff = Math.floor(spentMs / 700) % 3 === 1;
      const percent = Math.floor((110 * spentMs) / (vendor.setup.runMs ?? 3_000)) - (isOff ? 30 : 0);
      return { kind: 'pending', phase: 'running', percent, stage: 'working' };
    }
    case 'succeeded':
      return { kind: 'succeeded', result: resultOf() };
    case 'failed':
      return { kind: 'failed', code: 'bad_input', message: 'It failed.' };
    case 'canceled':
      return { kind: 'canceled' };
  }
}

async function* watch(
  simulation: Simulation,
  actor: Actor,
  vendor: SimulatedVendor,
  id: string,
  signal: AbortSignal,
): AsyncGenerator<VendorWord> {
  while (!signal.aborted) {
    const word = await ask(simulation, actor, vendor, id);
    if (signal.aborted) return;
    yield word;
    if (word.kind !== 'pending' && word.kind !== 'unreachable') return;
    await simulation.wait(actor, vendor.setup.pollMs ?? 1_000, signal);
  }
}

async function find(simulation: Simulation, actor: Actor, vendor: SimulatedVendor, key: string): Promise<Found> {
  const found = await simulation.ask(actor, `find ${key}`, vendor, () => ({ run: vendor.find(key) }));
  if (found === undefined) return { kind: 'unreachable', message: 'No answer.' };
  return found.run === undefined || vendor.forgets ? { kind: 'absent' } : { kind: 'found', vendorJobId: found.run.id };
}

async function fetchResult(simulation: Simulation, actor: Actor, vendor: SimulatedVendor) {
  const isLost = vendor.setup.unfetchable === 'lost';
  const fetched = await simulation.fetch(actor);
  if (isLost || fetched === 'lost') return { kind: 'lost', message: 'It expired.' } as const;
  if (fetched === 'unreachable') return { kind: 'unreachable', message: 'No answer.' } as const;
  return { kind: 'fetched', bytes: picture, contentType: 'image/png' } as const;
}
