import { readFileSync } from 'node:fs';
import type { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, test } from 'vitest';
import { environmentWith, onlyResource, type Resource, resourcesOf, synthesize, templatesOf } from './synthesized.ts';

const alarm = 'AWS::CloudWatch::Alarm';
const alarms = Object.entries(resourcesOf(templatesOf('prod').gateway, alarm));

/** As GitHub makes it. */
function anchorOf(heading: string): string {
  return heading.toLowerCase().replaceAll(' ', '-');
}

function alarmOn(part: string) {
  return onlyResource(templatesOf('prod').gateway, alarm, `Alarms${part}`).Properties;
}

interface Watched {
  /** In seconds. */
  readonly Period: number;
  readonly TreatMissingData: string;
}

/** Logical ids of what an alarm notifies. */
function targetsOf({ Properties }: Resource): string[] {
  const actions = ['AlarmActions', 'OKActions', 'InsufficientDataActions'].flatMap((kind) => Properties[kind] ?? []);
  return (actions as { Ref: string }[]).map(({ Ref }) => Ref);
}

/** All statements of a topic's policies. */
function policyOf(template: Template, topic: string): unknown[] {
  const policies = Object.values(resourcesOf(template, 'AWS::SNS::TopicPolicy'))
    .map(({ Properties }) => Properties as { Topics: { Ref: string }[]; PolicyDocument: { Statement: unknown[] } })
    .filter(({ Topics }) => Topics.some(({ Ref }) => Ref === topic));
  return policies.flatMap(({ PolicyDocument }) => PolicyDocument.Statement);
}

/** A topic with a policy of its own has lost the one by which SNS lets its account's alarms publish. */
function allowAlarms(topic: string) {
  const parts = ['arn:', { Ref: 'AWS::Partition' }, ':cloudwatch:', { Ref: 'AWS::Region' }, ':'];
  const anyAlarm = [...parts, { Ref: 'AWS::AccountId' }, ':alarm:*'];
  return expect.objectContaining({
    Effect: 'Allow',
    Action: 'sns:Publish',
    Principal: { Service: 'cloudwatch.amazonaws.com' },
    Resource: { Ref: topic },
    Condition: {
      StringEquals: { 'aws:SourceAccount': { Ref: 'AWS::AccountId' } },
      ArnLike: { 'aws:SourceArn': { 'Fn::Join': ['', anyAlarm] } },
    },
  });
}

describe('alarms', () => {
  test('watch everything that loses money, time or truth', () => {
    const watched = alarms.map(([id]) => id.replace(/^GatewayAlarms(.*?)(default)?Alarm[0-9A-F]{8}$/, '$1'));
    expect(watched.toSorted()).toEqual([
      'ApiErrors',
      'DeadLetters',
      'FailedRings',
      'FlaggedJobs',
      'JobsWithoutHold',
      'LaneTripped',
      'NewlyFlaggedJobs',
      'QueueAge',
      'ReconcilerFailing',
      'ReconcilerNotRunning',
      'UnreconciledJobs',
      'VendorConflicts',
      'WorkerErrors',
    ]);
  });

  test.each(alarms)('%s says what it means and what to do, and tells somebody both ways', (_id, { Properties }) => {
    expect(Properties['AlarmDescription']).toMatch(/^[A-Z].*[.] What to do: docs\/runbook\.md#[a-z-]+$/);
    expect(Properties['AlarmActions']).toEqual([{ Ref: expect.stringContaining('Topic') }]);
    expect(Properties['OKActions']).toEqual(Properties['AlarmActions']);
  });

  test.each(['local', 'dev', 'staging', 'prod'] as const)(
    'reach somebody in %s: each topic that they go to lets the alarms of this account publish',
    (name) => {
      const { gateway } = templatesOf(name);
      const targets = new Set(Object.values(resourcesOf(gateway, alarm)).flatMap(targetsOf));
      expect(targets.size).toBe(1);
      for (const topic of targets) expect(policyOf(gateway, topic)).toContainEqual(allowAlarms(topic));
    },
  );

  test('lead to a section of the runbook that exists', () => {
    const runbook = readFileSync(new URL('../../docs/runbook.md', import.meta.url), 'utf8');
    const sections = [...runbook.matchAll(/^## (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));
    const linked = new Set(
      alarms.map(([, { Properties }]) => /#(.*)$/.exec(String(Properties['AlarmDescription']))?.[1]),
    );
    expect(sections).toEqual(expect.arrayContaining([...linked]));
  });

  test('a silent reconciler neither settles flagged jobs nor stays unnoticed', () => {
    expect(alarmOn('FlaggedJobs')).toMatchObject({ TreatMissingData: 'ignore', Threshold: 1 });
    expect(alarmOn('ReconcilerNotRunning')).toMatchObject({
      TreatMissingData: 'breaching',
      Threshold: 1,
      ComparisonOperator: 'LessThanThreshold',
      MetricName: 'Invocations',
    });
  });

  describe.each([1, 5])('with a tick every %d minutes', (reconcileEveryMinutes) => {
    const { gateway } = synthesize(environmentWith({ reconcileEveryMinutes }));
    const on = (part: string) => onlyResource(gateway, alarm, `Alarms${part}`).Properties as unknown as Watched;
    const interval = reconcileEveryMinutes * 60;

    test('three failed ticks of five are an alarm, as are five that never came', () => {
      expect(on('ReconcilerFailing')).toMatchObject({ Period: 5 * interval, EvaluationPeriods: 1, Threshold: 3 });
      expect(on('ReconcilerNotRunning')).toMatchObject({ Period: 5 * interval, EvaluationPeriods: 1, Threshold: 1 });
    });

    test('so is a job that three ticks in a row found three intervals late', () => {
      const expected = { Period: interval, EvaluationPeriods: 3, Threshold: 3 * interval * 1000 };
      expect(on('UnreconciledJobs')).toMatchObject(expected);
    });

    test('each that watches what ticks write hears from one in every period, or waits for the next', () => {
      const ofTicks = ['UnreconciledJobs', 'ReconcilerFailing', 'ReconcilerNotRunning', 'JobsWithoutHold'];
      for (const part of ofTicks) expect(on(part).Period).toBeGreaterThanOrEqual(interval);
      for (const part of ['FlaggedJobs', 'LaneTripped']) expect(on(part).TreatMissingData).toBe('ignore');
    });
  });

  test('are per environment and per lane', () => {
    expect(alarmOn('LaneTripped')['Dimensions']).toEqual([
      { Name: 'Environment', Value: 'prod' },
      { Name: 'Lane', Value: 'default' },
    ]);
    expect(alarmOn('UnreconciledJobs')['Dimensions']).toEqual([{ Name: 'Environment', Value: 'prod' }]);
  });

  test('each lane has its own', () => {
    const lanes = { default: { cap: 2, ceiling: 4 }, slow: { cap: 1, ceiling: 2 } };
    const ids = Object.keys(resourcesOf(synthesize(environmentWith({ lanes })).gateway, alarm));
    expect(ids.filter((id) => id.includes('slow'))).toHaveLength(ids.filter((id) => id.includes('default')).length);
  });

  test('go to the addresses of the environment, or nowhere', () => {
    const subscription = 'AWS::SNS::Subscription';
    expect(onlyResource(templatesOf('prod').gateway, subscription).Properties).toMatchObject({
      Protocol: 'email',
      Endpoint: 'images-on-call@example.com',
    });
    expect(resourcesOf(templatesOf('local').gateway, subscription)).toEqual({});
  });
});

test('the dashboard answers its four questions from top to bottom', () => {
  const { DashboardBody } = onlyResource(templatesOf('prod').gateway, 'AWS::CloudWatch::Dashboard').Properties;
  const questions = JSON.stringify(DashboardBody).match(/## [^?]*\?/g);
  expect(questions).toEqual([
    '## Are users waiting?',
    '## Are we losing money?',
    '## Is the vendor well?',
    '## Is the cap right?',
  ]);
});
