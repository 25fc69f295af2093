import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import * as z from 'zod';
import { maxCap } from '../lambdas/domain/lane.ts';
import { settlingDays } from '../lambdas/domain/timing.ts';
import {
  featureSettings,
  issuerSettings,
  limitSettings,
  retentionSettings,
  vendorSettings,
} from '../lambdas/runtime/env.ts';
import { wrongWithJobsApiOptions } from '../lambdas/vendors/jobs-api-options.ts';
import { workerSeconds } from './functions.ts';
import { environmentSettings } from './settings.ts';

/** The account's alarms go nowhere, or to these addresses. Each address must confirm its subscription once. */
const alarmDestinations = z.union([z.literal('none'), z.strictObject({ emails: z.array(z.email()).min(1) })]);

/** What Lambda runs at once in a fresh account: too few to reserve any. */
const smallestQuota = 10;

/** A worker that is stopped in mid-send leaves a paid request that nobody knows the answer of; the copy takes time, too. */
const longestSendMs = (workerSeconds - 60) * 1_000;

/** Of lanes, vendors and features: what the functions take as one. */
const name = featureSettings.shape.lane;

const lane = z
  .strictObject({
    /**
     * How many jobs the vendor may be running for us. The lane takes it over with the first tick after a deployment that
     * changes it; what an operator sets at run time holds until then.
     */
    cap: z.int().nonnegative(),
    /** The most that the cap can be raised to without a deployment: the lane's workers. */
    ceiling: z.int().min(1).max(maxCap, `must be at most ${maxCap}: a larger pool is two lanes`),
  })
  .refine(({ cap, ceiling }) => cap <= ceiling, { path: ['cap'], error: 'must not be above the ceiling' });

const vendor = z
  .strictObject(vendorSettings.shape)
  .refine(({ dedupe, dedupeMs }) => dedupe !== 'replay' || (dedupeMs ?? 0) > 0, {
    path: ['dedupeMs'],
    error: 'is required by class replay: how long the vendor remembers our key',
  })
  .refine(({ sendTimeoutMs = 0 }) => sendTimeoutMs <= longestSendMs, {
    path: ['sendTimeoutMs'],
    error: `must be at most ${longestSendMs}: a worker has to live to the answer's end`,
  })
  .refine(({ baseUrl, privateNetwork }) => privateNetwork === true || isHttpsOrLoopback(baseUrl), {
    path: ['baseUrl'],
    error: 'must be https, unless the vendor is on this machine or privateNetwork is true',
  })
  // Else each function would refuse it when it starts. A team's own adapter reads its options itself.
  .check(({ value, issues }) => {
    if (value.adapter !== 'jobs-api') return;
    const input = value.options ?? {};
    for (const message of wrongWithJobsApiOptions(input, value.dedupe))
      issues.push({ code: 'custom', path: ['options'], input, message });
  });

const corsOrigin = z.union([
  z.literal('*'),
  z.url({ protocol: /^https?$/ }).regex(/[^/]$/, 'must not end with a slash'),
]);

const retention = z
  .strictObject({ ...retentionSettings.shape, logDays: z.enum(RetentionDays) })
  .refine(({ jobDays, evidenceDays }) => evidenceDays >= jobDays + settlingDays, {
    path: ['evidenceDays'],
    error: `must be at least jobDays + ${settlingDays}: a person settles a flagged job by its evidence`,
  });

const protection = z.union([z.boolean(), z.strictObject({ restoredTable: z.string().regex(/^[\w.-]{3,255}$/) })], {
  error: 'must be true, false, or since a restore { restoredTable: "…" }',
});

const environment = z
  .strictObject({
    /** Lambda's "Concurrent executions" of the account and region (Service Quotas). */
    accountConcurrencyQuota: z.int().min(smallestQuota),
    lanes: z.record(name, lane).refine((lanes) => Object.keys(lanes).length > 0, 'needs at least one lane'),
    vendors: z.record(name, vendor),
    features: z.record(name, z.strictObject(featureSettings.shape)),
    retention,
    limits: z.strictObject(limitSettings.shape),
    alarms: alarmDestinations,
    corsOrigins: z.array(corsOrigin).min(1),
    issuers: z.array(z.strictObject(issuerSettings.shape)),
    /** Our own names for the two APIs; the certificate is in this region and covers both. DNS stays with the team. */
    domain: z.strictObject({ api: z.hostname(), socket: z.hostname(), certificateArn: z.string().min(1) }).optional(),
    /** Of the HTTP API and of the socket API, each: requests per second, and how many at once. */
    throttle: z.strictObject({ perSecond: z.int().positive(), burst: z.int().positive() }),
    /** Needs the account-wide API Gateway CloudWatch role, which one stack must not own: hence opt-in. */
    socketAccessLogs: z.boolean(),
    /**
     * True where losing the data would matter: it then survives the stack's deletion, and can be restored. Since a restore
     * it names the table that is used in the place of the one that the data stack made and goes on to own.
     */
    protectData: protection,
    reconcileEveryMinutes: z.int().min(1).max(5),
  })
  .check(({ value, issues }) => {
    for (const [feature, { lane, vendor }] of Object.entries(value.features)) {
      if (!(lane in value.lanes)) issues.push(unknownName(['features', feature, 'lane'], lane, value.lanes));
      if (!(vendor in value.vendors)) issues.push(unknownName(['features', feature, 'vendor'], vendor, value.vendors));
    }
  });

export const environmentNames = ['local', 'dev', 'staging', 'prod'] as const;
export type EnvironmentName = (typeof environmentNames)[number];
export type EnvironmentSettings = z.input<typeof environment>;
export type Environment = z.infer<typeof environment> & { readonly name: EnvironmentName };

/**
 * @param studioUrl where the embedded vendor of the local environment listens
 * @throws Error naming the environments that exist, or every wrong setting by its path
 */
export function environmentNamed(name: string, studioUrl?: string): Environment {
  const known = environmentNames.find((candidate) => candidate === name);
  if (known === undefined) throw new Error(`No environment "${name}": there are ${environmentNames.join(', ')}.`);
  return parseEnvironment(known, environmentSettings(studioUrl)[known]);
}

/** @throws Error naming every wrong setting by its path, for example `dev.lanes.default.cap` */
export function parseEnvironment(name: EnvironmentName, settings: unknown): Environment {
  const parsed = environment
    .refine((parsed) => restoredTableOf(parsed)?.startsWith(tablePrefix(name)) !== false, {
      path: ['protectData', 'restoredTable'],
      error: `must begin with ${tablePrefix(name)}: the tools then see two tables, and ask which`,
    })
    .safeParse(settings);
  if (parsed.success) return { ...parsed.data, name };
  const wrong = parsed.error.issues.map((issue) => `  ${[name, ...issue.path].join('.')}: ${explain(issue)}`);
  throw new Error(`The settings of environment ${name} are wrong (lib/settings.ts):\n${wrong.join('\n')}`);
}

export function restoredTableOf({ protectData }: Pick<Environment, 'protectData'>): string | undefined {
  return typeof protectData === 'object' ? protectData.restoredTable : undefined;
}

/** How CloudFormation begins the name of the data stack's table. A tool that finds one table by it takes that one. */
function tablePrefix(name: EnvironmentName): string {
  return `Slowlane-${name}-data-`;
}

/** Of a name that can't be one, zod's own message says no more than that. */
function explain(issue: z.core.$ZodIssue): string {
  return issue.code === 'invalid_key' ? (issue.issues[0]?.message ?? issue.message) : issue.message;
}

function isHttpsOrLoopback(baseUrl: string): boolean {
  const { protocol, hostname } = new URL(baseUrl);
  return protocol === 'https:' || hostname === 'localhost' || hostname === '[::1]' || hostname.startsWith('127.');
}

function unknownName(path: string[], input: string, known: object): z.core.$ZodRawIssue {
  return { code: 'custom', path, input, message: `"${input}" is none of ${Object.keys(known).join(', ') || '(none)'}` };
}
