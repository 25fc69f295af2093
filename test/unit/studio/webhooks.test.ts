import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';

import { developmentWebhookSecret } from '../../../local/studio/settings.ts';
import { eventually, openStudio } from './studio-client.ts';
import type { ReceivedWebhook } from './webhook-receiver.ts';
import { openReceiver } from './webhook-receiver.ts';

const arrived = (received: readonly ReceivedWebhook[], count: number) =>
  eventually(async () => (received.length >= count ? true : undefined), `${count} webhooks`);

test('a start and an end are told, signed as Standard Webhooks, with the vendor key', async () => {
  const studio = await openStudio();
  const receiver = await openReceiver();
  await studio.fault({ point: 'run', fault: 'slow', seconds: 600 });
  const { id } = await studio.accepted({ key: 'job_a.1', callbackUrl: receiver.url, prefix: '/blind' });
  await arrived(receiver.received, 1);
  await studio.clearFaults();
  await arrived(receiver.received, 2);

  expect(receiver.jobStatuses()).toEqual(['running', 'succeeded']);
  expect(new Set(receiver.received.map((webhook) => webhook.id)).size).toBe(2);
  const [, ended] = receiver.received;
  expect(ended?.job).toEqual(await studio.job(id, '/blind'));
  expect(ended?.job.key).toBe('job_a.1');
  for (const { id: messageId, timestamp, signature, body } of receiver.received) {
    const key = Buffer.from(developmentWebhookSecret.replace('whsec_', ''), 'base64');
    const hmac = createHmac('sha256', key).update(`${messageId}.${timestamp}.${body}`).digest('base64');
    expect(signature).toBe(`v1,${hmac}`);
    expect(Math.abs(Date.now() / 1_000 - Number(timestamp))).toBeLessThan(60);
  }
});

test('a failed and a canceled end are told too', async () => {
  const studio = await openStudio();
  const receiver = await openReceiver();
  await studio.fault({ point: 'run', fault: 'fail', error: 'no film left', times: 1 });
  await studio.accepted({ callbackUrl: receiver.url });
  await arrived(receiver.received, 2);
  await studio.fault({ point: 'run', fault: 'slow', seconds: 60, times: 1 });
  const { id } = await studio.accepted({ callbackUrl: receiver.url });
  await studio.jobWith(id, 'running');
  await studio.cancel(id);
  await arrived(receiver.received, 4);
  expect(receiver.jobStatuses().toSorted()).toEqual(['canceled', 'failed', 'running', 'running']);
});

test('what the receiver does not take is sent again, under the same id', async () => {
  const studio = await openStudio();
  const receiver = await openReceiver([500, 302, 500]);
  await studio.fault({ point: 'run', fault: 'slow', seconds: 60, times: 1 });
  const { id } = await studio.accepted({ callbackUrl: receiver.url });
  await arrived(receiver.received, 4);
  expect(new Set(receiver.received.map((webhook) => webhook.id)).size).toBe(1);
  await studio.cancel(id);
  await arrived(receiver.received, 5);
});

test('a message is given up after its last try', async () => {
  const studio = await openStudio();
  const receiver = await openReceiver([500, 500, 500, 500]);
  await studio.fault({ point: 'run', fault: 'slow', seconds: 60, times: 1 });
  const { id } = await studio.accepted({ callbackUrl: receiver.url });
  await arrived(receiver.received, 4);
  await studio.cancel(id);
  await eventually(async () => (receiver.jobStatuses().includes('canceled') ? true : undefined), 'the end');
  expect(receiver.jobStatuses()).toEqual(['running', 'running', 'running', 'running', 'canceled']);
});

test('silent loses a message for good', async () => {
  const studio = await openStudio();
  const receiver = await openReceiver();
  await studio.fault({ point: 'webhook', fault: 'silent', times: 1 });
  await studio.accepted({ callbackUrl: receiver.url });
  await arrived(receiver.received, 1);
  expect(receiver.jobStatuses()).toEqual(['succeeded']);
});

test('drop breaks off in mid-body, then tries again', async () => {
  const studio = await openStudio();
  const receiver = await openReceiver();
  await studio.fault({ point: 'webhook', fault: 'drop', times: 1 });
  await studio.accepted({ callbackUrl: receiver.url });
  await arrived(receiver.received, 2);
  expect(receiver.broken).toHaveLength(1);
  expect(receiver.received.map((webhook) => webhook.id)).toContain(receiver.broken[0]);
});

test('status takes the answer for another, and sends again', async () => {
  const studio = await openStudio();
  const receiver = await openReceiver();
  await studio.fault({ point: 'webhook', fault: 'status', status: 500, times: 1 });
  await studio.accepted({ callbackUrl: receiver.url });
  await arrived(receiver.received, 3);
  expect(receiver.jobStatuses().toSorted()).toEqual(['running', 'running', 'succeeded']);
});

test('repeat sends a message twice', async () => {
  const studio = await openStudio();
  const receiver = await openReceiver();
  await studio.fault({ point: 'webhook', fault: 'repeat' });
  await studio.accepted({ callbackUrl: receiver.url });
  await arrived(receiver.received, 4);
  expect(receiver.jobStatuses().toSorted()).toEqual(['running', 'running', 'succeeded', 'succeeded']);
});

test('reorder tells the end before the start', async () => {
  const studio = await openStudio();
  const receiver = await openReceiver();
  await studio.fault({ point: 'webhook', fault: 'reorder' });
  await studio.accepted({ callbackUrl: receiver.url });
  await arrived(receiver.received, 2);
  expect(receiver.jobStatuses()).toEqual(['succeeded', 'running']);
});

test('delay sends late', async () => {
  const studio = await openStudio();
  const receiver = await openReceiver();
  await studio.fault({ point: 'webhook', fault: 'delay', seconds: 3_600 });
  const { id } = await studio.accepted({ callbackUrl: receiver.url });
  await studio.jobWith(id, 'succeeded');
  expect(receiver.received).toEqual([]);
  await studio.clearFaults();
  await arrived(receiver.received, 2);
});
