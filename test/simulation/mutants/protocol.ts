import { edit, type Mutant } from './mutant.ts';

const claimRow = `    to: 'dispatching',
    compares: ['attempt'],
    requires: ['no-cancel'],
    raises: ['attempt'],
    sets: ['hold',`;
const releaseRow = `    requires: ['no-cancel', 'no-vendor-job', 'never-unknown'],`;
const refuseRow = `    from: ['dispatching', 'needs_attention'],
    to: 'failed',
    compares: ['attempt'],
    requires: ['no-vendor-job', 'only-send'],`;
const spendRow = `    to: 'failed',
    compares: ['attempt'],
    requires: ['no-vendor-job', 'never-unknown'],`;
const flagUnknownRow = `    from: ['dispatching'],
    to: 'needs_attention',
    compares: ['attempt'],`;
const acceptRow = `    compares: ['generation'],
    requires: ['hold-bound', 'same-vendor-job'],`;
const resendRow = `    compares: ['version', 'generation'],
    requires: ['hold-freed'],
    raises: ['attempt', 'generation'],`;
const provenRow = `    to: 'queued',
    compares: ['version'],
    requires: ['no-cancel', 'no-vendor-job'],`;

/** Ways in which natural readings of the protocol break, each with a trace from the model checker. */
export const protocolMutants: readonly Mutant[] = [
  {
    name: 'unknown releases where the vendor replays',
    why: 'the vendor runs it, and its unit is given to another job',
    source: 'V1',
    edits: [
      edit(
        'money-rule',
        `? { do: 'retake' } : { do: 'flag', code: 'unknown_send' };`,
        `? { do: 'release', delayMs: 0, trip: undefined } : { do: 'flag', code: 'unknown_send' };`,
      ),
    ],
  },
  {
    name: 'a flag for an unknown send frees its unit',
    why: 'what runs at the vendor is not counted',
    source: 'V1',
    edits: [
      edit(
        'lifecycle',
        `    why: 'a send that may have been taken',`,
        `    unbinds: true,\n    why: 'a send that may have been taken',`,
      ),
    ],
  },
  {
    name: 'throttled after an unknown releases',
    why: 'the second answer says nothing of the first send, which runs',
    source: 'V2',
    edits: [
      edit('money-rule', '  if (job.maybeSent) {\n', '  if (job.id === "") {\n'),
      edit('lifecycle', releaseRow, `    requires: ['no-cancel', 'no-vendor-job'],`),
    ],
  },
  {
    name: 'refused after an unknown fails the job',
    why: 'it is failed, and the vendor runs and bills it',
    source: 'V2',
    edits: [
      edit('money-rule', '  return job.sends === 1 && !job.maybeSent;', '  return true;'),
      edit('lifecycle', refuseRow, refuseRow.replace(`, 'only-send'`, '')),
    ],
  },
  {
    name: 'sends spent after an unknown fail the job',
    why: 'it is failed, and the vendor runs and bills it',
    source: 'V2',
    edits: [
      edit(
        'money-rule',
        `    return spent ? { do: 'flag', code: 'unknown_send' } : { do: 'keep', delayMs, trip };`,
        `    return spent ? { do: 'spend', failure: { code: 'sends_spent', message: '' } } : { do: 'keep', delayMs, trip };`,
      ),
      edit(
        'lifecycle',
        spendRow,
        `    to: 'failed',
    compares: ['attempt'],
    requires: ['no-vendor-job'],`,
      ),
    ],
  },
  {
    name: 'a retake forgets that a send is unknown',
    why: 'the next definite answer is taken for the answer to all sends',
    source: 'V2',
    edits: [edit('send-job', '    maybeSent: true,\n', '    maybeSent: false,\n')],
  },
  {
    name: 'a stale flag for unknown parks a running job',
    why: 'a healthy job is parked',
    source: 'V3',
    edits: [edit('lifecycle', flagUnknownRow, flagUnknownRow.replace(`['dispatching']`, `['dispatching', 'running']`))],
  },
  {
    name: 'a refusal ends a job that has a receipt',
    why: 'it is failed, and the vendor runs and bills it',
    source: 'V3',
    edits: [
      edit(
        'lifecycle',
        refuseRow,
        `    from: ['dispatching', 'running', 'needs_attention'],
    to: 'failed',
    compares: ['attempt'],`,
      ),
      edit('money-rule', '  return job.sends === 1 && !job.maybeSent;', '  return true;'),
    ],
  },
  {
    name: 'a resend under the old attempt, killed by an old answer',
    why: 'the refusal of the first purchase ends the second',
    source: 'V4',
    edits: [
      edit('lifecycle', resendRow, resendRow.replace(`'attempt', 'generation'`, `'generation'`)),
      edit(
        'lifecycle',
        refuseRow,
        `    from: ['queued', 'dispatching', 'needs_attention'],
    to: 'failed',
    compares: ['attempt'],`,
      ),
    ],
  },
  {
    name: 'the sweep frees by job, not by token',
    why: "it takes away another worker's unit",
    source: 'V5',
    edits: [
      edit(
        'sweep-lane',
        '    await world.lanes.free(lane.lane, token);\n',
        `    const now = await world.lanes.read(lane.lane);
    for (const [other, { jobId }] of Object.entries(now.held)) if (jobId === unit.jobId || other === token) await world.lanes.free(lane.lane, other);
`,
      ),
    ],
  },
  {
    name: 'a claim does not compare the attempt',
    why: 'it passes the fence of the sweep, which frees its unit',
    source: 'V6',
    edits: [edit('lifecycle', claimRow, claimRow.replace(`compares: ['attempt']`, 'compares: []'))],
  },
  {
    name: 'the sweep does not fence',
    why: 'a slow worker claims after its unit was freed',
    source: 'V6',
    edits: [
      edit('sweep-lane', "  return fenced.kind === 'moved';", '  return true;'),
      edit('sweep-lane', "await world.jobs.move(move('fence', job, {}))", "{ kind: 'none' as string }"),
    ],
  },
  {
    name: 'a hold counts as bound by the state of its job',
    why: 'a hold of a worker that died leaks for as long as its job lives',
    source: 'V7',
    edits: [
      edit(
        'sweep-lane',
        '  if (job.hold?.token === token) return false;',
        "  if (!isTerminal(job.state) && job.state !== 'queued') return false;",
      ),
    ],
  },
  {
    name: 'a hold counts as bound by its attempt',
    why: 'attaching to a running job frees its unit',
    source: 'V7',
    edits: [
      edit(
        'sweep-lane',
        '  if (job.hold?.token === token) return false;',
        '  if (job.hold?.token === token && job.attempt === unit.attempt) return false;',
      ),
    ],
  },
  {
    name: 'the sweep reads the job before the lane',
    why: 'a live claim looks unbound, and its unit goes',
    source: 'V7',
    edits: [
      edit(
        'sweep-lane',
        '  const now = world.clock.now();\n',
        `  const seen = new Map<string, Awaited<ReturnType<World['jobs']['read']>>>();
  for (const { jobId } of Object.values(lane.held)) seen.set(jobId, await world.jobs.read(jobId));
  lane = await world.lanes.read(lane.lane);
  const now = world.clock.now();
`,
      ),
      edit('sweep-lane', 'await isFree(world, token, unit)', 'await isFree(world, token, unit, seen)'),
      edit(
        'sweep-lane',
        'unit: HeldUnit): Promise<boolean> {\n  const read = await world.jobs.read(unit.jobId);',
        'unit: HeldUnit, seen: Map<string, Awaited<ReturnType<World["jobs"]["read"]>>>): Promise<boolean> {\n  const read = seen.get(unit.jobId);\n  if (!seen.has(unit.jobId)) return false;',
      ),
      edit('sweep-lane', 'job.attempt >= unit.attempt || ', ''),
    ],
  },
  {
    name: 'an operator who fails a job frees its unit',
    why: 'the vendor still runs it',
    source: 'V8',
    edits: [edit('lifecycle', `    why: "a person; keeps`, `    unbinds: true,\n    why: "a person; keeps`)],
  },
  {
    name: 'canceling a parked job ends it',
    why: 'it is canceled, and the vendor finishes and bills it',
    source: 'V8',
    edits: [
      edit(
        'lifecycle',
        `    from: ['queued'],
    to: 'canceled',
    sets: ending,`,
        `    from: ['queued', 'needs_attention'],
    to: 'canceled',
    sets: ending,`,
      ),
      edit(
        'cancel-job',
        "    case 'dispatching':\n    case 'running':\n    case 'needs_attention':\n      if (job",
        "    case 'dispatching':\n    case 'running':\n      if (job",
      ),
      edit('cancel-job', "    case 'queued': {", "    case 'needs_attention':\n    case 'queued': {"),
    ],
  },
  {
    name: 'a resend that waits for nothing',
    why: 'both purchases run on one unit',
    source: 'V9',
    edits: [
      edit('lifecycle', resendRow, resendRow.replace(`'hold-freed'`, '')),
      edit('settle-flagged', '  if (mayRun && !isOver) return', '  if (job.id === "" && mayRun && !isOver) return'),
      edit(
        'settle-flagged',
        '  if (job.hold !== undefined) await unbindAndFree(world, job);\n  const lane',
        '  const lane',
      ),
    ],
  },
  {
    name: 'a webhook of another generation is a receipt',
    why: 'the job follows the old purchase, and forgets the one that it runs as',
    source: 'V10',
    edits: [edit('receive-vendor-event', 'if (job.generation !== at.generation || isOther) {', 'if (isOther) {')],
  },
  {
    name: 'a receipt without a hold makes a job running',
    why: 'it runs uncounted',
    source: 'V11',
    edits: [
      edit(
        'lifecycle',
        acceptRow,
        `    compares: ['generation'],
    requires: ['same-vendor-job'],`,
      ),
    ],
  },
  {
    name: 'absence is believed at once',
    why: 'the first request arrives late, and both are paid',
    source: 'V12',
    edits: [edit('look-up', 'askedAt >= quarantineEnd(parked, vendor.traits)', 'askedAt > 0')],
  },
  {
    name: 'absence is dated after the question',
    why: 'the answer is older than the quarantine that it is compared with',
    source: 'V12',
    edits: [
      edit(
        'look-up',
        'askedAt >= quarantineEnd(parked, vendor.traits)',
        'world.clock.now() >= quarantineEnd(parked, vendor.traits)',
      ),
    ],
  },
  {
    name: 'the quarantine forgets the listing lag',
    why: 'a request that was taken is not listed yet, and is paid twice',
    source: 'V12',
    edits: [edit('money-rule', 'traits.sendTimeoutMs + traits.listingLagMs + clockSkewMs', 'clockSkewMs')],
  },
  {
    name: 'a hint of absence is proof',
    why: 'a vendor that restarted knows nothing of what it runs',
    source: 'V12',
    edits: [edit('look-up', "vendor.traits.absence === 'proof' && ", '')],
  },
  {
    name: 'nothing leads from parked to queued',
    why: 'a job that was proven absent waits for a person',
    source: 'V12',
    edits: [
      edit(
        'lifecycle',
        provenRow,
        `    to: 'queued',
    compares: ['version'],
    requires: ['no-cancel', 'no-vendor-job', 'never-unknown'],`,
      ),
    ],
  },
  {
    name: 'a refused claim frees its unit although it was its own',
    why: 'the job is out, and its unit is free',
    source: 'V13',
    edits: [edit('dispatch-job', '  if (moved.actual?.hold?.token !== token) await', '  await')],
  },
  {
    name: 'a send that comes too late goes all the same',
    why: 'it was released meanwhile, and sent by another worker',
    source: 'V13',
    edits: [
      edit(
        'send-job',
        '    sendBy: job.sendBy,\n    signal: shift.signal,',
        '    sendBy: Number.POSITIVE_INFINITY,\n    signal: shift.signal,',
      ),
    ],
  },
  {
    name: 'a canceled job goes back to the queue',
    why: 'it is bought although its owner asked to cancel it',
    source: 'V14',
    edits: [
      edit('lifecycle', releaseRow, `    requires: ['no-vendor-job', 'never-unknown'],`),
      edit('lifecycle', claimRow, claimRow.replace(`'no-cancel'`, '')),
      edit('dispatch-job', ' && job.cancelRequestedAt === undefined;', ';'),
    ],
  },
  {
    name: 'a retake after the vendor forgot the key',
    why: 'it is a new purchase',
    source: 'V15',
    edits: [
      edit(
        'money-rule',
        '  return sinceFirstMs + sendLeadMs + traits.sendTimeoutMs + clockSkewMs < traits.dedupeMs;',
        '  return sinceFirstMs >= 0;',
      ),
    ],
  },
  {
    name: "a retake decided before a stall, sent after the vendor's memory",
    why: 'it is a new purchase',
    source: 'V15',
    edits: [edit('send-job', '  if (!canReplay(job, vendor.traits, now)) return undefined;\n', '')],
  },
  {
    name: 'a hold is freed by a clock that forgets how long a vendor may run',
    why: 'two run on one unit',
    source: 'V16',
    edits: [
      edit(
        'money-rule',
        'lastSendBy + traits.sendTimeoutMs + traits.maxLifeMs + clockSkewMs',
        'lastSendBy + traits.sendTimeoutMs + clockSkewMs',
      ),
    ],
  },
  {
    name: 'a parked job is looked at in a quarter of an hour',
    why: 'its truth waits for many intervals',
    source: 'V17',
    edits: [
      edit('settle-job', 'maybeSent: true, checkAt: nextTick(now) }', 'maybeSent: true, checkAt: now + 960_000 }'),
    ],
  },
  {
    name: 'the reconciler rings for nobody',
    why: 'a job whose ring was lost waits for ever',
    source: 'V17',
    edits: [
      edit('tend-lane', '  if (queued > 0 && hasRoom(lane, world.clock.now())) await ringFor(world, lane);\n', ''),
    ],
  },
  {
    name: 'a claim that was refused keeps its unit',
    why: 'each lost race costs a unit until the sweep',
    source: 'rule 2 (i)',
    edits: [
      edit(
        'dispatch-job',
        '  if (moved.actual?.hold?.token !== token) await freeHold(world, job.lane, { token });\n',
        '',
      ),
    ],
  },
  {
    name: 'the token to free is looked for in the new item',
    why: 'each unit leaks until the sweep',
    source: 'rule 2 (ii)',
    edits: [
      edit(
        'settle-job',
        'await freeHold(world, settled.lane, moved.unbound, delayMs);',
        'await freeHold(world, settled.lane, settled.hold, delayMs);',
      ),
    ],
  },
  {
    name: 'the sweep frees bound holds',
    why: 'what runs is not counted',
    source: 'rule 2 (iii)',
    edits: [edit('sweep-lane', '  if (job.hold?.token === token) return false;\n', '')],
  },
  {
    name: 'freed first, unbound second',
    why: 'a crash in between leaves a job bound to nothing',
    source: 'rule 2 (iv)',
    edits: [
      edit(
        'tend-job',
        "  const moved = await world.jobs.move(move('unbind',",
        "  await freeHold(world, job.lane, job.hold);\n  const moved = await world.jobs.move(move('unbind',",
      ),
    ],
  },
  {
    name: 'a release does not compare the attempt',
    why: "a fenced sender's stale answer releases a later send",
    source: 'rule 3',
    edits: [
      edit(
        'lifecycle',
        `    compares: ['attempt'],
${releaseRow}`,
        `    compares: [],
    requires: ['no-cancel', 'no-vendor-job'],`,
      ),
    ],
  },
  {
    name: 'a receipt compares the attempt',
    why: "a fenced sender's receipt, which is true, is thrown away",
    source: 'rule 3',
    edits: [edit('lifecycle', acceptRow, acceptRow.replace(`['generation']`, `['generation', 'attempt']`))],
  },
  {
    name: "a synchronous vendor's run is longer than its deadline",
    why: 'every normal run is parked while it is well',
    source: 'item 4',
    edits: [edit('send-job', 'dispatchBy: sendBy + sendTimeoutMs + clockSkewMs', 'dispatchBy: sendBy')],
  },
  {
    name: 'attempts are counted for sends',
    why: 'what the sweep and a closed account did to a job uses up what it may be sent',
    source: 'item 7',
    edits: [edit('money-rule', 'job.tries >= traits.maxSends', 'job.attempt >= traits.maxSends')],
  },
  {
    name: 'nothing is swept',
    why: 'a unit whose worker died between hold and claim is gone for good',
    source: 'item 10',
    edits: [edit('tend-lane', 'await sweepLane(world, before)', 'Number(sweepLane.name === "")')],
  },
  {
    name: "a vendor's acknowledgement of a cancel is its end",
    why: 'it is canceled, and the vendor finishes and bills it',
    source: 'item 8',
    edits: [
      edit(
        'watch-job',
        "    this.#cancelAsked = asked !== 'unreachable';",
        "    this.#cancelAsked = asked !== 'unreachable';\n    await cancelAtVendor(this.#world, this.#job);",
      ),
      edit(
        'watch-job',
        "import { applyWord } from './apply-word.ts';",
        "import { applyWord } from './apply-word.ts';\nimport { cancelAtVendor } from './settle-job.ts';",
      ),
    ],
  },
  {
    name: 'nobody acts on a cancel of a running job',
    why: 'what its owner no longer wants is made and paid',
    source: 'item 8',
    edits: [
      edit(
        'watch-job',
        '    if (this.#job.cancelRequestedAt === undefined || this.#cancelAsked) return;',
        '    if (this.#job.id !== "") return;',
      ),
    ],
  },
];
