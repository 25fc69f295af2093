import type { Setup } from './world/setup.ts';
import { thisVersion, type Version } from './world/version.ts';

/** Kept by `npm run keep-version` when a version is released. */
const kept: unknown = await import(new URL('previous-version/domain.mjs', import.meta.url).href);
export const previousVersion = kept as Version;

/** What the kept version does wrong by itself, mended since: beside it, this one can't do better. Empty it with the next. */
export const mendedSince: readonly string[] = [
  'none: the account is refused for longer than a job may be tried, then throttled',
  'none: the account is refused for the first job alone, until a person fails it',
];

/** A deployment replaces functions one by one, and the old ones' sandboxes work on for minutes. */
export const deployments = {
  'old workers, new ticks': (role) => (role === 'worker' ? previousVersion : thisVersion),
  'every other sandbox old': (_role, nth) => (nth % 2 === 0 ? previousVersion : thisVersion),
} as const satisfies Record<string, NonNullable<Setup['versionOf']>>;
export type Deployment = keyof typeof deployments;
