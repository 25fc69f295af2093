import type {
  CancelAsked,
  EventRead,
  FetchedResult,
  Identified,
  RawEvent,
  Submission,
  SubmitOutcome,
  Vendor,
  VendorTraits,
  VendorWord,
} from '../../lambdas/domain/vendor.ts';

/** The smallest PNG that is one. */
const picture: Uint8Array = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
);

export const pending: VendorWord = { kind: 'pending', phase: 'running', percent: 40, stage: undefined };
export const succeeded: VendorWord = {
  kind: 'succeeded',
  result: { kind: 'url', url: 'https://vendor.test/picture', contentType: undefined },
};
export const unreachable: VendorWord = { kind: 'unreachable', message: 'no answer', retryAfterMs: undefined };

/** A vendor that says what the test told it to say, and keeps what it was sent. */
export class ToldVendor implements Vendor {
  readonly name: string;
  readonly version = 1;
  readonly find = undefined;
  readonly submissions: Submission[] = [];
  /** The vendor jobs that it was asked to cancel. */
  readonly canceled: string[] = [];
  /** By vendor job id; of any other it knows nothing. */
  readonly words = new Map<string, VendorWord>();
  /** By vendor job id: the key that it says it took it under. */
  readonly keys = new Map<string, string>();
  traits: VendorTraits = {
    dedupe: 'replay',
    dedupeMs: 86_400_000,
    absence: 'hint',
    listingLagMs: 10_000,
    maxLifeMs: 600_000,
    sendTimeoutMs: 30_000,
    maxSends: 3,
    sendWindowMs: 900_000,
  };
  outcome: SubmitOutcome = { kind: 'accepted', vendorJobId: 'vendor-job-1' };
  /** Reads callbacks; the real adapters' reading is given by the tests that need it. */
  reader: Pick<Vendor, 'readEvent'> | undefined;

  constructor(name = 'studio') {
    this.name = name;
  }

  async submit(submission: Submission): Promise<SubmitOutcome> {
    this.submissions.push(submission);
    return this.outcome;
  }

  async refreshSecret(): Promise<boolean> {
    return false;
  }

  async ask(vendorJobId: string): Promise<VendorWord> {
    return this.words.get(vendorJobId) ?? { kind: 'gone' };
  }

  async identify(vendorJobId: string): Promise<Identified> {
    return { word: await this.ask(vendorJobId), vendorKey: this.keys.get(vendorJobId) };
  }

  async *watch(vendorJobId: string): AsyncIterable<VendorWord> {
    yield await this.ask(vendorJobId);
  }

  async cancel(vendorJobId: string): Promise<CancelAsked> {
    this.canceled.push(vendorJobId);
    return 'asked';
  }

  async fetchResult(): Promise<FetchedResult> {
    return { kind: 'fetched', bytes: picture, contentType: 'image/png' };
  }

  async readEvent(event: RawEvent): Promise<EventRead> {
    if (this.reader === undefined) throw new Error('This test told the vendor nothing of events.');
    return await this.reader.readEvent(event);
  }
}
