import { edit, type Mutant } from './mutant.ts';

/** Bugs that the promises of the design would not survive. */
export const promiseMutants: readonly Mutant[] = [
  {
    name: 'sent first, written down afterwards',
    why: 'a worker that dies in between has bought what nobody knows of, and the next one buys it again',
    source: 'promise 4',
    edits: [
      edit(
        'dispatch-job',
        '      const claimed = await claim(world, vendor, job, token);\n',
        `      const early = await vendor.submit({
        vendorKey: job.id + '.' + job.generation,
        feature: job.feature,
        parameters: {},
        picture: undefined,
        callbackUrl: await world.callbackUrl(job),
        sendBy: acquiredAt + 10_000,
        signal: shift.signal,
      });
      const claimed = await claim(world, vendor, job, token);
`,
      ),
      edit(
        'dispatch-job',
        'sendJob(world, vendor, claimed, shift, held)',
        'sendJob(world, { ...vendor, submit: async () => early }, claimed, shift, held)',
      ),
    ],
  },
  {
    name: 'a job that failed gives its key back',
    why: 'one tap on a bad connection is two jobs, and may be two pictures to pay',
    source: 'promise 3',
    edits: [
      edit(
        'submit-job',
        '  if (found !== undefined) return answerFound(found, command, world);\n',
        `  if (found?.kind === 'job' && found.job.state === 'failed')
    return await submitJob({ ...command, key: command.key + '-again' }, world);
  if (found !== undefined) return answerFound(found, command, world);
`,
      ),
    ],
  },
  {
    name: 'a live job is kept for a time',
    why: 'a job that waits for a person is gone one day, and its key buys again',
    source: 'design §4',
    edits: [edit('new-job', '  ttl: undefined,\n', '  ttl: 1_800_000_000,\n')],
  },
  {
    name: 'a full lane is no reason to wait',
    why: 'the cap is a wish',
    source: 'promise 2',
    edits: [
      edit('dispatch-job', "    case 'held': {\n", "    case 'full':\n    case 'held': {\n"),
      edit('dispatch-job', "    case 'full':\n    case 'closed':", "    case 'closed':"),
      edit(
        'dispatch-job',
        'await sendJob(world, vendor, claimed, shift, held)',
        'await sendJob(world, vendor, claimed, shift, { probing: false, since: 0 })',
      ),
    ],
  },
  {
    name: 'none is sent again like replay',
    why: 'the same picture is paid twice',
    source: 'promise 4',
    edits: [
      edit('money-rule', "  if (traits.dedupe !== 'replay' || job", '  if (job'),
      edit(
        'money-rule',
        "    case 'inflight':\n    case 'none':\n      return { do: 'flag', code: 'unknown_send' };",
        "    case 'inflight':\n    case 'none':\n      return { do: 'retake' };",
      ),
    ],
  },
  {
    name: 'gone is failed',
    why: 'a picture that is made and billed is called failed',
    source: 'promise 4',
    edits: [
      edit(
        'apply-word',
        "      return await lost(world, job, 'vendor_lost_job', {});",
        "      return settled(await failAtVendor(world, job, { code: 'failed_at_vendor', message: '' }));",
      ),
    ],
  },
  {
    name: 'over its deadline is failed',
    why: 'the vendor finishes and bills it',
    source: 'promise 4',
    edits: [
      edit(
        'tend-job',
        "    const flagged = await flagLost(world, job, 'overdue');",
        "    await failAtVendor(world, job, { code: 'failed_at_vendor', message: '' });\n    const flagged = undefined as Awaited<ReturnType<typeof flagLost>>;",
      ),
      edit(
        'tend-job',
        "import { expire, flagLost, flagUnknown } from './settle-job.ts';",
        "import { expire, failAtVendor, flagLost, flagUnknown } from './settle-job.ts';",
      ),
    ],
  },
  {
    name: 'no answer means lost',
    why: 'a vendor that is down for a minute parks its whole lane',
    source: 'promise 5',
    edits: [
      edit(
        'apply-word',
        "      return { kind: 'unreachable', message: word.message };",
        "      return await lost(world, job, 'vendor_lost_job', {});",
      ),
    ],
  },
  {
    name: 'the reconciler does not ask about running jobs',
    why: 'a job whose worker died runs for ever',
    source: 'promise 5',
    edits: [
      edit(
        'tend-job',
        '  const applied = await ask(world, tick, vendor, job, job.vendorJobId);\n  if (applied === undefined) return undefined;',
        "  const applied = { kind: 'pending' as string, job } as Awaited<ReturnType<typeof ask>>;\n  if (applied === undefined || now > 0) return await lookAgain(world, job, nextTick(now));",
      ),
    ],
  },
  {
    name: "a lost worker is nobody's business",
    why: 'a job stays dispatching for ever',
    source: 'promise 5',
    edits: [edit('tend-job', '  if (now <= job.dispatchBy) return', '  if (now > 0) return')],
  },
  {
    name: 'told before our own copy is made',
    why: 'the picture is gone when its owner comes for it',
    source: 'promise 1',
    edits: [edit('settle-job', '  await world.files.put(key, fetched.bytes, seen.contentType);\n', '')],
  },
  {
    name: 'the last value is not stored',
    why: 'a finished job shows 40%',
    source: 'promise 6',
    edits: [edit('lifecycle', `sets: [...ending, 'results', 'progress'],`, `sets: [...ending, 'results'],`)],
  },
  {
    name: 'every tick is stored',
    why: 'progress pounds the database',
    source: 'promise 6',
    edits: [edit('progress-throttle', 'export const storeEveryMs = 1_000;', 'export const storeEveryMs = 0;')],
  },
  {
    name: 'progress goes down',
    why: 'a bar that runs backwards',
    source: 'promise 6',
    edits: [
      edit(
        'progress-throttle',
        'Math.max(shown?.percent ?? 0, Math.min(99, Math.max(0, Math.floor(said))))',
        'Math.min(99, Math.max(0, Math.floor(said)))',
      ),
    ],
  },
  {
    name: 'an event is crossed off before it is sent',
    why: 'nobody is told that the picture is there',
    source: 'invariant 11',
    edits: [
      edit('announce-job', "  await world.jobs.move(move('announced', job, {}));\n", ''),
      edit(
        'announce-job',
        '  await world.bus.publish(',
        "  await world.jobs.move(move('announced', job, {}));\n  await world.bus.publish(",
      ),
    ],
  },
  {
    name: 'a flag that is gone is announced all the same',
    why: 'people are woken for a job that runs',
    source: 'invariant 11',
    edits: [
      edit(
        'lifecycle',
        "    clears: ['flag', 'maybeSent', 'announce'],\n    why: 'a receipt of this generation',",
        "    clears: ['flag', 'maybeSent'],\n    why: 'a receipt of this generation',",
      ),
    ],
  },
  {
    name: 'sends without end',
    why: 'a vendor that is over its limits is asked for ever',
    source: 'design §6',
    edits: [
      edit('money-rule', '  return job.tries >= traits.maxSends ||', '  return job.id === "" ||'),
      edit('money-rule', ' now - (job.firstTriedAt ?? now) >= traits.sendWindowMs;', ' now < 0;'),
    ],
  },
  {
    name: 'a bad key uses up what a job may be sent',
    why: 'when the account is well again, the first throttling fails what waited longest',
    source: 'design §6',
    edits: [edit('send-job', "next.trip === undefined ? 'release' : 'releaseUntried'", "'release'")],
  },
  {
    name: 'a job that our account may not send stays the first',
    why: 'it is the probe of its lane for ever, which stays closed for all others',
    source: 'promise 2',
    edits: [edit('settle-job', 'rank: job.rank + stepsBack', 'rank: job.rank')],
  },
  {
    name: 'a pause counts as waiting',
    why: 'a lane that was paused for a while fails its whole queue',
    source: 'design §7',
    edits: [edit('tend-job', 'Math.max(0, closedMsUntil(lane, now) - job.laneClosedMs)', '0')],
  },
  {
    name: 'no probe is let in',
    why: 'a tripped lane stays tripped when the account is well again',
    source: 'design §7',
    edits: [
      edit('send-job', "  world.notices.note({ kind: 'lane_reopened', lane: job.lane });\n", ''),
      edit('send-job', "{ state: 'open', by: 'probe', reason, at }", "{ state: 'tripped', by: 'probe', reason, at }"),
    ],
  },
  {
    name: 'a kept job does not try the lane that it fills',
    why: 'it has the last unit of a tripped lane, and nobody ever finds out that the account is well again',
    source: 'design §7',
    edits: [
      edit(
        'send-job',
        "  if (lane.state === 'paused' || lane.notBefore",
        "  if (lane.state !== 'open' || lane.notBefore",
      ),
    ],
  },
  {
    name: 'a watch that is handed over is not taken up',
    why: 'a long job is watched by nobody, and shows nothing',
    source: 'design §8',
    edits: [
      edit('watch-job', '    await this.#world.doorbell.ring(this.#job.lane, this.#job.id, 1_000);\n', ''),
      edit(
        'tend-job',
        '  await lookAgain(world, job, nextTick(now));\n  await world.doorbell.ring(job.lane, job.id);',
        '  await lookAgain(world, job, now + 960_000);',
      ),
    ],
  },
  {
    name: 'what waited at the restored moment is sent',
    why: 'it may have been sent and paid since',
    source: 'design §9',
    edits: [
      edit(
        'mark-restored',
        "      const moved = await world.jobs.move(move('flagRestored', job, change));",
        "      const moved = { kind: 'refused' as string, job };",
      ),
    ],
  },
  {
    name: 'a lost picture holds its unit for ever',
    why: 'a lane runs dry, a unit at a time',
    source: 'design §9',
    edits: [
      edit(
        'tend-job',
        '  if (applied?.hasEnded === true && now.hold !== undefined) return await unbindAndFree(world, now);\n',
        '',
      ),
    ],
  },
];
