import type { Job } from './job.ts';
import { move } from './lifecycle.ts';
import type { World } from './world.ts';

type Announcing = Pick<World, 'bus' | 'jobs' | 'notices'>;

/**
 * An outbox of one: the transition wrote which version has to be announced, and only a sent event clears it. A crash in
 * between sends it again under the same id.
 */
export async function announce(world: Announcing, job: Job): Promise<void> {
  const version = job.announce;
  if (version === undefined) return;
  await world.bus.publish({ id: `${job.id}.${version}`, at: job.finishedAt ?? job.flag?.since ?? job.createdAt, job });
  await world.jobs.move(move('announced', job, {}));
  world.notices.note({ kind: 'announced', job });
}
