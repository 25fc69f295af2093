import { editStore, type Mutant } from './mutant.ts';

const source = 'adapter';

/** Bugs of the adapters to DynamoDB, and of what falls between two of their requests: over the fakes they can't be seen. */
export const storeMutants: readonly Mutant[] = [
  {
    name: 'a move is written whatever attempt it was made for',
    why: 'a worker that stalled writes over the one that took its job',
    source,
    edits: [
      editStore(
        'guard',
        '    ...row.compares.map((compared) => equals(compared, moving.job[compared], expression)),\n',
        '',
      ),
    ],
  },
  {
    name: 'a move is written whatever its row requires',
    why: 'a job is bought although its owner asked to cancel it',
    source,
    edits: [editStore('guard', '    ...row.requires.map((clause) => clauseText(clause, moving, expression)),\n', '')],
  },
  {
    name: 'a state is left whichever it is',
    why: 'what has ended begins again',
    source,
    edits: [
      editStore(
        'guard',
        "    `${expression.name('state')} IN (${states.join(', ')})`,",
        "    `(attribute_exists(pk) OR ${expression.name('state')} IN (${states.join(', ')}))`,",
      ),
    ],
  },
  {
    name: 'a hold that is unbound stays in the item',
    why: 'its unit is freed, and the job goes on holding it',
    source,
    edits: [editStore('guard', "  if (row.unbinds) remove(storedName('hold'));\n", '')],
  },
  {
    name: 'a job that waits again stands in no queue',
    why: 'nobody finds it',
    source,
    edits: [editStore('guard', "  if (row.to === 'queued') set('queuedLane', job.lane);\n  else if", '  if')],
  },
  {
    name: 'a job that must still be announced leaves the index of those to look at',
    why: 'a crash, and nobody is told of it',
    source,
    edits: [
      editStore(
        'guard',
        "if (moved !== undefined && !isActive(moved)) remove('activeShard');",
        "if (row.ends) remove('activeShard');",
      ),
    ],
  },
  {
    name: 'a state is entered without a new version',
    why: 'clients throw the newest away as old',
    source,
    edits: [editStore('guard', "  if (!row.bookkeeping) raise(storedName('version'));\n", '')],
  },
  {
    name: 'a full lane gives another unit',
    why: 'the cap is a wish',
    source,
    edits: [editStore('dynamo-lane-store', "        `size(${held}) < ${expression.name('cap')}`,\n", '')],
  },
  {
    name: 'a lane is made over the one that is there',
    why: 'two first holds at once: the one that was held is forgotten, and more run than the cap says',
    source,
    edits: [
      editStore(
        'dynamo-lane-store',
        "      Item: marshall({ ...laneKey(name), ...lane }),\n      ConditionExpression: 'attribute_not_exists(pk)',",
        "      Item: marshall({ ...laneKey(name), ...lane }),\n      ConditionExpression: 'attribute_not_exists(pk) OR attribute_exists(pk)',",
      ),
    ],
  },
  {
    name: 'a lane that is not there yet is not made on the way',
    why: 'its first hold is refused by nothing',
    source,
    edits: [editStore('dynamo-lane-store', '    await this.#make(name);\n    return send();', '    return written;')],
  },
  {
    name: 'to free is to empty',
    why: 'one job that ends frees what every other one holds',
    source,
    edits: [
      editStore(
        'dynamo-lane-store',
        'remove: [held] };',
        "setText: [`${expression.name('held')} = ${expression.value({})}`] };",
      ),
    ],
  },
  {
    name: 'the hold to free is read from what the move made',
    why: 'it is not there any more, so that nobody frees it',
    source,
    edits: [
      editStore(
        'dynamo-job-store',
        'unbound: unbinds ? returned.hold : undefined',
        'unbound: unbinds ? moved.hold : undefined',
      ),
    ],
  },
  {
    name: "a submit's own put is not known again",
    why: 'the answer is lost, and a new job is called the job of another submit',
    source,
    edits: [
      editStore(
        'dynamo-job-store',
        "const isOwn = found.kind === 'job' && found.job.submitToken === job.submitToken;",
        'const isOwn = false;',
      ),
    ],
  },
  {
    name: 'a job is created over the one that is there',
    why: 'one key, bought twice',
    source,
    edits: [
      editStore(
        'dynamo-job-store',
        "      Item: itemOf(job),\n      ConditionExpression: 'attribute_not_exists(pk)',",
        "      Item: itemOf(job),\n      ConditionExpression: 'attribute_not_exists(erasedAt)',",
      ),
    ],
  },
  {
    name: 'what is beside a job ends after it is announced',
    why: 'a crash in between keeps what the user asked for until its own time, and whose a job was for ever',
    source,
    edits: [
      editStore(
        'dynamo-job-store',
        "    if (moving.transition === 'announced') await this.#endSiblings(moving.job);\n",
        '',
      ),
      editStore(
        'dynamo-job-store',
        "    if (written.kind === 'written') return afterMove(",
        "    if (moving.transition === 'announced') await this.#endSiblings(moving.job);\n    if (written.kind === 'written') return afterMove(",
      ),
    ],
  },
  {
    name: 'what is beside a job never ends',
    why: 'what the user asked for outlives the job',
    source,
    edits: [
      editStore(
        'dynamo-job-store',
        "    if (moving.transition === 'announced') await this.#endSiblings(moving.job);\n",
        '',
      ),
    ],
  },
];
