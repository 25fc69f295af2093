/** What can go wrong at one effect. */
export type Fault =
  /** The sandbox dies: before the effect, after it, or with the request still on its way. */
  | { readonly kind: 'crash_before' }
  | { readonly kind: 'crash_after' }
  | { readonly kind: 'crash_late'; readonly delayMs: number }
  /** The answer is lost; the client sends the same request again. */
  | { readonly kind: 'answer_lost'; readonly delayMs: number }
  /** The infrastructure says no, or says so although it did it. */
  | { readonly kind: 'error_before' }
  | { readonly kind: 'error_after' }
  /** Nothing happens for a while, then it goes on as if nothing had been. */
  | { readonly kind: 'stall'; readonly delayMs: number }
  /** A message that nobody ever gets. */
  | { readonly kind: 'dropped' }
  | { readonly kind: 'twice' }
  /** A send: what the vendor or the network makes of it. */
  | { readonly kind: 'vendor'; readonly answer: VendorAnswer };

/**
 * `lost`: taken, answer lost · `lost_untaken`: never arrives, nobody can tell · `late`: arrives when the sender has given
 * up · `error_taken` / `error_untaken`: a 5xx either way · `garbage`: taken, a 2xx that nobody can read.
 */
export type VendorAnswer =
  | 'accept'
  | 'throttle'
  | 'refuse'
  | 'account'
  | 'not_sent'
  | 'lost'
  | 'lost_untaken'
  | 'late'
  | 'error_taken'
  | 'error_untaken'
  | 'garbage';

export type EffectKind = 'read' | 'write' | 'ring' | 'send' | 'ask' | 'fetch' | 'publish';

export interface Effect {
  readonly number: number;
  readonly kind: EffectKind;
  readonly what: string;
  readonly actor: string;
}

/** Decides at each effect. */
export type FaultPlan = (effect: Effect) => Fault | undefined;

export const noFaults: FaultPlan = () => undefined;

/** Longer than a send may take, shorter than a shift; and longer than anything that the protocol waits for. */
export const stalls = [40_000, 200_000] as const;

const crashes: readonly Fault[] = [
  { kind: 'crash_before' },
  { kind: 'crash_after' },
  { kind: 'crash_late', delayMs: 25_000 },
];

/** Everything that Level A tries at an effect of a kind. A crash before a read is the crash after what went before it. */
export const faultsOf: Readonly<Record<EffectKind, readonly Fault[]>> = {
  read: stalls.map((delayMs) => ({ kind: 'stall', delayMs })),
  write: [
    ...crashes,
    { kind: 'crash_late', delayMs: 130_000 },
    { kind: 'answer_lost', delayMs: 300 },
    { kind: 'answer_lost', delayMs: 40_000 },
    { kind: 'error_before' },
    { kind: 'error_after' },
    ...stalls.map((delayMs) => ({ kind: 'stall', delayMs }) as const),
  ],
  ring: [...crashes, { kind: 'dropped' }, { kind: 'twice' }, { kind: 'error_before' }],
  send: [
    { kind: 'crash_before' },
    { kind: 'crash_after' },
    { kind: 'crash_late', delayMs: 4_500 },
    // To the last moment at which it may start.
    { kind: 'stall', delayMs: 9_000 },
    ...stalls.map((delayMs) => ({ kind: 'stall', delayMs }) as const),
    ...(
      [
        'throttle',
        'refuse',
        'account',
        'not_sent',
        'lost',
        'lost_untaken',
        'late',
        'error_taken',
        'error_untaken',
        'garbage',
      ] as const
    ).map((answer) => ({ kind: 'vendor', answer }) as const),
  ],
  ask: [{ kind: 'crash_before' }, { kind: 'error_before' }, { kind: 'stall', delayMs: 40_000 }],
  fetch: [{ kind: 'crash_before' }, { kind: 'error_before' }, { kind: 'dropped' }],
  publish: [{ kind: 'crash_before' }, { kind: 'crash_after' }, { kind: 'error_before' }],
};

/**
 * The crashes of which Level A tries every pair: after an effect, with the request still on its way, and the answer lost.
 * A crash before an effect is one after that sandbox's effect before it.
 */
export const crashesOf: Readonly<Record<EffectKind, readonly Fault[]>> = {
  read: [],
  write: [{ kind: 'crash_after' }, { kind: 'crash_late', delayMs: 25_000 }, { kind: 'answer_lost', delayMs: 300 }],
  ring: [{ kind: 'crash_after' }, { kind: 'crash_late', delayMs: 25_000 }, { kind: 'dropped' }],
  send: [{ kind: 'crash_after' }, { kind: 'crash_late', delayMs: 4_500 }, { kind: 'vendor', answer: 'lost' }],
  // A cancel is asked for: that is done then.
  ask: [{ kind: 'crash_after' }],
  fetch: [],
  publish: [{ kind: 'crash_after' }],
};

export function describeFault(effect: Pick<Effect, 'number' | 'what'>, fault: Fault): string {
  const detail = 'delayMs' in fault ? ` ${fault.delayMs} ms` : 'answer' in fault ? ` ${fault.answer}` : '';
  return `#${effect.number} ${effect.what}: ${fault.kind}${detail}`;
}
