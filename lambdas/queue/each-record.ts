import * as z from 'zod';

/** What Lambda gives a function for messages, as far as we use it. */
const batch = z.object({ Records: z.array(z.object({ messageId: z.string().min(1), body: z.string() })) });

export interface Message {
  readonly messageId: string;
  readonly body: string;
}

/** What Lambda expects of a function whose event source reports single failures. */
export interface BatchAnswer {
  readonly batchItemFailures: readonly { readonly itemIdentifier: string }[];
}

/**
 * Handles each message by itself, one after the other, and names those that failed, so that SQS gives only these out
 * again. `failed` is told of each failure: nobody else will know why a message comes back.
 *
 * Throws for an event that is no batch: then Lambda returns all of it to the queue.
 */
export async function eachRecord(
  event: unknown,
  handle: (message: Message) => Promise<void>,
  failed: (error: unknown, message: Message) => void,
): Promise<BatchAnswer> {
  const batchItemFailures: { itemIdentifier: string }[] = [];
  for (const message of batch.parse(event).Records) {
    try {
      await handle(message);
    } catch (error) {
      failed(error, message);
      batchItemFailures.push({ itemIdentifier: message.messageId });
    }
  }
  return { batchItemFailures };
}
