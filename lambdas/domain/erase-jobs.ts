import type { Principal } from './access.ts';
import { announce } from './announce-job.ts';
import { cancelFound, type CancelWorld } from './cancel-job.ts';
import { isTerminal, type Job, type Tombstone } from './job.ts';
import type { FileStore, JobIndex } from './ports.ts';
import { readJob } from './read-job.ts';
import { uploadKeyOf } from './upload.ts';

export interface EraseWorld extends CancelWorld {
  readonly files: Pick<FileStore, 'delete' | 'deletePrefix'>;
  readonly index: Pick<JobIndex, 'ofOwner'>;
}

export type JobErasure =
  | { readonly kind: 'erased'; readonly id: string }
  /** It may still be running: it was asked to cancel, and has to be erased once it has ended. */
  | { readonly kind: 'pending'; readonly job: Job }
  | { readonly kind: 'absent' };

/** Only what can't be running any more is erased: what runs at a vendor must stay known until it has ended. */
export async function eraseJob(id: string, principal: Principal, world: EraseWorld): Promise<JobErasure> {
  const read = await readJob(id, principal, world.jobs);
  switch (read.kind) {
    case 'absent':
      return read;
    case 'erased':
      // Once more: a submit that lost its race may have stored its picture after the first erasure.
      await eraseData(read.tombstone, world);
      return { kind: 'erased', id };
    case 'found':
      return eraseFound(read.job, world);
  }
}

async function eraseFound(found: Job, world: EraseWorld): Promise<JobErasure> {
  await cancelFound(found, world);
  const read = await world.jobs.read(found.id);
  if (read?.kind !== 'job') return { kind: 'erased', id: found.id };
  const { job } = read;
  if (!isTerminal(job.state) || job.hold !== undefined) return { kind: 'pending', job };
  // An event that is still due goes first: afterwards nobody could say how the job ended.
  await announce(world, job);
  // The data before the job: a crash in between leaves a job that can still be found and erased, never lost pictures.
  await eraseData(job, world);
  if (job.picture?.uploadId !== undefined) {
    await world.files.delete(uploadKeyOf({ owner: job.owner, id: job.picture.uploadId }));
  }
  const erased = await world.jobs.erase(job, world.clock.now());
  return erased === 'erased' ? { kind: 'erased', id: job.id } : { kind: 'pending', job };
}

async function eraseData({ id, owner }: Pick<Job | Tombstone, 'id' | 'owner'>, world: EraseWorld): Promise<void> {
  await Promise.all([
    world.files.deletePrefix(`inputs/${owner}/${id}/`),
    world.files.deletePrefix(`results/${owner}/${id}/`),
    world.jobs.eraseSiblings(id),
  ]);
}

export interface OwnerErasure {
  readonly erased: number;
  /** Asked to cancel; to be erased once they have ended. */
  readonly pending: readonly string[];
  /** More jobs than one request erases: ask again. */
  readonly more: boolean;
}

const pageSize = 10;
const maxPages = 50;

/** Everything of one owner that is not running. Asking again is safe, and finishes what was pending. */
export async function eraseOwner(owner: string, deadline: number, world: EraseWorld): Promise<OwnerErasure> {
  const pending: string[] = [];
  let erased = 0;
  let cursor: string | undefined;
  for (let pages = 0; pages < maxPages && world.clock.now() < deadline; pages += 1) {
    const page = await world.index.ofOwner(owner, undefined, cursor, pageSize);
    const erasures = await Promise.all(page.items.map((id) => eraseListed(id, world)));
    erased += erasures.filter(({ kind }) => kind === 'erased').length;
    pending.push(...erasures.flatMap((erasure) => (erasure.kind === 'pending' ? [erasure.job.id] : [])));
    cursor = page.next;
    if (cursor === undefined) {
      await world.files.deletePrefix(`uploads/${owner}/`);
      if (pending.length === 0) await eraseUnnamed(owner, world);
      return { erased, pending, more: false };
    }
  }
  return { erased, pending, more: true };
}

/**
 * Pictures that no job names: of submits that died, and of jobs that ended by themselves. A submit of this very moment
 * may lose its picture to it, and ends as one whose input is lost: nothing is sent.
 */
async function eraseUnnamed(owner: string, { files }: EraseWorld): Promise<void> {
  await Promise.all([files.deletePrefix(`inputs/${owner}/`), files.deletePrefix(`results/${owner}/`)]);
}

/** The index may lag: a job that it still lists can be erased already. */
async function eraseListed(id: string, world: EraseWorld): Promise<JobErasure> {
  const read = await world.jobs.read(id);
  return read?.kind === 'job' ? eraseFound(read.job, world) : { kind: 'absent' };
}
