import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { tenantOf, userOf } from '../../lambdas/domain/job.ts';
import { PROBLEMS } from '../../lambdas/http/problem.ts';
import { residents } from './canaries.ts';
import { grantedKeys, secrets, type Target, type TargetAnswer } from './target.ts';

/** What must hold of every answer, whatever was asked. */

/** Who asks, told apart from the product's own authentication by looking the exact credential up. */
export interface Asker {
  readonly tenant: string;
  /** Undefined: all of the tenant. */
  readonly user: string | undefined;
  readonly scopes: readonly string[];
}

export function askerOf({ headers, routeKey }: APIGatewayProxyEventV2, tokens: ReadonlyMap<string, Asker>) {
  const { 'x-api-key': key, authorization, 'slowlane-user': actsFor } = headers;
  if (key !== undefined && authorization !== undefined) return undefined;
  if (key !== undefined) {
    const granted = grantedKeys.find(({ secret }) => secret === key);
    // An operator's routes are about the whole tenant, whomever the key acts for.
    const user = scopeOf(routeKey) === 'operator' ? undefined : actsFor;
    return granted && { tenant: granted.tenant, user, scopes: granted.scopes };
  }
  const asker = tokens.get(/^bearer +(\S+) *$/i.exec(authorization ?? '')?.[1] ?? '');
  return actsFor === undefined || actsFor === asker?.user ? asker : undefined;
}

function sees(asker: Asker | undefined, tenant: string, user: string): boolean {
  return asker !== undefined && asker.tenant === tenant && (asker.user === undefined || asker.user === user);
}

export function scopeOf(routeKey: string): string | undefined {
  const path = routeKey.split(' ')[1] ?? '';
  if (/\/(?:features|openapi\.json|health)$/.test(path)) return undefined;
  if (path.includes('/operator/')) return 'operator';
  return path.endsWith('/client-tokens') ? 'tokens' : 'jobs';
}

/** Lines like those of a stack trace, and places of ours. */
const ofTheInside = /\n\s+at |node_modules|lambdas\/|node:internal|\.ts:\d|ValidationException|SerializationException/;
const longestProblem = 16_000;

export function wrongWithAnswer({ status, headers, text = '' }: TargetAnswer): string[] {
  const wrong: string[] = [];
  if (status < 200 || status >= 500) wrong.push(`status ${status}: ${text}`);
  if (ofTheInside.test(text)) wrong.push('tells of the inside');
  for (const secret of secrets) if (text.includes(secret)) wrong.push(`tells the secret ${secret}`);
  for (const [name, value] of Object.entries(headers)) {
    if (!/^[\x20-\x7e]*$/.test(value)) wrong.push(`the header ${name} can not be sent`);
  }
  if (headers['Request-Id'] !== 'request-1') wrong.push('no Request-Id');
  if (headers['X-Content-Type-Options'] !== 'nosniff') wrong.push('may be sniffed');
  if (status >= 400) wrong.push(...wrongWithProblem(status, headers, text));
  return wrong;
}

function wrongWithProblem(status: number, headers: TargetAnswer['headers'], text: string): string[] {
  if (headers['Content-Type'] !== 'application/problem+json') return ['is no problem+json'];
  if (text.length > longestProblem) return [`a problem of ${text.length} characters`];
  const { code, status: said, type, detail, requestId } = JSON.parse(text) as Record<string, unknown>;
  if (typeof code !== 'string' || !Object.hasOwn(PROBLEMS, code)) return [`the code ${String(code)} is unknown`];
  const known = PROBLEMS[code as keyof typeof PROBLEMS];
  const isWhole = said === status && known.status === status && type === `urn:slowlane:problem:${code}`;
  return isWhole && typeof detail === 'string' && detail !== '' && requestId === 'request-1'
    ? []
    : ['is half a problem'];
}

const countsOf: Readonly<Record<string, readonly string[]>> = {
  active_jobs_limit: ['owners.count', 'owners.countRefused'],
  submit_rate_limit: ['owners.count'],
  upload_rate_limit: ['owners.countUpload'],
};

/** Nobody hears of another owner, and nobody's refused request did anything. */
export function wrongWithEffects(
  target: Target,
  before: ReadonlyMap<string, string>,
  { status, text = '' }: TargetAnswer,
  event: APIGatewayProxyEventV2,
  asker: Asker | undefined,
): string[] {
  const hidden = residents.filter(({ tenant, user }) => !sees(asker, tenant, user));
  const wrong = hidden.filter(({ canary }) => text.includes(canary)).map(({ owner }) => `tells of ${owner}`);
  const line = target.logged.find((each) =>
    [...residents.map(({ canary }) => canary), ...secrets].some((word) => each.includes(word)),
  );
  if (line !== undefined) wrong.push(`logs ${line}`);
  const changed = changesOf(before, target.snapshot());
  if (status >= 400) {
    // Only a count of how often somebody asked may outlive a refusal.
    const code = String((JSON.parse(text) as Record<string, unknown>)['code']);
    const counts = countsOf[code] ?? [];
    const did = target.effects.filter(({ call }) => !counts.includes(call));
    if (did.length > 0) wrong.push(`refused, and did ${did.map(({ call }) => call).join(', ')}`);
    if (changed.length > 0) wrong.push(`refused, and changed ${changed.join(', ')}`);
    return wrong;
  }
  wrong.push(...changed.filter((name) => isHidden(name, asker)).map((name) => `changed ${name}`));
  const onlyAsked = event.requestContext.http.method === 'GET' || isDryRun(event);
  if (onlyAsked && target.effects.length > 0) wrong.push(`was only asked, and did ${JSON.stringify(target.effects)}`);
  const scope = scopeOf(event.routeKey);
  if (scope !== undefined && asker?.scopes.includes(scope) !== true) wrong.push(`let in without ${scope}`);
  return wrong;
}

function isDryRun({ body = '', isBase64Encoded }: APIGatewayProxyEventV2): boolean {
  try {
    const text = Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8').toString('utf8');
    return (JSON.parse(text) as { dryRun?: unknown } | null)?.dryRun === true;
  } catch {
    return false;
  }
}

function isHidden(name: string, asker: Asker | undefined): boolean {
  if (name === 'lanes') return asker === undefined;
  const owner = name.slice(0, name.indexOf(' '));
  return !sees(asker, tenantOf(owner), userOf(owner));
}

export function changesOf(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const names = new Set([...before.keys(), ...after.keys()]);
  return [...names].filter((name) => before.get(name) !== after.get(name));
}
