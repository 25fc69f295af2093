import { afterEach, describe, expect, it } from 'vitest';
import type { Submission, SubmitOutcome, Vendor, VendorWord } from '../../lambdas/domain/vendor.ts';

/** A vendor's adapter over a vendor that does as the test says. */
export interface VendorUnderTest {
  readonly vendor: Vendor;
  /** What it is asked for; the suite varies only key, time and signal. */
  readonly order: Pick<Submission, 'feature' | 'parameters' | 'picture'>;
  /** Submits that the vendor read to the end, and the keys of the jobs that it took. */
  readonly posts: () => Promise<number>;
  readonly takenKeys: () => Promise<readonly (string | undefined)[]>;
  /** The next request at this point goes wrong, once. */
  readonly fault: (fault: VendorFault) => Promise<void>;
  /** Lets a job that the vendor took come to its end. */
  readonly finish: (vendorJobId: string) => Promise<void>;
  /** From now on the account's secret is a key that the vendor doesn't know. */
  readonly breakKey: () => void;
  /** Epoch ms of the adapter's clock, which stands still. */
  readonly now: number;
  /** The vendor is gone: nothing listens where it was. */
  readonly stop: () => Promise<void>;
}

export type VendorFault =
  | { readonly at: 'submit'; readonly how: 'drop-after-accept' | 'drop-before-accept' | 'garbage-2xx' | 'no-id-2xx' }
  | { readonly at: 'submit'; readonly how: 'status'; readonly status: number; readonly retryAfter?: string }
  | { readonly at: 'status'; readonly how: 'drop' | 'garbage-2xx' }
  | { readonly at: 'status'; readonly how: 'status'; readonly status: number }
  | { readonly at: 'events'; readonly how: 'drop' };

const running: VendorUnderTest[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((under) => under.stop()));
});

export async function started(start: () => Promise<VendorUnderTest>): Promise<VendorUnderTest> {
  const under = await start();
  running.push(under);
  return under;
}

export function submission(under: VendorUnderTest, over: Partial<Submission> = {}): Submission {
  return {
    vendorKey: 'job_a.1',
    ...under.order,
    callbackUrl: undefined,
    sendBy: under.now + 60_000,
    signal: AbortSignal.timeout(20_000),
    ...over,
  };
}

export async function accepted(under: VendorUnderTest, over: Partial<Submission> = {}): Promise<string> {
  const outcome = await under.vendor.submit(submission(under, over));
  if (outcome.kind !== 'accepted') throw new Error(`expected an accepted job, got ${JSON.stringify(outcome)}`);
  return outcome.vendorJobId;
}

export const soon = (): AbortSignal => AbortSignal.timeout(20_000);

export async function words(watched: AsyncIterable<VendorWord>): Promise<VendorWord[]> {
  const seen: VendorWord[] = [];
  for await (const word of watched) seen.push(word);
  return seen;
}

/** What every adapter owes the domain, whatever its vendor speaks. */
export function vendorContract(name: string, start: () => Promise<VendorUnderTest>): void {
  describe(`${name}: submit`, () => {
    it('is one POST under our key, and gives the vendor job id', async () => {
      const under = await started(start);
      expect(await accepted(under)).not.toBe('');
      expect(await under.posts()).toBe(1);
      expect(await under.takenKeys()).toEqual(['job_a.1']);
    });

    it.each([
      { how: 'drop-after-accept', taken: 1 },
      { how: 'drop-before-accept', taken: 0 },
      { how: 'garbage-2xx', taken: 1 },
      { how: 'no-id-2xx', taken: 1 },
    ] as const)('$how is unknown, after exactly one POST', async ({ how, taken }) => {
      const under = await started(start);
      await under.fault({ at: 'submit', how });
      const outcome = await under.vendor.submit(submission(under));
      expect(outcome).toMatchObject({ kind: 'unknown', bodySent: true, keyReused: false });
      expect(await under.posts()).toBe(1);
      expect(await under.takenKeys()).toHaveLength(taken);
    });

    it.each<{ status: number; kind: SubmitOutcome['kind'] }>([
      { status: 302, kind: 'unknown' },
      { status: 400, kind: 'refused' },
      { status: 401, kind: 'account-refused' },
      { status: 402, kind: 'account-refused' },
      { status: 403, kind: 'account-refused' },
      { status: 404, kind: 'account-refused' },
      { status: 405, kind: 'account-refused' },
      { status: 408, kind: 'unknown' },
      { status: 409, kind: 'unknown' },
      { status: 413, kind: 'refused' },
      { status: 422, kind: 'refused' },
      { status: 429, kind: 'throttled' },
      { status: 500, kind: 'unknown' },
      { status: 502, kind: 'unknown' },
      { status: 503, kind: 'unknown' },
      { status: 504, kind: 'unknown' },
    ])('status $status is $kind, after exactly one POST', async ({ status, kind }) => {
      const under = await started(start);
      await under.fault({ at: 'submit', how: 'status', status });
      const outcome = await under.vendor.submit(submission(under));
      expect(outcome.kind).toBe(kind);
      expect('message' in outcome && outcome.message).not.toBe('');
      expect(await under.posts()).toBe(1);
    });

    it('reads Retry-After in both its forms', async () => {
      const under = await started(start);
      const date = new Date(under.now + 7_000).toUTCString();
      for (const [retryAfter, expected] of [
        ['3', 3_000],
        [date, 7_000],
        ['soon', undefined],
      ] as const) {
        await under.fault({ at: 'submit', how: 'status', status: 429, retryAfter });
        const outcome = await under.vendor.submit(submission(under));
        expect(outcome).toMatchObject({ kind: 'throttled', retryAfterMs: expected });
      }
    });

    it('does not start at its sendBy', async () => {
      const under = await started(start);
      const outcome = await under.vendor.submit(submission(under, { sendBy: under.now }));
      expect(outcome).toMatchObject({ kind: 'not-sent', cause: 'too_late' });
      expect(await under.posts()).toBe(0);
    });

    it('does not start once aborted', async () => {
      const under = await started(start);
      const outcome = await under.vendor.submit(submission(under, { signal: AbortSignal.abort() }));
      expect(outcome).toMatchObject({ kind: 'not-sent', cause: 'aborted' });
      expect(await under.posts()).toBe(0);
    });

    it('is not sent where nothing listens', async () => {
      const under = await started(start);
      await under.stop();
      expect(await under.vendor.submit(submission(under))).toMatchObject({ kind: 'not-sent', cause: 'connect' });
    });

    it('with a key that the vendor does not know is refused for the account, without telling the key', async () => {
      const under = await started(start);
      under.breakKey();
      expect(await under.vendor.refreshSecret()).toBe(true);
      const outcome = await under.vendor.submit(submission(under));
      expect(outcome).toMatchObject({ kind: 'account-refused', status: 401 });
      expect(await under.takenKeys()).toEqual([]);
    });

    it('a second time under one key does what the dedupe class says', async () => {
      const under = await started(start);
      const first = await accepted(under);
      const second = await under.vendor.submit(submission(under));
      switch (under.vendor.traits.dedupe) {
        case 'replay':
          expect(second).toMatchObject({ vendorJobId: first });
          expect(await under.takenKeys()).toHaveLength(1);
          break;
        case 'reject':
          expect(second).toMatchObject({ kind: 'unknown', keyReused: true });
          expect(await under.takenKeys()).toHaveLength(1);
          break;
        case 'lookup':
        case 'none':
        case 'inflight':
          expect(await under.takenKeys()).toHaveLength(2);
      }
    });
  });

  describe(`${name}: a job that it took`, () => {
    it('is watched to its end, and its picture fetched', async () => {
      const under = await started(start);
      const id = await accepted(under);
      await under.finish(id);
      const last = (await words(under.vendor.watch(id, soon()))).at(-1);
      expect(last).toMatchObject({ kind: 'succeeded' });
      if (last?.kind !== 'succeeded') throw new Error('no result');
      expect(await under.vendor.fetchResult(last.result, soon())).toMatchObject({
        kind: 'fetched',
        contentType: expect.stringMatching(/^image\//),
      });
      expect((await under.vendor.ask(id, soon())).kind).toBe('succeeded');
    });

    it('is watched to its end although its stream breaks', async () => {
      const under = await started(start);
      const id = await accepted(under);
      await under.fault({ at: 'events', how: 'drop' });
      const watched = words(under.vendor.watch(id, soon()));
      await under.finish(id);
      expect((await watched).at(-1)).toMatchObject({ kind: 'succeeded' });
    });

    it('is told with the key that it was taken under, where it is told so', async () => {
      const under = await started(start);
      const id = await accepted(under, { vendorKey: 'job_b.2' });
      const identified = await under.vendor.identify?.(id, soon());
      expect(identified?.vendorKey ?? 'job_b.2').toBe('job_b.2');
      // Nothing holds the job up: it may have come to its end by now.
      expect(['pending', 'succeeded']).toContain(identified?.word.kind ?? 'pending');
      expect(await under.vendor.identify?.('nobody', soon())).toEqual(
        identified && { word: { kind: 'gone' }, vendorKey: undefined },
      );
    });

    it('is told only as unreachable while the vendor does not answer readably', async () => {
      const under = await started(start);
      const id = await accepted(under);
      await under.fault({ at: 'status', how: 'drop' });
      expect((await under.vendor.ask(id, soon())).kind).toBe('unreachable');
      await under.fault({ at: 'status', how: 'garbage-2xx' });
      expect((await under.vendor.ask(id, soon())).kind).toBe('unreachable');
      await under.fault({ at: 'status', how: 'status', status: 503 });
      expect((await under.vendor.ask(id, soon())).kind).toBe('unreachable');
      await under.stop();
      expect((await under.vendor.ask(id, soon())).kind).toBe('unreachable');
    });

    it('can be asked to cancel', async () => {
      const under = await started(start);
      const id = await accepted(under);
      expect(['asked', 'unsupported']).toContain(await under.vendor.cancel(id, soon()));
      await under.stop();
      expect(['unreachable', 'unsupported']).toContain(await under.vendor.cancel(id, soon()));
    });

    it('is no longer watched once the signal aborts', async () => {
      const under = await started(start);
      const id = await accepted(under);
      const controller = new AbortController();
      for await (const word of under.vendor.watch(id, controller.signal)) {
        expect(word.kind).not.toBe('gone');
        controller.abort();
      }
      expect(controller.signal.aborted).toBe(true);
    });
  });

  describe(`${name}: a job that it does not know`, () => {
    it('is gone, which ends the watch', async () => {
      const under = await started(start);
      expect(await under.vendor.ask('nobody', soon())).toEqual({ kind: 'gone' });
      expect(await words(under.vendor.watch('nobody', soon()))).toEqual([{ kind: 'gone' }]);
    });
  });

  describe(`${name}: a result`, () => {
    it.each([
      'https://elsewhere.example/picture.png',
      'http://169.254.169.254/latest/meta-data',
      'file:///etc/passwd',
      'http://[',
    ])('at %s is never fetched', async (url) => {
      const under = await started(start);
      const result = { kind: 'url', url, contentType: undefined } as const;
      expect((await under.vendor.fetchResult(result, soon())).kind).toBe('lost');
    });
  });
}
