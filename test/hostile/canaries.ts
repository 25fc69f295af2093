import { jobIdOf } from '../../lambdas/domain/idempotency.ts';
import { ownerOf, resultKeyOf, type Job, type JobFields, type State } from '../../lambdas/domain/job.ts';
import { uploadKeyOf } from '../../lambdas/domain/upload.ts';
import type { MemoryEvidenceStore } from '../fakes/memory-evidence-store.ts';
import type { MemoryFileStore } from '../fakes/memory-file-store.ts';
import type { MemoryJobStore } from '../fakes/memory-job-store.ts';
import type { MemoryLaneStore } from '../fakes/memory-lane-store.ts';
import type { MemoryUploadStore } from '../fakes/memory-upload-store.ts';
import { noon, storedJob } from '../fixtures/stored-job.ts';

/** Jobs of several owners, each full of a word that nobody but those who may see the owner must ever be told. */

export interface Resident {
  readonly tenant: string;
  readonly user: string;
  readonly owner: string;
  readonly canary: string;
}

const resident = (tenant: string, user: string, canary: string): Resident => ({
  tenant,
  user,
  owner: ownerOf(tenant, user),
  canary,
});

/** `an` is a beginning of `ann`: what is erased or listed by a prefix must not take the neighbour's too. */
export const residents: readonly Resident[] = [
  resident('acme', 'ann', 'canary-tulip'),
  resident('acme', 'an', 'canary-poppy'),
  resident('acme', 'ben', 'canary-daisy'),
  resident('acme', '-', 'canary-lilac'),
  resident('evil', 'ann', 'canary-thorn'),
  resident('evil', '-', 'canary-nettle'),
];

const statesHeld: readonly State[] = ['queued', 'running', 'needs_attention', 'succeeded', 'failed'];

/** The key under which the owner submitted its job of this state. */
export const keyOf = (state: State): string => `key-${state}`;
export const idOf = ({ owner }: Resident, state: State): string => jobIdOf(owner, keyOf(state));
export const uploadIdOf = ({ tenant, user }: Resident): string => `upl_${tenant}_${user}`;
export const allIds: readonly string[] = residents.flatMap((one) => statesHeld.map((state) => idOf(one, state)));

export interface Stores {
  readonly jobs: MemoryJobStore;
  readonly lanes: MemoryLaneStore;
  readonly files: MemoryFileStore;
  readonly uploads: MemoryUploadStore;
  readonly evidence: MemoryEvidenceStore;
}

export async function moveIn(stores: Stores, photo: Uint8Array): Promise<void> {
  for (const one of residents) {
    for (const state of statesHeld) await putJob(one, state, stores);
    const upload = { id: uploadIdOf(one), owner: one.owner, contentType: 'image/jpeg', bytes: photo.length };
    await stores.uploads.put({ ...upload, sha256: undefined, createdAt: noon, expiresAt: noon + 86_400_000 });
    await stores.files.put(uploadKeyOf(upload), photo, 'image/jpeg');
  }
}

async function putJob(one: Resident, state: State, { jobs, lanes, files, evidence }: Stores): Promise<void> {
  const { owner, canary } = one;
  const job = jobOf(one, state);
  jobs.put(job);
  const metadata = { note: canary };
  await jobs.putRequest(job.id, job.submitToken, { parameters: { style: canary }, metadata, consent: undefined });
  await files.put(`inputs/${owner}/${job.id}/${job.submitToken}`, Buffer.from(canary), 'image/jpeg');
  for (const { key } of job.results) await files.put(key, Buffer.from(canary), 'image/png');
  const said = { at: noon, attempt: 1, generation: 1, vendorKey: `${job.id}.1`, what: 'noted', detail: metadata };
  await evidence.add(job.id, said);
  if (job.hold === undefined) return;
  const lane = lanes.get(job.lane);
  const unit = { jobId: job.id, attempt: job.attempt, acquiredAt: noon };
  lanes.put({ ...lane, held: { ...lane.held, [job.hold.token]: unit } });
}

function jobOf(one: Resident, state: State): Job {
  const { owner, canary } = one;
  const id = idOf(one, state);
  const fields: Partial<JobFields> = {
    id,
    owner,
    submitToken: `submit-of-${canary}`,
    followers: [`socket-of-${canary}`],
  };
  const plain = storedJob(state, fields);
  const vendorJobId = plain.vendorJobId === undefined ? {} : { vendorJobId: `vendor-${state}-${canary}` };
  const hold = plain.hold === undefined ? {} : { hold: { token: `hold-${state}-${canary}` } };
  const progress = plain.progress === undefined ? {} : { progress: { ...plain.progress, stage: canary } };
  const failure = plain.failure === undefined ? {} : { failure: { ...plain.failure, message: canary } };
  const results = plain.results.map((each) => ({ ...each, key: resultKeyOf({ owner, id, generation: 1 }, 0) }));
  return storedJob(state, { ...fields, ...vendorJobId, ...hold, ...progress, ...failure, results });
}
