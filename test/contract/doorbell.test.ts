import { GetQueueAttributesCommand, ReceiveMessageCommand, type SQSClient } from '@aws-sdk/client-sqs';
import { startFauxqs, type FauxqsServer } from 'fauxqs';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Doorbell } from '../../lambdas/domain/ports.ts';
import { ringOf, type Ring } from '../../lambdas/queue/ring.ts';
import { createSqs, SqsDoorbell } from '../../lambdas/queue/sqs-doorbell.ts';
import { MemoryDoorbell } from '../fakes/memory-doorbell.ts';

const lanes = ['default', 'other'] as const;
type LaneName = (typeof lanes)[number];

let server: FauxqsServer;
let sqs: SQSClient;
let urls: Readonly<Record<LaneName, string>>;
let queues = 0;
beforeAll(async () => {
  server = await startFauxqs({ port: 0, logger: false });
  sqs = createSqs({
    endpoint: `http://127.0.0.1:${server.port}`,
    region: 'us-east-1',
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
  });
});
afterAll(async () => {
  sqs.destroy();
  await server.stop();
});

interface Subject {
  readonly doorbell: Doorbell;
  /** The rings that can be heard now. */
  readonly heard: (lane: LaneName) => Promise<readonly Ring[]>;
  /** How many will be heard later. */
  readonly delayed: (lane: LaneName) => Promise<number>;
}

async function memory(): Promise<Subject> {
  const doorbell = new MemoryDoorbell();
  const of = (lane: LaneName) => doorbell.rings.filter((ring) => ring.lane === lane);
  const asRing = ({ lane, hint }: { lane: string; hint: string | undefined }) =>
    hint === undefined ? { lane } : { lane, hint };
  return {
    doorbell,
    heard: async (lane) => of(lane).flatMap((ring) => (ring.delayMs > 0 ? [] : [asRing(ring)])),
    delayed: async (lane) => of(lane).filter(({ delayMs }) => delayMs > 0).length,
  };
}

async function overSqs(): Promise<Subject> {
  queues += 1;
  for (const lane of lanes) server.createQueue(`${lane}-${queues}`);
  const urlOf = (lane: LaneName) => `http://127.0.0.1:${server.port}/000000000000/${lane}-${queues}`;
  urls = { default: urlOf('default'), other: urlOf('other') };
  return {
    doorbell: new SqsDoorbell(sqs, urls),
    heard: async (lane) => {
      const { Messages } = await sqs.send(new ReceiveMessageCommand({ QueueUrl: urls[lane], MaxNumberOfMessages: 10 }));
      return (Messages ?? []).map(({ Body }) => ringOf(Body ?? ''));
    },
    delayed: async (lane) => {
      const name = 'ApproximateNumberOfMessagesDelayed';
      const asked = new GetQueueAttributesCommand({ QueueUrl: urls[lane], AttributeNames: [name] });
      return Number((await sqs.send(asked)).Attributes?.[name]);
    },
  };
}

describe.each([
  ['MemoryDoorbell', memory],
  ['SqsDoorbell', overSqs],
])('%s', (_, create) => {
  let subject: Subject;
  beforeEach(async () => {
    subject = await create();
  });

  it('rings one lane, with or without a hint', async () => {
    await subject.doorbell.ring('default', 'job_a');
    await subject.doorbell.ring('default', undefined);
    const heard = await subject.heard('default');
    expect(heard).toHaveLength(2);
    expect(heard).toEqual(expect.arrayContaining([{ lane: 'default', hint: 'job_a' }, { lane: 'default' }]));
    expect(await subject.heard('other')).toEqual([]);
  });

  it('rings later, however much later', async () => {
    for (const delayMs of [1, 60_000, 86_400_000]) await subject.doorbell.ring('other', 'job_a', delayMs);
    expect(await subject.delayed('other')).toBe(3);
    await subject.doorbell.ring('other', 'job_b', 0);
    await subject.doorbell.ring('other', 'job_b', -5);
    expect(await subject.heard('other')).toEqual([
      { lane: 'other', hint: 'job_b' },
      { lane: 'other', hint: 'job_b' },
    ]);
  });
});

describe('SqsDoorbell', () => {
  it('throws for a lane without a queue', async () => {
    await expect(new SqsDoorbell(sqs, {}).ring('nowhere', undefined)).rejects.toThrow('no queue for lane nowhere');
  });
});
