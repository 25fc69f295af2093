import * as z from 'zod';

/**
 * What each function reads from its environment: one schema per function, and nothing else is given to it.
 * The infrastructure derives a function's variables from the same schema, so a function that asks for a variable which
 * nobody provides does not compile, and none carries a variable that it never reads.
 */

const name = z.string().min(1);
const wholeNumber = z.int().nonnegative();
const slug = z.string().regex(/^[a-z][a-z0-9-]{0,31}$/, 'must be at most 32 lower-case letters, digits and dashes');

/** What the vendor does when it sees our key a second time; it decides whether an unknown outcome may be sent again. */
export const dedupeClass = z.enum(['replay', 'reject', 'lookup', 'inflight', 'none']);
export type DedupeClass = z.infer<typeof dedupeClass>;

/** What is deployed of a vendor besides its secret. Durations are milliseconds. */
export const vendorSettings = z.object({
  /** Which adapter of ours speaks to it, for example `jobs-api`. */
  adapter: slug,
  baseUrl: z.url({ protocol: /^https?$/ }),
  dedupe: dedupeClass,
  /** How long the vendor remembers our key; required by class `replay`. */
  dedupeMs: wholeNumber.optional(),
  /** `proof`: a look-up that finds nothing, after the quarantine, proves that the vendor never took the job. */
  absence: z.enum(['proof', 'hint']).optional(),
  /** How long after a send a look-up or list may still miss the job. */
  listingLagMs: wholeNumber.optional(),
  /** The longest that a job can live at the vendor, its queue included; absent where the vendor states no bound. */
  maxLifeMs: wholeNumber.optional(),
  /** HTTP timeout of a submit; for a synchronous vendor, its longest run. */
  sendTimeoutMs: wholeNumber.optional(),
  /** How many times one generation may be sent, and for how long after its first send. */
  maxSends: z.int().positive().optional(),
  sendWindowMs: wholeNumber.optional(),
  /** How often a running job is asked after, where the vendor has no stream. */
  pollMs: wholeNumber.optional(),
  /** True where the vendor calls back a URL that we send along. */
  webhooks: z.boolean().optional(),
  /** The team's word that the vendor is in a private network: plain http and private addresses are then in order. */
  privateNetwork: z.boolean().optional(),
  /** Hosts besides the one of `baseUrl` from which results may be downloaded. */
  resultHosts: z.array(name).optional(),
  /** What one accepted job costs, for the job's `charge`. */
  price: z.object({ amount: z.number().nonnegative(), currency: z.string().length(3) }).optional(),
  /** What one reconciler tick may spend on this vendor: requests at a time, requests per second, milliseconds in all. */
  reconcile: z
    .object({ concurrency: z.int().positive(), perSecond: z.number().positive(), budgetMs: z.int().positive() })
    .optional(),
  /** What only this adapter understands; the adapter parses it. */
  options: z.record(z.string(), z.json()).optional(),
});

/** What a feature of the catalogue is deployed with. */
export const featureSettings = z.object({
  vendor: slug,
  lane: slug,
  maxQueueSeconds: z.int().positive(),
  maxRunSeconds: z.int().positive(),
});

const lane = z.object({ queueUrl: z.url(), cap: wholeNumber, ceiling: z.int().positive() });
const vendor = vendorSettings.extend({ secretArn: name });

/** An issuer of bearer tokens for signed-in users; `tenantClaim` is the claim that names the tenant. */
export const issuerSettings = z.object({ issuer: z.url({ protocol: /^https?$/ }), audience: name, tenantClaim: name });

/** Per owner: unfinished jobs, submits (and uploads, by themselves) in a minute, open sockets. */
export const limitSettings = z.object({
  /** Each is a line in its owner's counter, which every submit rewrites. */
  activeJobs: z.int().positive().max(1_000),
  submitsPerMinute: z.int().positive(),
  sockets: z.int().positive(),
});

/** Days that a finished job and its pictures are kept, that the evidence of what was sent is, and the audit trail. */
export const retentionSettings = z.object({
  jobDays: z.int().positive(),
  evidenceDays: z.int().positive(),
  auditDays: z.int().positive(),
});

export type VendorSettings = z.infer<typeof vendorSettings>;
export type FeatureSettings = z.infer<typeof featureSettings>;
export type IssuerSettings = z.infer<typeof issuerSettings>;
export type LimitSettings = z.infer<typeof limitSettings>;
export type RetentionSettings = z.infer<typeof retentionSettings>;
export type DeployedLane = z.infer<typeof lane>;
export type DeployedVendor = z.infer<typeof vendor>;

/** A variable that holds compact JSON. */
function json<T extends z.ZodType>(schema: T) {
  return z
    .string()
    .transform((text, context): unknown => {
      try {
        return JSON.parse(text);
      } catch {
        context.issues.push({ code: 'custom', message: 'is not JSON', input: text });
        return z.NEVER;
      }
    })
    .pipe(schema);
}

const ENVIRONMENT = name;
const TABLE_NAME = name;
const BUCKET_NAME = name;
const FEATURES = json(z.record(slug, featureSettings));
const LANES = json(z.record(slug, lane));
const LANE = slug;
const VENDORS = json(z.record(slug, vendor));
const SIGNING_SECRET_ARN = name;
const ISSUERS = json(z.array(issuerSettings));
const LIMITS = json(limitSettings);
const RETENTION = json(retentionSettings);
const EVENT_BUS_NAME = name;
const SOCKET_URL = z.url({ protocol: /^wss?$/ });
const SOCKET_MANAGEMENT_URL = z.url({ protocol: /^https?$/ });
const PUBLIC_URL = z.url({ protocol: /^https?$/ }).regex(/[^/]$/, 'must not end with a slash');

/** Every entry that authenticates a caller: keys are in the table, our own tokens bear our signature. */
const caller = { ENVIRONMENT, TABLE_NAME, SIGNING_SECRET_ARN, ISSUERS };
/** The catalogue: a feature is known with its vendor's adapter. */
const catalogue = { FEATURES, VENDORS };
/** Every entry that shows a job: result links are signed for the bucket, places in the queue counted per lane. */
const showsJobs = { ...caller, ...catalogue, BUCKET_NAME, LANES };
/** Every entry that may end a job at its owner's word. */
const cancelsJobs = { ...showsJobs, RETENTION, EVENT_BUS_NAME, SOCKET_MANAGEMENT_URL };
/** Every function that may talk to a vendor and end a job. */
const endsJobs = {
  ENVIRONMENT,
  TABLE_NAME,
  BUCKET_NAME,
  FEATURES,
  LANES,
  VENDORS,
  SIGNING_SECRET_ARN,
  RETENTION,
  EVENT_BUS_NAME,
  SOCKET_MANAGEMENT_URL,
  PUBLIC_URL,
};

export const submitJobEnvironment = z.object({ ...showsJobs, LIMITS, RETENTION, PUBLIC_URL });
export const readJobEnvironment = z.object(showsJobs);
export const listJobsEnvironment = z.object(showsJobs);
export const cancelJobEnvironment = z.object(cancelsJobs);
export const eraseJobsEnvironment = z.object(cancelsJobs);
export const createUploadEnvironment = z.object({ ...caller, ...catalogue, BUCKET_NAME, LIMITS });
export const createClientTokenEnvironment = z.object({ ...caller, ...catalogue });
export const createSocketTicketEnvironment = z.object({ ...caller, SOCKET_URL });
export const describeApiEnvironment = z.object({ ...catalogue, ENVIRONMENT, PUBLIC_URL });
export const receiveVendorEventEnvironment = z.object(endsJobs);
export const operateJobsEnvironment = z.object({ ...endsJobs, ISSUERS });
export const operateLanesEnvironment = z.object({ ...caller, LANES, RETENTION });
export const authorizeSocketEnvironment = z.object({ ENVIRONMENT, TABLE_NAME });
export const connectSocketEnvironment = z.object({ ENVIRONMENT, TABLE_NAME, LIMITS });
export const disconnectSocketEnvironment = z.object({ ENVIRONMENT, TABLE_NAME });
export const followJobEnvironment = z.object({
  ENVIRONMENT,
  TABLE_NAME,
  BUCKET_NAME,
  FEATURES,
  LANES,
  VENDORS,
  SOCKET_MANAGEMENT_URL,
});
export const dispatchJobEnvironment = z.object({ ...endsJobs, LANE });
export const reconcileJobsEnvironment = z.object(endsJobs);

/** The environment of every function, by the function's name. */
export const functionEnvironments = {
  'submit-job': submitJobEnvironment,
  'read-job': readJobEnvironment,
  'list-jobs': listJobsEnvironment,
  'cancel-job': cancelJobEnvironment,
  'erase-jobs': eraseJobsEnvironment,
  'create-upload': createUploadEnvironment,
  'create-client-token': createClientTokenEnvironment,
  'create-socket-ticket': createSocketTicketEnvironment,
  'describe-api': describeApiEnvironment,
  'receive-vendor-event': receiveVendorEventEnvironment,
  'operate-jobs': operateJobsEnvironment,
  'operate-lanes': operateLanesEnvironment,
  'authorize-socket': authorizeSocketEnvironment,
  'connect-socket': connectSocketEnvironment,
  'disconnect-socket': disconnectSocketEnvironment,
  'follow-job': followJobEnvironment,
  'dispatch-job': dispatchJobEnvironment,
  'reconcile-jobs': reconcileJobsEnvironment,
} as const;

export type FunctionName = keyof typeof functionEnvironments;
/** The variables that a function is deployed with: the names that its schema reads. */
export type VariableOf<Name extends FunctionName> = keyof z.input<(typeof functionEnvironments)[Name]>;
/** Every variable that some function reads. */
export type VariableName = { [Name in FunctionName]: VariableOf<Name> }[FunctionName];

export type SubmitJobEnvironment = z.infer<typeof submitJobEnvironment>;
export type ReadJobEnvironment = z.infer<typeof readJobEnvironment>;
export type ListJobsEnvironment = z.infer<typeof listJobsEnvironment>;
export type CancelJobEnvironment = z.infer<typeof cancelJobEnvironment>;
export type EraseJobsEnvironment = z.infer<typeof eraseJobsEnvironment>;
export type CreateUploadEnvironment = z.infer<typeof createUploadEnvironment>;
export type CreateClientTokenEnvironment = z.infer<typeof createClientTokenEnvironment>;
export type CreateSocketTicketEnvironment = z.infer<typeof createSocketTicketEnvironment>;
export type DescribeApiEnvironment = z.infer<typeof describeApiEnvironment>;
export type ReceiveVendorEventEnvironment = z.infer<typeof receiveVendorEventEnvironment>;
export type OperateJobsEnvironment = z.infer<typeof operateJobsEnvironment>;
export type OperateLanesEnvironment = z.infer<typeof operateLanesEnvironment>;
export type AuthorizeSocketEnvironment = z.infer<typeof authorizeSocketEnvironment>;
export type ConnectSocketEnvironment = z.infer<typeof connectSocketEnvironment>;
export type DisconnectSocketEnvironment = z.infer<typeof disconnectSocketEnvironment>;
export type FollowJobEnvironment = z.infer<typeof followJobEnvironment>;
export type DispatchJobEnvironment = z.infer<typeof dispatchJobEnvironment>;
export type ReconcileJobsEnvironment = z.infer<typeof reconcileJobsEnvironment>;

/**
 * Reads a function's environment, at module load.
 * @throws Error naming every variable that is missing or wrong. Values are not repeated: an error ends in a log.
 */
export function readEnvironment<Schema extends z.ZodType>(
  schema: Schema,
  variables: Readonly<Record<string, string | undefined>> = process.env,
): z.infer<Schema> {
  const parsed = schema.safeParse(variables);
  if (parsed.success) return parsed.data;
  const wrong = parsed.error.issues.map(({ path, message }) => `  ${path.join('.')}: ${message}`);
  throw new Error(`The environment of this function is wrong:\n${wrong.join('\n')}`);
}
