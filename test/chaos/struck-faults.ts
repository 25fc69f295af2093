import { faultSchema } from '../../local/studio/fault.ts';
import type { Fault, Studio } from '../e2e/harness/studio.ts';

/** What a customer of the vendor would call it. */
export const faultKinds = ['drop', 'stall', 'throttle', 'silence', 'lost answer', 'disorder'] as const;
export type FaultKind = (typeof faultKinds)[number];

/** Without these, nothing was tried of what `npm run chaos` promises to try. */
export const neededKinds = ['drop', 'stall', 'throttle', 'silence'] as const satisfies readonly FaultKind[];

/** Pictures that take their time, or can't be made, are the customers' own. */
type VendorFault = Exclude<Fault, { point: 'run' }>;

export function kindOf(fault: VendorFault): FaultKind {
  switch (fault.fault) {
    case 'drop':
    case 'drop-before-accept':
    case 'drop-after-accept':
      return 'drop';
    case 'silent':
      // No stream and no webhook: the vendor tells nothing. A question without an answer holds up who asked it.
      return fault.point === 'events' || fault.point === 'webhook' ? 'silence' : 'stall';
    case 'silent-after-accept':
    case 'delay':
      return 'stall';
    case 'status':
      return fault.status === 429 ? 'throttle' : 'lost answer';
    case 'garbage-2xx':
    case 'no-id-2xx':
      return 'lost answer';
    case 'repeat':
    case 'reorder':
      return 'disorder';
  }
}

type Board = Pick<Studio, 'fault' | 'faults'>;

/** Not one that stays. */
export type CountedFault = VendorFault & { readonly times: number };

/** Which of the posted faults really struck: the vendor's board tells what is left of them. */
export class StruckFaults {
  readonly counts = new Map<FaultKind, number>(faultKinds.map((kind) => [kind, 0]));
  readonly #studio: Board;
  #posted: CountedFault[] = [];

  constructor(studio: Board) {
    this.#studio = studio;
  }

  async post(fault: CountedFault): Promise<void> {
    await this.#studio.fault(fault);
    this.#posted.push(fault);
  }

  /** To be called before the board is cleared, or lost with its studio. */
  async count(): Promise<void> {
    const left = new Map<string, number>();
    for (const { fault, timesLeft } of await this.#studio.faults()) {
      left.set(nameOf(fault), (left.get(nameOf(fault)) ?? 0) + (timesLeft ?? 0));
    }
    for (const fault of this.#posted) {
      const { times } = fault;
      const unused = Math.min(times, left.get(nameOf(fault)) ?? 0);
      left.set(nameOf(fault), (left.get(nameOf(fault)) ?? 0) - unused);
      const kind = kindOf(fault);
      this.counts.set(kind, (this.counts.get(kind) ?? 0) + times - unused);
    }
    this.#posted = [];
  }
}

/** Others post too: what the board has under the same words is ours. It fills in what was left out. */
function nameOf(fault: Fault): string {
  const { times: _, ...words } = faultSchema.parse(fault);
  return JSON.stringify(Object.entries(words).toSorted(([a], [b]) => a.localeCompare(b)));
}
