import * as z from 'zod';

/** The message on a lane's queue, as both sides know it. A field that one side doesn't know yet is ignored. */
export const ring = z.object({
  lane: z.string().min(1),
  /** The job that may be worth a look first. Only a hint: what is so is read from the store. */
  hint: z.string().min(1).optional(),
});

export type Ring = z.infer<typeof ring>;

export function ringText(message: Ring): string {
  return JSON.stringify(message);
}

/** Throws for a text that is no ring: nobody but us writes to these queues. */
export function ringOf(text: string): Ring {
  return ring.parse(JSON.parse(text));
}
