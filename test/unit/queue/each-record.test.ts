import { describe, expect, it } from 'vitest';
import { eachRecord, type Message } from '../../../lambdas/queue/each-record.ts';
import { ringOf, ringText } from '../../../lambdas/queue/ring.ts';

const batchOf = (...bodies: readonly string[]) => ({
  Records: bodies.map((body, index) => ({ messageId: `m${index}`, body, eventSource: 'aws:sqs' })),
});

describe('each record of a batch', () => {
  it('is handled by itself, in order, and only those that failed go back', async () => {
    const handled: string[] = [];
    const failures: { error: unknown; message: Message }[] = [];
    const answer = await eachRecord(
      batchOf('a', 'bad', 'c', 'bad'),
      async ({ body }) => {
        handled.push(body);
        if (body === 'bad') throw new Error('not this one');
      },
      (error, message) => failures.push({ error, message }),
    );
    expect(handled).toEqual(['a', 'bad', 'c', 'bad']);
    expect(answer).toEqual({ batchItemFailures: [{ itemIdentifier: 'm1' }, { itemIdentifier: 'm3' }] });
    expect(failures.map(({ message }) => message.messageId)).toEqual(['m1', 'm3']);
    expect(failures[0]?.error).toEqual(new Error('not this one'));
  });

  it('names none where all went well', async () => {
    const answer = await eachRecord(
      batchOf('a'),
      async () => undefined,
      () => undefined,
    );
    expect(answer).toEqual({ batchItemFailures: [] });
  });

  it('refuses an event that is no batch, so that all of it comes back', async () => {
    for (const event of [undefined, {}, { Records: [{ body: 'a' }] }]) {
      await expect(
        eachRecord(
          event,
          async () => undefined,
          () => undefined,
        ),
      ).rejects.toThrow();
    }
  });
});

describe('a ring', () => {
  it('is read as it was written, and with what a newer writer adds', () => {
    for (const ring of [{ lane: 'default' }, { lane: 'default', hint: 'job_a' }]) {
      expect(ringOf(ringText(ring))).toEqual(ring);
    }
    expect(ringOf('{"lane":"default","hint":"job_a","reason":"new"}')).toEqual({ lane: 'default', hint: 'job_a' });
  });

  it.each(['', '{}', '[]', '{"lane":""}', '{"lane":"default","hint":7}'])('is not %j', (text) => {
    expect(() => ringOf(text)).toThrow();
  });
});
