import type { FeatureSettings, LimitSettings, VendorSettings } from '../../../lambdas/runtime/env.ts';
import type { LocalFunctionSpec } from '../../../local/runtime/functions.ts';

/** Settings that differ from those of the template, as if it had been deployed with them. */
export interface Settings {
  readonly limits?: Partial<LimitSettings>;
  /** Of both vendors that the studio plays. */
  readonly vendor?: Partial<VendorSettings>;
  /** Of every feature. */
  readonly feature?: Partial<FeatureSettings>;
  readonly workerTimeoutSeconds?: number;
  /** Of every function, the platform's own included. */
  readonly variables?: Readonly<Record<string, string>>;
}

/** Applies settings to every function that has them. */
export function deployAs(settings: Settings): (spec: LocalFunctionSpec) => LocalFunctionSpec {
  return (spec) => ({
    ...spec,
    timeoutMs: timeoutOf(spec, settings),
    variables: {
      ...spec.variables,
      ...settings.variables,
      ...changed(spec, 'LIMITS', (limits) => ({ ...limits, ...settings.limits })),
      ...changed(spec, 'VENDORS', (vendors) => each(vendors, settings.vendor)),
      ...changed(spec, 'FEATURES', (features) => each(features, settings.feature)),
    },
  });
}

function timeoutOf({ name, timeoutMs }: LocalFunctionSpec, { workerTimeoutSeconds }: Settings): number {
  const isWorker = name.startsWith('dispatch-job') && workerTimeoutSeconds !== undefined;
  return isWorker ? workerTimeoutSeconds * 1000 : timeoutMs;
}

const each = (entries: Record<string, object>, change: object | undefined) =>
  Object.fromEntries(Object.entries(entries).map(([name, said]) => [name, { ...said, ...change }]));

function changed(
  { variables }: LocalFunctionSpec,
  name: string,
  change: (value: Record<string, object>) => object,
): Record<string, string> {
  const text = variables[name];
  return text === undefined ? {} : { [name]: JSON.stringify(change(JSON.parse(text) as Record<string, object>)) };
}
