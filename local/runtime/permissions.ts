import { isAllowed, type ConditionValues, type Statement } from './policies.ts';

/** The caller that may do everything: the runtime itself, seeding and tests. */
export const runtimeCaller = 'slowlane-runtime';

export interface Call {
  /** `dynamodb:PutItem` */
  readonly action: string;
  /** ARNs; each must be allowed. */
  readonly resources: readonly string[];
  readonly values?: ConditionValues;
}

/** Plain data, so that it can be handed to a store's own thread. */
export type StatementsByCaller = Readonly<Record<string, readonly Statement[]>>;

/** Who may call what, by the roles of the template. Every caller is a function; its access key id is its name. */
export class Permissions {
  readonly #statements: StatementsByCaller;

  constructor(statements: StatementsByCaller) {
    this.#statements = statements;
  }

  /** The refusal's message, in AWS's own words, or `undefined` where the call is allowed. */
  refusal(caller: string, call: Call): string | undefined {
    if (caller === runtimeCaller) return undefined;
    const statements = Object.hasOwn(this.#statements, caller) ? this.#statements[caller] : undefined;
    if (statements === undefined) return `The security token included in the request is invalid: ${caller}`;
    const refused = call.resources.find((resource) => !isAllowed(statements, call.action, resource, call.values));
    if (refused === undefined) return undefined;
    return `User: ${caller} is not authorized to perform: ${call.action} on resource: ${refused} because no identity-based policy allows the ${call.action} action`;
  }
}

/** Access key id of a signed request: of its header, or of a presigned URL. */
export function callerOf(authorization: string | undefined, query?: URLSearchParams): string | undefined {
  const credential =
    /Credential=([^/,\s]+)\//.exec(authorization ?? '')?.[1] ?? query?.get('X-Amz-Credential')?.split('/')[0];
  return credential === undefined || credential === null ? undefined : decodeURIComponent(credential);
}
