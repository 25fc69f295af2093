import { AsyncLocalStorage } from 'node:async_hooks';

const requestIds = new AsyncLocalStorage<string>();

/**
 * Runs one invocation's work. What is made once per sandbox (a world and its log) then knows on whose behalf it writes,
 * however far below the entry that is.
 */
export function withinInvocation<T>(requestId: string, work: () => T): T {
  return requestIds.run(requestId, work);
}

/** Of the invocation that this code runs in: what its lines and API Gateway's or Lambda's own are found by. */
export function currentRequestId(): string | undefined {
  return requestIds.getStore();
}
