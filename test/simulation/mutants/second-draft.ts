import { edit, type Mutant } from './mutant.ts';

/** What was found in the second draft, and mended. */
export const secondDraftMutants: readonly Mutant[] = [
  {
    name: 'a refused fence is left alone',
    why: 'a sweep that died between fence and removal leaks the hold for ever',
    source: 'draft 2, 1',
    edits: [
      edit(
        'sweep-lane',
        "  if (isTerminal(job.state) || job.attempt >= unit.attempt || job.state !== 'queued') return true;",
        "  if (isTerminal(job.state) || job.state !== 'queued') return true;\n  if (job.attempt !== unit.attempt - 1) return false;",
      ),
    ],
  },
  {
    name: "a person's retake compares only the attempt",
    why: 'it ends in dispatching without a unit, when the sweep has just unbound it',
    source: 'draft 2, 2',
    edits: [
      edit(
        'lifecycle',
        `    to: 'dispatching',
    compares: ['version', 'generation'],
    requires: ['no-cancel', 'no-vendor-job', 'hold-as-read'],`,
        `    to: 'dispatching',
    compares: ['attempt', 'generation'],
    requires: ['no-cancel', 'no-vendor-job'],`,
      ),
    ],
  },
  {
    name: 'what the vendor no longer finds is released although it had a receipt',
    why: 'a unit is freed while the vendor runs',
    source: 'draft 2, 3',
    edits: [
      edit(
        'lifecycle',
        `    to: 'queued',
    compares: ['version'],
    requires: ['no-cancel', 'no-vendor-job'],`,
        `    to: 'queued',
    compares: ['version'],
    requires: ['no-cancel'],`,
      ),
      edit(
        'tend-job',
        '  if (applied?.isWorking !== true) return applied;\n',
        '  if (applied?.isWorking !== true) {\n    if (applied?.hasEnded === false) await releaseProven(world, job);\n    return applied;\n  }\n',
      ),
      edit(
        'tend-job',
        "import { expire, flagLost, flagUnknown } from './settle-job.ts';",
        "import { expire, flagLost, flagUnknown, releaseProven } from './settle-job.ts';",
      ),
    ],
  },
  {
    name: 'a bad key fails the backlog',
    why: 'every waiting job is failed for what is our own fault',
    source: 'draft 2, 4',
    edits: [
      edit(
        'money-rule',
        '      return notTaken(job, traits, now, backOffMs(job.tries), outcome.message);',
        "      return { do: 'refuse', failure: { code: 'refused_by_vendor', message: outcome.message } };",
      ),
    ],
  },
  {
    name: 'the lane is not tripped',
    why: 'every next worker sends with the same bad key',
    source: 'draft 2, 4',
    edits: [
      edit('send-job', '  if (reason === undefined) return;\n  const at', '  if (reason !== "") return;\n  const at'),
    ],
  },
  {
    name: 'an adopted job runs without its unit',
    why: 'a unit that was taken for it was swept before it was bound',
    source: 'draft 2, 5',
    edits: [
      edit('lifecycle', `    requires: ['hold-bound', 'same-vendor-job'],`, `    requires: ['same-vendor-job'],`),
    ],
  },
  {
    name: 'asked once, then down the page',
    why: 'the second job waits, its only ring acknowledged',
    source: 'draft 2, 6',
    edits: [
      edit('dispatch-job', "    if (picked !== 'again') return;\n", '    return;\n'),
      edit(
        'dispatch-job',
        '  if (moved.actual?.hold?.token !== token) await freeHold(world, job.lane, { token });',
        '  if (moved.actual?.hold?.token !== token) await world.lanes.free(job.lane, token);',
      ),
    ],
  },
  {
    name: 'a raised cap rings for nobody',
    why: 'a job waits beside free room',
    source: 'draft 2, 7',
    edits: [edit('change-lane', "  if (changed.lane.state === 'open') await ringFor(world, changed.lane);\n", '')],
  },
  {
    name: 'pictures are named by job, not by submit',
    why: "the loser of a race replaces the picture that the winner's job sends",
    source: 'draft 2, 8',
    edits: [
      edit(
        'job',
        '  return `inputs/${job.owner}/${job.id}/${job.submitToken}`;',
        '  return `inputs/${job.owner}/${job.id}/picture`;',
      ),
    ],
  },
  {
    name: 'refused without a second look',
    why: 'an app is denied the job that its key already bought',
    source: 'draft 2, 9',
    edits: [
      edit(
        'submit-job',
        '  return found === undefined ? refuse(refusal) : answerFound(found, command, world);',
        '  return found === undefined || found.kind === "job" ? refuse(refusal) : answerFound(found, command, world);',
      ),
    ],
  },
  {
    name: 'an erased job is not erased once more',
    why: "a late submit's photograph stays under a tombstone",
    source: 'draft 2, 10',
    edits: [edit('erase-jobs', '      await eraseData(read.tombstone, world);\n', '')],
  },
];
