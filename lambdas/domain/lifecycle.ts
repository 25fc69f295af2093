import type { Job, JobFields, State } from './job.ts';

/**
 * The one table of a job's life. From it come the types (an illegal transition does not compile), the DynamoDB condition
 * and update of every write, the diagram in the docs, and the test of every state against every transition.
 */

/** What a write compares with the job as it was read, besides the state. */
export type Compared = 'attempt' | 'version' | 'generation';

export type Clause =
  | 'no-cancel'
  | 'cancel-asked'
  | 'no-vendor-job'
  /** No vendor job is recorded, or the one that this change names. */
  | 'same-vendor-job'
  | 'hold-bound'
  /** Bound, and by the token that was read. */
  | 'hold-as-read'
  | 'hold-freed'
  | 'never-unknown'
  /** The answer is to the generation's only send that may have left. */
  | 'only-send'
  | 'watch-as-read'
  | 'announce-as-read';

export type Settable = Exclude<
  keyof JobFields,
  | 'id'
  | 'owner'
  | 'feature'
  | 'vendor'
  | 'lane'
  | 'adapterVersion'
  | 'fingerprint'
  | 'submitToken'
  | 'createdAt'
  | 'picture'
  | 'maxQueueMs'
  | 'maxRunMs'
  | 'version'
  | 'attempt'
  | 'generation'
  | 'announce'
  | 'followers'
>;

interface Row {
  readonly from: readonly [State, ...State[]];
  readonly to: State | 'same';
  readonly compares: readonly Compared[];
  readonly requires: readonly Clause[];
  readonly raises: readonly ('attempt' | 'generation')[];
  readonly sets: readonly Settable[];
  /** Written only where the job has none yet. */
  readonly setsOnce: readonly Settable[];
  readonly clears: readonly (Settable | 'announce')[];
  /** Removes the hold from the job; its token comes back with the answer, and must then be freed in the lane. */
  readonly unbinds: boolean;
  /**
   * Its event has to be sent: `announce` becomes the version that this write makes. A flag that is gone before its event
   * was sent needs none: whatever takes a job out of `needs_attention` clears it.
   */
  readonly announces: boolean;
  /** Nothing follows on it: its followers are told once more and forgotten, and what only a send needs goes. */
  readonly ends: boolean;
  /** Bookkeeping writes don't raise the version: nothing that a client sees changes. */
  readonly bookkeeping: boolean;
  /** For the diagram: by whom and when. */
  readonly why: string;
}

const nothing = {
  compares: [],
  requires: [],
  raises: [],
  sets: [],
  setsOnce: [],
  clears: [],
  unbinds: false,
  announces: false,
  ends: false,
  bookkeeping: false,
} as const satisfies Partial<Row>;

const toTerminal = { announces: true, ends: true } as const;
const ending = ['finishedAt', 'ttl', 'checkAt'] as const;
const takenSend = ['claimToken', 'sendBy', 'dispatchBy', 'sends'] as const;
/** What an ended job no longer needs; what tells when it can't be running any more stays while it holds a unit. */
const spent = ['claimToken', 'dispatchBy', 'firstTriedAt', 'runUntil', 'watchUntil'] as const;

export const lifecycle = {
  claim: {
    ...nothing,
    from: ['queued'],
    to: 'dispatching',
    compares: ['attempt'],
    requires: ['no-cancel'],
    raises: ['attempt'],
    sets: ['hold', 'claimToken', 'sendBy', 'dispatchBy', 'sends', 'tries', 'checkAt'],
    setsOnce: ['firstTriedAt', 'startedAt'],
    why: 'a worker, with a unit of the lane held for the attempt that it read',
  },
  release: {
    ...nothing,
    from: ['dispatching'],
    to: 'queued',
    compares: ['attempt'],
    requires: ['no-cancel', 'no-vendor-job', 'never-unknown'],
    raises: ['attempt'],
    sets: ['checkAt'],
    clears: takenSend,
    unbinds: true,
    why: 'proven not taken, and no earlier send unknown',
  },
  releaseUntried: {
    ...nothing,
    from: ['dispatching'],
    to: 'queued',
    compares: ['attempt'],
    requires: ['never-unknown', 'no-vendor-job', 'no-cancel'],
    raises: ['attempt'],
    sets: ['checkAt', 'rank'],
    clears: [...takenSend, 'tries', 'firstTriedAt'],
    unbinds: true,
    why: "proven not taken, and the fault is our account's: it spends none of the job's sends",
  },
  releaseCanceled: {
    ...nothing,
    ...toTerminal,
    from: ['dispatching'],
    to: 'canceled',
    compares: ['attempt'],
    requires: ['cancel-asked', 'no-vendor-job', 'never-unknown'],
    sets: ending,
    clears: [...takenSend, 'firstTriedAt'],
    unbinds: true,
    why: 'proven not taken, and its owner asked to cancel',
  },
  releaseProven: {
    ...nothing,
    from: ['needs_attention'],
    to: 'queued',
    compares: ['version'],
    requires: ['no-cancel', 'no-vendor-job'],
    raises: ['attempt'],
    sets: ['checkAt'],
    clears: [...takenSend, 'flag', 'maybeSent', 'announce'],
    unbinds: true,
    why: 'absence proven, or the only send answered "not taken" after all',
  },
  releaseProvenCanceled: {
    ...nothing,
    ...toTerminal,
    from: ['needs_attention'],
    to: 'canceled',
    compares: ['version'],
    requires: ['cancel-asked', 'no-vendor-job'],
    sets: ending,
    clears: ['firstTriedAt', ...takenSend, 'flag', 'maybeSent'],
    unbinds: true,
    why: 'absence proven, and its owner asked to cancel',
  },
  retake: {
    ...nothing,
    from: ['dispatching'],
    to: 'dispatching',
    compares: ['attempt'],
    requires: ['no-cancel', 'no-vendor-job', 'hold-as-read'],
    raises: ['attempt'],
    sets: ['claimToken', 'sendBy', 'dispatchBy', 'sends', 'tries', 'maybeSent', 'checkAt'],
    why: 'the same key again, where the vendor replays the original',
  },
  retakeParked: {
    ...nothing,
    from: ['needs_attention'],
    to: 'dispatching',
    compares: ['version', 'generation'],
    requires: ['no-cancel', 'no-vendor-job', 'hold-as-read'],
    raises: ['attempt'],
    sets: ['claimToken', 'sendBy', 'dispatchBy', 'maybeSent', 'checkAt'],
    clears: ['flag', 'announce'],
    why: 'an operator: the same key again; a worker sends it',
  },
  accept: {
    ...nothing,
    from: ['dispatching', 'needs_attention'],
    to: 'running',
    compares: ['generation'],
    requires: ['hold-bound', 'same-vendor-job'],
    sets: ['vendorJobId', 'watchUntil', 'checkAt'],
    setsOnce: ['runUntil', 'startedAt'],
    clears: ['flag', 'maybeSent', 'announce'],
    why: 'a receipt of this generation',
  },
  note: {
    ...nothing,
    from: ['needs_attention'],
    to: 'needs_attention',
    compares: ['generation'],
    requires: ['hold-freed', 'same-vendor-job'],
    sets: ['vendorJobId', 'checkAt'],
    why: 'a receipt after its hold was freed',
  },
  attach: {
    ...nothing,
    from: ['running'],
    to: 'running',
    compares: ['attempt'],
    requires: ['watch-as-read'],
    raises: ['attempt'],
    sets: ['watchUntil', 'checkAt'],
    why: 'a worker takes over an expired or surrendered watch',
  },
  surrender: {
    ...nothing,
    from: ['running'],
    to: 'running',
    compares: ['attempt'],
    sets: ['watchUntil', 'checkAt'],
    why: 'a worker near its timeout hands its watch over',
  },
  progress: {
    ...nothing,
    from: ['running'],
    to: 'running',
    compares: ['attempt'],
    sets: ['progress', 'watchUntil'],
    why: 'at most once a second',
  },
  complete: {
    ...nothing,
    ...toTerminal,
    from: ['dispatching', 'running', 'needs_attention'],
    to: 'succeeded',
    compares: ['generation'],
    sets: [...ending, 'results', 'progress'],
    clears: [...spent, 'flag', 'maybeSent'],
    unbinds: true,
    why: "the vendor's word, our own copy of the picture made",
  },
  failAtVendor: {
    ...nothing,
    ...toTerminal,
    from: ['dispatching', 'running', 'needs_attention'],
    to: 'failed',
    compares: ['generation'],
    sets: [...ending, 'failure'],
    clears: [...spent, 'progress', 'flag', 'maybeSent'],
    unbinds: true,
    why: "the vendor's word",
  },
  cancelAtVendor: {
    ...nothing,
    ...toTerminal,
    from: ['dispatching', 'running', 'needs_attention'],
    to: 'canceled',
    compares: ['generation'],
    sets: ending,
    clears: [...spent, 'progress', 'flag', 'maybeSent'],
    unbinds: true,
    why: "the vendor's word",
  },
  refuse: {
    ...nothing,
    ...toTerminal,
    from: ['dispatching', 'needs_attention'],
    to: 'failed',
    compares: ['attempt'],
    requires: ['no-vendor-job', 'only-send'],
    sets: [...ending, 'failure'],
    clears: [...spent, 'flag', 'maybeSent'],
    unbinds: true,
    why: "a definitive refusal of the generation's only send",
  },
  spend: {
    ...nothing,
    ...toTerminal,
    from: ['dispatching'],
    to: 'failed',
    compares: ['attempt'],
    requires: ['no-vendor-job', 'never-unknown'],
    sets: [...ending, 'failure'],
    unbinds: true,
    clears: [...spent],
    why: 'its sends are spent, and none of them unknown',
  },
  expire: {
    ...nothing,
    ...toTerminal,
    from: ['queued'],
    to: 'failed',
    compares: ['attempt'],
    sets: [...ending, 'failure'],
    clears: [...spent],
    why: 'queued longer than its feature allows',
  },
  cancelQueued: {
    ...nothing,
    ...toTerminal,
    from: ['queued'],
    to: 'canceled',
    sets: ending,
    clears: [...spent],
    why: 'its owner, while it waits',
  },
  askToCancel: {
    ...nothing,
    from: ['dispatching', 'running', 'needs_attention'],
    to: 'same',
    setsOnce: ['cancelRequestedAt'],
    why: 'its owner; whoever accepts acts on it',
  },
  flagUnknown: {
    ...nothing,
    from: ['dispatching'],
    to: 'needs_attention',
    compares: ['attempt'],
    sets: ['flag', 'maybeSent', 'checkAt'],
    clears: ['claimToken', 'dispatchBy'],
    announces: true,
    why: 'a send that may have been taken',
  },
  flagLost: {
    ...nothing,
    from: ['running'],
    to: 'needs_attention',
    compares: ['version'],
    sets: ['flag', 'checkAt'],
    clears: ['claimToken', 'dispatchBy', 'watchUntil'],
    announces: true,
    why: 'gone at the vendor, or over its deadline',
  },
  flagRestored: {
    ...nothing,
    from: ['queued'],
    to: 'needs_attention',
    compares: ['attempt'],
    raises: ['attempt'],
    sets: ['flag', 'maybeSent', 'checkAt'],
    announces: true,
    why: 'the table was restored: it may have been sent since',
  },
  failByOperator: {
    ...nothing,
    ...toTerminal,
    from: ['queued', 'running', 'needs_attention'],
    to: 'failed',
    compares: ['version', 'generation'],
    sets: [...ending, 'failure'],
    clears: [...spent, 'progress', 'flag'],
    why: "a person; keeps a hold until it can't be running",
  },
  unbind: {
    ...nothing,
    from: ['needs_attention', 'failed'],
    to: 'same',
    compares: ['version'],
    requires: ['hold-as-read'],
    sets: ['checkAt'],
    unbinds: true,
    why: "it can't be running any more",
  },
  resend: {
    ...nothing,
    from: ['needs_attention'],
    to: 'queued',
    compares: ['version', 'generation'],
    requires: ['hold-freed'],
    raises: ['attempt', 'generation'],
    sets: ['queuedAt', 'laneClosedMs', 'checkAt'],
    clears: [
      ...takenSend,
      'tries',
      'firstTriedAt',
      'vendorJobId',
      'maybeSent',
      'cancelRequestedAt',
      'flag',
      'runUntil',
      'watchUntil',
      'progress',
      'announce',
    ],
    why: 'a person, with a reason',
  },
  fence: {
    ...nothing,
    from: ['queued'],
    to: 'queued',
    compares: ['attempt'],
    raises: ['attempt'],
    why: 'the sweep, before it frees a hold that was taken for this attempt',
  },
  look: {
    ...nothing,
    from: ['queued', 'dispatching', 'running', 'needs_attention', 'succeeded', 'failed', 'canceled'],
    to: 'same',
    compares: ['version'],
    sets: ['checkAt'],
    bookkeeping: true,
    why: 'the reconciler looked',
  },
  announced: {
    ...nothing,
    from: ['queued', 'dispatching', 'running', 'needs_attention', 'succeeded', 'failed', 'canceled'],
    to: 'same',
    requires: ['announce-as-read'],
    clears: ['announce'],
    bookkeeping: true,
    why: 'its event was sent',
  },
} as const satisfies Record<string, Row>;

export type Transition = keyof typeof lifecycle;
export const transitions = Object.keys(lifecycle) as Transition[];

/** A row seen without its literal types. */
export function rowOf(transition: Transition): Row {
  return lifecycle[transition];
}

type Leaving<S extends State> = {
  [T in Transition]: S extends (typeof lifecycle)[T]['from'][number] ? T : never;
}[Transition];

/** The states that every member of T may leave: an undecided transition accepts only what all of them accept. */
export type From<T extends Transition> = { [S in State]: [T] extends [Leaving<S>] ? S : never }[State];

type Target<T extends Transition> = (typeof lifecycle)[T]['to'];
export type To<T extends Transition> = T extends Transition ? (Target<T> extends State ? Target<T> : From<T>) : never;

type Written<T extends Transition> = (typeof lifecycle)[T]['sets' | 'setsOnce'][number];
/** What a transition is asked to write: exactly its row's fields. */
export type Change<T extends Transition> = { readonly [F in Written<T>]: NonNullable<JobFields[F]> };

/** A move as the store sees it. */
export interface AnyMove {
  readonly transition: Transition;
  /** As it was read: what the row compares comes from here. */
  readonly job: Job;
  readonly change: Partial<JobFields>;
}

export type Move<T extends Transition> = AnyMove & {
  readonly transition: T;
  readonly job: Job<From<T>>;
  readonly change: Change<T>;
};

/** One move, compiled only if the job is known to be in a state that the transition may leave. */
export function move<T extends Transition>(transition: T, job: Job<From<T>>, change: Change<T>): Move<T> {
  return { transition, job, change } as Move<T>;
}

const cleared: Partial<JobFields> = { maybeSent: false, sends: 0, tries: 0 };

/** The table applied to a stored job: what the store's condition and update do, as one pure function. */
export function advance(stored: Job, moving: AnyMove): Job | undefined {
  const row = rowOf(moving.transition);
  const { job, change } = moving;
  if (!row.from.includes(stored.state)) return undefined;
  if (row.compares.some((compared) => stored[compared] !== job[compared])) return undefined;
  if (!row.requires.every((clause) => holds(clause, stored, moving))) return undefined;
  const version = row.bookkeeping ? stored.version : stored.version + 1;
  return {
    ...stored,
    ...Object.fromEntries(row.clears.map((field) => [field, cleared[field]])),
    ...Object.fromEntries(row.sets.map((field) => [field, change[field]])),
    ...Object.fromEntries(row.setsOnce.map((field) => [field, stored[field] ?? change[field]])),
    ...(row.unbinds ? { hold: undefined } : {}),
    ...(row.announces ? { announce: version } : {}),
    ...(row.ends ? { followers: [] } : {}),
    state: row.to === 'same' ? stored.state : row.to,
    version,
    attempt: stored.attempt + (row.raises.includes('attempt') ? 1 : 0),
    generation: stored.generation + (row.raises.includes('generation') ? 1 : 0),
  } as Job;
}

function holds(clause: Clause, stored: Job, { job, change }: AnyMove): boolean {
  switch (clause) {
    case 'no-cancel':
      return stored.cancelRequestedAt === undefined;
    case 'cancel-asked':
      return stored.cancelRequestedAt !== undefined;
    case 'no-vendor-job':
      return stored.vendorJobId === undefined;
    case 'same-vendor-job':
      return stored.vendorJobId === undefined || stored.vendorJobId === change.vendorJobId;
    case 'hold-bound':
      return stored.hold !== undefined;
    case 'hold-as-read':
      return stored.hold !== undefined && stored.hold.token === job.hold?.token;
    case 'hold-freed':
      return stored.hold === undefined;
    case 'never-unknown':
      return !stored.maybeSent;
    case 'only-send':
      return stored.sends === 1;
    case 'watch-as-read':
      return stored.watchUntil === job.watchUntil;
    case 'announce-as-read':
      return stored.announce !== undefined && stored.announce === job.announce;
    default:
      return clause satisfies never;
  }
}

/** Whether the reconciler has to look at it again: the `active` index holds exactly these. */
export function isActive(job: Job): boolean {
  return !isEnded(job) || job.hold !== undefined || job.announce !== undefined;
}

/** Whether a person has to look at it: the `attention` index holds exactly these. */
export function wantsAttention(job: Job): boolean {
  return job.state === 'needs_attention' || (job.state === 'failed' && job.hold !== undefined);
}

function isEnded(job: Job): boolean {
  return job.state === 'succeeded' || job.state === 'failed' || job.state === 'canceled';
}

/** The diagram of the docs; a test compares them. */
export function toMermaid(): string {
  const rows = transitions.filter((name) => !rowOf(name).bookkeeping);
  const edges = rows.flatMap((name) => {
    const { from, to } = rowOf(name);
    return from.map((state) => `    ${state} --> ${to === 'same' ? state : to}: ${name}`);
  });
  return ['stateDiagram-v2', '    [*] --> queued: submit', ...edges].join('\n');
}

type Equal<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
/** Reviewed by the compiler: the states that something may leave for another, and that each state can be entered. */
export const everyStateIsEntered: Equal<State, 'queued' | To<Transition>> = true;
