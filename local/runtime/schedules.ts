import { randomUUID } from 'node:crypto';
import * as z from 'zod';
import type { CloudAssembly, Resource } from '../assembly/cloud-assembly.ts';
import type { BusEvent } from '../stores/events.ts';
import { matchesEventPattern } from './event-pattern.ts';
import type { Functions, LocalFunction } from './functions.ts';
import { resourcesOfType } from './identity.ts';
import type { InvokePermissions } from './invoke-permissions.ts';
import { accountId, type Resolver } from './resolve.ts';

const ruleSchema = z.object({
  ScheduleExpression: z.string().optional(),
  EventPattern: z.record(z.string(), z.unknown()).optional(),
  EventBusName: z.string().optional(),
  State: z.string().default('ENABLED'),
  Targets: z.array(z.object({ Arn: z.string(), Input: z.string().optional() })).default([]),
});
const scheduleSchema = z.object({
  ScheduleExpression: z.string(),
  State: z.string().default('ENABLED'),
  Target: z.object({ Arn: z.string(), Input: z.string().default('{}') }),
});
const invokeConfigSchema = z.object({ FunctionName: z.string(), MaximumRetryAttempts: z.coerce.number().optional() });

/** Lambda repeats a failed asynchronous invocation twice unless told otherwise: after one minute, then after two. */
const defaultRetries = 2;
const retryPauseMs = 60_000;

/** What can be invoked: a function. */
export type Invocable = Pick<LocalFunction, 'invoke'>;

interface Tick {
  readonly everyMs: number;
  readonly event: () => unknown;
  readonly function: Invocable;
  readonly retries: number;
}

interface Subscription {
  readonly bus: string;
  readonly pattern: Record<string, unknown>;
  readonly function: Invocable;
  readonly retries: number;
}

/** The template's EventBridge rules and schedules that invoke functions. */
export class Schedules {
  readonly #ticks: readonly Tick[];
  readonly #subscriptions: readonly Subscription[];
  readonly #timers = new Set<NodeJS.Timeout>();

  constructor(ticks: readonly Tick[], subscriptions: readonly Subscription[]) {
    this.#ticks = ticks;
    this.#subscriptions = subscriptions;
  }

  /** Each schedule fires at once too: what a restart lost (every queued message) its first tick brings back. */
  start(): void {
    for (const tick of this.#ticks) {
      void this.#invoke(tick.function, tick.event(), tick.retries);
      this.#timers.add(setInterval(() => void this.#invoke(tick.function, tick.event(), tick.retries), tick.everyMs));
    }
  }

  receive({ bus, ...event }: BusEvent): void {
    for (const { bus: wanted, pattern, function: target, retries } of this.#subscriptions) {
      if (bus === wanted && matchesEventPattern(pattern, event)) void this.#invoke(target, event, retries);
    }
  }

  stop(): void {
    for (const timer of this.#timers) clearInterval(timer);
    this.#timers.clear();
  }

  async #invoke(target: Invocable, event: unknown, retriesLeft: number): Promise<void> {
    const outcome = await target.invoke(event);
    if (outcome.kind === 'answered' || retriesLeft === 0) return;
    const timer = setTimeout(
      () => {
        this.#timers.delete(timer);
        void this.#invoke(target, event, retriesLeft - 1);
      },
      retryPauseMs * (defaultRetries + 1 - retriesLeft),
    );
    this.#timers.add(timer);
  }
}

/** @param everySeconds replaces every schedule's own interval, so that a test needn't wait a minute. */
export function readSchedules(
  assembly: CloudAssembly,
  resolver: Resolver,
  functions: Functions,
  permissions: InvokePermissions,
  everySeconds?: number,
): Schedules {
  const retries = readRetries(assembly, resolver, functions);
  const intervalOf = (expression: string) => (everySeconds === undefined ? rateMs(expression) : everySeconds * 1000);
  const ticks: Tick[] = [];
  const subscriptions: Subscription[] = [];
  for (const resource of resourcesOfType(assembly, 'AWS::Events::Rule')) {
    const rule = ruleSchema.parse(resolver.properties(resource));
    if (rule.State === 'DISABLED') continue;
    for (const { Arn, Input } of rule.Targets.filter((one) => one.Arn.includes(':function:'))) {
      const target = functions.byReference(Arn);
      permissions.require(target, 'events.amazonaws.com', resolver.identity(resource).attributes['Arn'] ?? '');
      const attempts = retries.get(target) ?? defaultRetries;
      if (rule.ScheduleExpression !== undefined) {
        const event = () => (Input === undefined ? scheduledEvent(resource) : (JSON.parse(Input) as unknown));
        ticks.push({ everyMs: intervalOf(rule.ScheduleExpression), event, function: target, retries: attempts });
      } else if (rule.EventPattern !== undefined) {
        const bus = rule.EventBusName?.split('/').at(-1) ?? 'default';
        subscriptions.push({ bus, pattern: rule.EventPattern, function: target, retries: attempts });
      }
    }
  }
  for (const resource of resourcesOfType(assembly, 'AWS::Scheduler::Schedule')) {
    const { ScheduleExpression, State, Target } = scheduleSchema.parse(resolver.properties(resource));
    if (State === 'DISABLED') continue;
    const target = functions.byReference(Target.Arn);
    const event = () => JSON.parse(Target.Input) as unknown;
    const attempts = retries.get(target) ?? defaultRetries;
    ticks.push({ everyMs: intervalOf(ScheduleExpression), event, function: target, retries: attempts });
  }
  return new Schedules(ticks, subscriptions);
}

function readRetries(assembly: CloudAssembly, resolver: Resolver, functions: Functions): Map<LocalFunction, number> {
  return new Map(
    resourcesOfType(assembly, 'AWS::Lambda::EventInvokeConfig').map((resource) => {
      const { FunctionName, MaximumRetryAttempts } = invokeConfigSchema.parse(resolver.properties(resource));
      return [functions.byReference(FunctionName), MaximumRetryAttempts ?? defaultRetries];
    }),
  );
}

/** @throws for `cron(…)` and `at(…)`, which nothing in the product uses. */
export function rateMs(expression: string): number {
  const [, amount, unit = ''] = /^rate\((\d+) (minute|hour|day)s?\)$/.exec(expression) ?? [];
  const unitMs = { minute: 60_000, hour: 3_600_000, day: 86_400_000 }[unit];
  if (unitMs === undefined) throw new Error(`The local runtime knows rates only, not ${expression}.`);
  return Number(amount) * unitMs;
}

function scheduledEvent({ logicalId, stackName }: Resource) {
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': 'Scheduled Event',
    source: 'aws.events',
    account: accountId,
    time: new Date().toISOString().replace(/\.\d+/, ''),
    region: 'us-east-1',
    resources: [`arn:aws:events:us-east-1:${accountId}:rule/${stackName}-${logicalId}`],
    detail: {},
  };
}
