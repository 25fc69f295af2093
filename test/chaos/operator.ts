import * as z from 'zod';
import type { Scene } from './scene.ts';
import type { Act } from './truth.ts';

const flaggedSchema = z.object({
  flagged: z.array(
    z.object({
      job: z.object({ id: z.string(), cancelRequestedAt: z.string().nullable() }),
      vendorKey: z.string(),
      vendorJobId: z.string().nullable(),
      generation: z.number(),
      since: z.string().nullable(),
    }),
  ),
});
type Flagged = z.infer<typeof flaggedSchema>['flagged'][number];

/** The person on call: looks the vendor's books up, and adopts what is there or buys anew what surely is not. */
export class Operator {
  readonly settled = { adopted: 0, resent: 0, ended: 0 };
  readonly acts: Act[] = [];
  readonly #scene: Scene;

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  /** @returns how many still wait for a person. */
  async round(): Promise<number> {
    const answer = await this.#scene.api.send('/api/v1/operator/flagged');
    if (answer.status !== 200) throw new Error(`The list of flagged jobs answers ${answer.status}: ${answer.text}`);
    const { flagged } = flaggedSchema.parse(JSON.parse(answer.text));
    for (const one of flagged) await this.#settle(one);
    return flagged.length;
  }

  async #settle({ job, vendorKey, vendorJobId, generation, since }: Flagged): Promise<void> {
    const { api, studio, pace } = this.#scene;
    const sold = (await studio.ledger()).accepted.find(({ key }) => key === vendorKey);
    if (sold !== undefined) {
      const { status } = await api.settle(job.id, 'adopt', { generation, vendorJobId: sold.vendorJobId });
      if (status === 200) this.#note('adopted', job.id, since);
      return;
    }
    const isOver = Date.now() - Date.parse(since ?? '') > pace.sendIsOverMs;
    if (vendorJobId !== null || !isOver) return;
    // Nobody wants it any more: it is not bought.
    const verb = job.cancelRequestedAt === null ? 'resend' : 'fail';
    const { status } = await api.settle(job.id, verb, { generation, notRunning: true });
    if (status === 200) this.#note(verb === 'resend' ? 'resent' : 'ended', job.id, since);
  }

  #note(how: keyof Operator['settled'], jobId: string, since: string | null): void {
    this.settled[how] += 1;
    this.acts.push({ jobId, flaggedAtMs: Date.parse(since ?? ''), settledAtMs: Date.now() });
  }
}
