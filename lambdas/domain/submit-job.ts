import { mayUseFeature, type Principal } from './access.ts';
import type { Catalogue, Feature, FieldError } from './catalogue.ts';
import { fingerprintOf, isSameRequest, jobIdOf, type Said } from './idempotency.ts';
import { inputKeyOf, ownerOf, type InputPicture, type Job, type JobRequest } from './job.ts';
import { closedMsUntil, type Lane } from './lane.ts';
import { withoutEnded } from './limits.ts';
import { newJob } from './new-job.ts';
import type {
  Clock,
  Doorbell,
  FileStore,
  JobStore,
  LaneStore,
  Limits,
  OpenJobs,
  OwnerStore,
  Read,
  Tokens,
} from './ports.ts';
import { receivePicture, sentSha256, type PictureProblem, type PictureReceived } from './receive-picture.ts';
import type { SentPicture } from './receive-picture.ts';
import { settlingDays } from './timing.ts';
import type { UploadStore } from './upload.ts';
import type { JsonObject } from './vendor.ts';

export interface SubmitJob {
  readonly principal: Principal;
  readonly key: string;
  readonly said: Said;
  readonly picture: SentPicture | undefined;
  readonly metadata: JsonObject | undefined;
}

export type SubmitRefusal =
  | { readonly code: 'feature_unknown' | 'feature_not_allowed' | 'consent_required' | 'metadata_too_large' }
  | { readonly code: 'parameters_invalid'; readonly errors: readonly FieldError[] }
  | { readonly code: PictureProblem; readonly detail: string | undefined }
  | { readonly code: 'active_jobs_limit' | 'submit_rate_limit'; readonly retryAfterMs: number };

export type SubmitOutcome =
  | { readonly kind: 'accepted'; readonly job: Job<'queued'>; readonly metadata: JsonObject | undefined }
  /** The key's job, whatever became of it. */
  | { readonly kind: 'replayed'; readonly job: Job }
  | { readonly kind: 'mismatch'; readonly jobId: string }
  | { readonly kind: 'erased' }
  | { readonly kind: 'refused'; readonly refusal: SubmitRefusal };

/** What went wrong without changing the answer. */
export interface SubmitNotices {
  notRung(lane: string, error: unknown): void;
  leftoversNotDeleted(error: unknown): void;
}

export interface SubmitWorld {
  readonly jobs: Pick<JobStore, 'read' | 'create' | 'putRequest' | 'deleteRequest'>;
  readonly lanes: Pick<LaneStore, 'glance'>;
  readonly owners: OwnerStore;
  readonly files: Pick<FileStore, 'get' | 'put' | 'delete'>;
  readonly uploads: Pick<UploadStore, 'read'>;
  readonly doorbell: Doorbell;
  readonly clock: Clock;
  readonly tokens: Tokens;
  readonly catalogue: Catalogue;
  readonly limits: Limits;
  readonly notices: SubmitNotices;
  /** How long a finished job is kept. */
  readonly retentionMs: number;
}

const dayMs = 86_400_000;
/** As canonical JSON, in characters. */
export const maxMetadataChars = 2_000;
const activeLimitRetryMs = 15_000;
/** Each one but the last found that another submit of the owner was first. */
const mostCounts = 5;

/**
 * One action, one job. A job that exists is answered before anything is refused or written: no limit, no new schema and
 * no expired upload may deny an app the job that its key already bought.
 */
export async function submitJob(command: SubmitJob, world: SubmitWorld): Promise<SubmitOutcome> {
  const id = jobIdOf(ownerOfCommand(command), command.key);
  const found = await world.jobs.read(id);
  if (found !== undefined) return answerFound(found, command, world);
  const prepared = await prepare(id, command, world);
  if (prepared.kind === 'refused') return unlessFound(id, prepared.refusal, command, world);
  return createJob(id, prepared, command, world);
}

interface Prepared {
  readonly kind: 'prepared';
  readonly feature: Feature;
  readonly parameters: JsonObject;
  readonly picture: PictureReceived | undefined;
  readonly lane: Lane;
  readonly rank: number;
}

type Refused = { readonly kind: 'refused'; readonly refusal: SubmitRefusal };

async function prepare(id: string, command: SubmitJob, world: SubmitWorld): Promise<Prepared | Refused> {
  const checked = checkWords(command, world.catalogue);
  if (checked.kind === 'refused') return checked;
  const { feature, parameters } = checked;
  const context = { owner: ownerOfCommand(command), now: world.clock.now() };
  const [picture, lane] = await Promise.all([
    receivePicture(command.picture, feature.picture, context, world),
    world.lanes.glance(feature.lane),
  ]);
  if (picture.kind === 'refused') return refuse({ code: picture.code, detail: picture.detail });
  const counted = await count(id, command, lane, world);
  if (counted.kind === 'refused') return counted;
  const received = picture.kind === 'received' ? picture : undefined;
  return { kind: 'prepared', feature, parameters, picture: received, lane, rank: counted.rank };
}

function checkWords(
  { principal, said, metadata }: SubmitJob,
  catalogue: Catalogue,
): Refused | { readonly kind: 'checked'; readonly feature: Feature; readonly parameters: JsonObject } {
  const feature = catalogue.named(said.feature);
  if (feature === undefined) return refuse({ code: 'feature_unknown' });
  if (!mayUseFeature(principal, feature.name)) return refuse({ code: 'feature_not_allowed' });
  if (feature.needsConsent && said.consent !== 'confirmed') return refuse({ code: 'consent_required' });
  if (JSON.stringify(metadata ?? {}).length > maxMetadataChars) return refuse({ code: 'metadata_too_large' });
  const read = feature.readParameters(said.parameters);
  if (read.kind === 'invalid') return refuse({ code: 'parameters_invalid', errors: read.errors });
  return { kind: 'checked', feature, parameters: read.parameters };
}

/** Counted before anything is stored: an owner over its limits must cost us small writes and reads, not a picture. */
async function count(
  jobId: string,
  command: SubmitJob,
  { lane, virtualTime }: Lane,
  world: SubmitWorld,
): Promise<Refused | { readonly kind: 'counted'; readonly rank: number }> {
  const { activeJobs, submitsPerMinute } = world.limits;
  const limits = { activeJobs: Math.min(activeJobs, command.principal.maxJobs ?? activeJobs), submitsPerMinute };
  const submit = { owner: ownerOfCommand(command), jobId, lane, virtualTime, now: world.clock.now() };
  let left: OpenJobs | undefined;
  for (let counts = 0; counts < mostCounts; counts += 1) {
    const counted = await world.owners.count(submit, limits, left);
    if (counted.kind === 'counted') return counted;
    if (counted.kind === 'limited') return refuse({ code: 'submit_rate_limit', retryAfterMs: counted.retryAfterMs });
    left = await withoutEnded(counted.open, limits.activeJobs, world);
    if (left === undefined) break;
  }
  await world.owners.countRefused(submit.owner, limits, submit.now);
  return refuse({ code: 'active_jobs_limit', retryAfterMs: activeLimitRetryMs });
}

async function createJob(
  id: string,
  prepared: Prepared,
  command: SubmitJob,
  world: SubmitWorld,
): Promise<SubmitOutcome> {
  const now = world.clock.now();
  const job = jobOf(id, prepared, command, world.tokens.next(), now);
  const keptMs = world.retentionMs + settlingDays * dayMs;
  // Both name the submit token: whoever loses the put below has touched nothing of the winner's.
  await Promise.all([
    prepared.picture && world.files.put(inputKeyOf(job), prepared.picture.bytes, prepared.picture.facts.contentType),
    world.jobs.putRequest(id, job.submitToken, requestOf(prepared, command, now), now + keptMs),
  ]);
  const created = await world.jobs.create(job);
  if (created.kind === 'exists') {
    await deleteLeftovers(job, world);
    return answerFound(created.found, command, world);
  }
  await ring(job, world);
  return { kind: 'accepted', job, metadata: command.metadata };
}

function jobOf(
  id: string,
  { feature, picture, lane, rank }: Prepared,
  command: SubmitJob,
  submitToken: string,
  now: number,
): Job<'queued'> {
  return newJob({
    id,
    owner: ownerOfCommand(command),
    feature: feature.name,
    vendor: feature.vendor,
    adapterVersion: feature.adapterVersion,
    lane: feature.lane,
    fingerprint: fingerprintOf(command.said, picture?.facts.sha256),
    submitToken,
    createdAt: now,
    picture: picture?.facts,
    maxQueueMs: feature.maxQueueMs,
    maxRunMs: feature.maxRunMs,
    rank,
    laneClosedMs: closedMsUntil(lane, now),
  });
}

function requestOf({ parameters }: Prepared, { said, metadata, principal }: SubmitJob, now: number): JobRequest {
  const by = principal.keyId === undefined ? principal.user : `${principal.user} (key ${principal.keyId})`;
  return { parameters, metadata, consent: said.consent === 'confirmed' ? { by, at: now } : undefined };
}

/** The job is durable by now: a lane that can't be rung costs a minute, until the reconciler rings it. */
async function ring({ lane, id }: Job, { doorbell, notices }: SubmitWorld): Promise<void> {
  try {
    await doorbell.ring(lane, id);
  } catch (error) {
    notices.notRung(lane, error);
  }
}

/** Whatever stays behind here, or where a submit died, no job names: it ends with its time. */
async function deleteLeftovers(job: Job, { files, jobs, notices }: SubmitWorld): Promise<void> {
  const deletions = [jobs.deleteRequest(job.id, job.submitToken)];
  if (job.picture !== undefined) deletions.push(files.delete(inputKeyOf(job)));
  for (const deletion of await Promise.allSettled(deletions)) {
    if (deletion.status === 'rejected') notices.leftoversNotDeleted(deletion.reason);
  }
}

/** Another request with the same key may have won meanwhile: its job, not a refusal, is then the truth. */
async function unlessFound(
  id: string,
  refusal: SubmitRefusal,
  command: SubmitJob,
  world: SubmitWorld,
): Promise<SubmitOutcome> {
  const found = await world.jobs.read(id);
  return found === undefined ? refuse(refusal) : answerFound(found, command, world);
}

async function answerFound(found: Read, command: SubmitJob, world: SubmitWorld): Promise<SubmitOutcome> {
  if (found.kind === 'erased') return { kind: 'erased' };
  const { job } = found;
  const sha256 = await comparableSha256(job.picture, command, world);
  if (!isSameRequest(job.fingerprint, fingerprintOf(command.said, sha256))) return { kind: 'mismatch', jobId: job.id };
  return { kind: 'replayed', job };
}

async function comparableSha256(
  known: InputPicture | undefined,
  command: SubmitJob,
  world: SubmitWorld,
): Promise<string | undefined> {
  if (command.picture === undefined) return undefined;
  const sent = await sentSha256(command.picture, ownerOfCommand(command), known, world);
  // Bytes that nobody can compare any more don't make it another request; a picture where there was none does.
  return sent ?? known?.sha256 ?? 'unknown';
}

function ownerOfCommand({ principal }: SubmitJob): string {
  return ownerOf(principal.tenant, principal.user);
}

function refuse(refusal: SubmitRefusal): Refused {
  return { kind: 'refused', refusal };
}
