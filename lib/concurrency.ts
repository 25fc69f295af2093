import type { Environment } from './environments.ts';

/**
 * Lambda keeps 100 concurrent executions of an account unreserved. In an account whose quota is not above that (10 or 50
 * where it is new) any reservation fails the deployment, so there the lanes share the account's pool, and only the event
 * source mapping bounds their workers.
 */
const unreservable = 100;

/** An event source mapping can't be held to one invocation at a time: 2 is the least it takes. */
const fewestWorkers = 2;

export type ConcurrencyPlan = { readonly kind: 'reserve' } | { readonly kind: 'share'; readonly because: string };

/** Workers of a lane: one number for reserved concurrency and for the mapping's limit. The holds keep a cap of 1. */
export function workersFor(ceiling: number): number {
  return Math.max(fewestWorkers, ceiling);
}

/** @throws Error where the lanes' ceilings ask for more than the account's quota can reserve */
export function planConcurrency({ name, lanes, accountConcurrencyQuota: quota }: Environment): ConcurrencyPlan {
  const wanted = Object.values(lanes).reduce((sum, { ceiling }) => sum + workersFor(ceiling), 0);
  const ceilings = `the ceilings of ${Object.keys(lanes).join(', ')} take ${wanted} workers`;
  if (quota <= unreservable) {
    const rest = Math.max(0, quota - wanted);
    return {
      kind: 'share',
      because:
        `No concurrency is reserved in ${name}: the account's quota is ${quota}, of which Lambda reserves nothing; ` +
        `${ceilings}, which leaves the APIs ${rest}. Ask for a higher quota, then set accountConcurrencyQuota.`,
    };
  }
  if (wanted > quota - unreservable) {
    throw new Error(
      `${name}.lanes: ${ceilings}, but of the account's quota of ${quota} only ${quota - unreservable} can be reserved ` +
        `(Lambda keeps ${unreservable}). Lower the ceilings, or raise the quota and accountConcurrencyQuota.`,
    );
  }
  return { kind: 'reserve' };
}
