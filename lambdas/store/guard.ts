import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import type { JobFields, State } from '../domain/job.ts';
import { advance, isActive, rowOf, wantsAttention, type AnyMove, type Clause } from '../domain/lifecycle.ts';
import { Expression, updateText } from './expression.ts';
import { storedName, storedValue } from './item.ts';

/**
 * A move as one conditional update, derived from its row: what is written here and what `advance` says are the same, for
 * every state and every transition, and a test compares them all.
 */
export interface GuardedUpdate {
  readonly ConditionExpression: string;
  readonly UpdateExpression: string;
  readonly ExpressionAttributeNames: Record<string, string>;
  readonly ExpressionAttributeValues?: Record<string, AttributeValue>;
  readonly ReturnValues: 'ALL_OLD' | 'ALL_NEW';
}

type Field = Exclude<keyof JobFields, 'id'>;
type Row = ReturnType<typeof rowOf>;

export function guardedUpdate(moving: AnyMove): GuardedUpdate {
  const expression = new Expression();
  const row = rowOf(moving.transition);
  const ConditionExpression = conditionOf(row, moving, expression);
  const UpdateExpression = effectOf(row, moving, expression);
  return {
    ConditionExpression,
    UpdateExpression,
    ...expression.placeholders(),
    // The token to free, and the followers to tell, are in what it was before.
    ReturnValues: row.unbinds || row.ends ? 'ALL_OLD' : 'ALL_NEW',
  };
}

function conditionOf(row: Row, moving: AnyMove, expression: Expression): string {
  const states = row.from.map((state: State) => expression.value(state));
  return [
    `${expression.name('state')} IN (${states.join(', ')})`,
    ...row.compares.map((compared) => equals(compared, moving.job[compared], expression)),
    ...row.requires.map((clause) => clauseText(clause, moving, expression)),
  ].join(' AND ');
}

/** No item passes it: what the move compares can't be so. */
const never = 'attribute_not_exists(pk)';

function clauseText(clause: Clause, { job, change }: AnyMove, expression: Expression): string {
  const absent = (field: Field) => `attribute_not_exists(${expression.name(storedName(field))})`;
  const present = (field: Field) => `attribute_exists(${expression.name(storedName(field))})`;
  switch (clause) {
    case 'no-cancel':
      return absent('cancelRequestedAt');
    case 'cancel-asked':
      return present('cancelRequestedAt');
    case 'no-vendor-job':
      return absent('vendorJobId');
    case 'same-vendor-job':
      if (change.vendorJobId === undefined) return absent('vendorJobId');
      return `(${absent('vendorJobId')} OR ${equals('vendorJobId', change.vendorJobId, expression)})`;
    case 'hold-bound':
      return present('hold');
    case 'hold-as-read':
      return job.hold === undefined ? never : equals('hold', job.hold.token, expression);
    case 'hold-freed':
      return absent('hold');
    case 'never-unknown':
      return absent('maybeSent');
    case 'only-send':
      return equals('sends', 1, expression);
    case 'watch-as-read':
      return job.watchUntil === undefined ? absent('watchUntil') : equals('watchUntil', job.watchUntil, expression);
    case 'announce-as-read':
      return job.announce === undefined ? never : equals('announce', job.announce, expression);
    default:
      return clause satisfies never;
  }
}

function equals(field: Field, stored: string | number, expression: Expression): string {
  return `${expression.name(storedName(field))} = ${expression.value(stored)}`;
}

function effectOf(row: Row, moving: AnyMove, expression: Expression): string {
  const { job, change } = moving;
  const assigned = new Map<string, string>();
  const removed = new Set<string>();
  const assign = (name: string, text: string) => {
    assigned.set(name, text);
    removed.delete(name);
  };
  const remove = (name: string) => {
    removed.add(name);
    assigned.delete(name);
  };
  const set = (name: string, value: unknown) => {
    if (value === undefined) remove(name);
    else assign(name, expression.value(value));
  };
  const setOnce = (name: string, value: unknown) => {
    if (value !== undefined) assign(name, `if_not_exists(${expression.name(name)}, ${expression.value(value)})`);
  };
  const raise = (name: string) => assign(name, `${expression.name(name)} + ${expression.value(1)}`);

  for (const field of row.clears) remove(storedName(field));
  for (const field of row.sets) set(storedName(field), storedValue(field, change[field], job));
  for (const field of row.setsOnce) setOnce(storedName(field), storedValue(field, change[field], job));
  if (row.unbinds) remove(storedName('hold'));
  if (row.ends) remove(storedName('followers'));
  // Every operand is the value before this update: both become the version that it makes.
  if (row.announces)
    assign(storedName('announce'), `${expression.name(storedName('version'))} + ${expression.value(1)}`);
  if (!row.bookkeeping) raise(storedName('version'));
  for (const field of row.raises) raise(storedName(field));
  if (row.to !== 'same') set('state', row.to);
  placeInIndexes(row, moving, { set, setOnce, remove });

  return updateText({
    set: [...assigned].map(([name, text]) => `${expression.name(name)} = ${text}`),
    remove: [...removed].map((name) => expression.name(name)),
  });
}

interface Placing {
  readonly set: (name: string, value: unknown) => void;
  readonly setOnce: (name: string, value: unknown) => void;
  readonly remove: (name: string) => void;
}

/**
 * The sparse indexes' keys. They depend on the job as it will be, and an update knows only the job as it was read and
 * the row. That is enough:
 * - `queued` and the lane follow from the target state alone.
 * - `active`: it leaves only if the job as read, moved, is inactive. That needs a terminal state without hold and
 *   announcement, and a terminal job never gets any of these back, so whatever is stored by now is inactive too. The
 *   other way round it may stay too long (read with a hold or announcement that is gone by now): an index is a hint, and
 *   the next look takes it out.
 * - `attention`: a target state decides, but for `failed` with a hold and `same` with an unbinding. The rows that reach
 *   those compare the version, and neither state nor hold changes without one.
 */
function placeInIndexes(row: Row, moving: AnyMove, { set, setOnce, remove }: Placing): void {
  const { job, change } = moving;
  const moved = advance(job, moving);

  if (row.to === 'queued') set('queuedLane', job.lane);
  else if (row.to !== 'same' && row.from.includes('queued')) remove('queuedLane');

  if (moved !== undefined && !isActive(moved)) remove('activeShard');

  const stays = row.to === 'same' ? !row.unbinds : row.to === 'needs_attention' && !row.sets.includes('flag');
  if (stays) return;
  if (row.to === 'needs_attention') {
    set('attention', job.lane);
    set('flaggedAt', change.flag?.since);
  } else if (moved !== undefined && wantsAttention(moved)) {
    set('attention', job.lane);
    setOnce('flaggedAt', change.finishedAt ?? job.flag?.since);
  } else if (row.from.some((state) => state === 'needs_attention' || state === 'failed')) {
    remove('attention');
    remove('flaggedAt');
  }
}
