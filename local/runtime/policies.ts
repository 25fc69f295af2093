import * as z from 'zod';
import type { CloudAssembly, Resource } from '../assembly/cloud-assembly.ts';
import { resourcesOfType } from './identity.ts';
import type { Resolver } from './resolve.ts';

const oneOrMany = z.union([z.string(), z.array(z.string())]).transform((value) => [value].flat());

const statementSchema = z.object({
  Effect: z.enum(['Allow', 'Deny']),
  Action: oneOrMany.optional(),
  NotAction: oneOrMany.optional(),
  Resource: oneOrMany.optional(),
  NotResource: oneOrMany.optional(),
  Condition: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
});

export const policyDocumentSchema = z.object({
  Statement: z.union([statementSchema, z.array(statementSchema)]).transform((value) => [value].flat()),
});

export type Statement = z.infer<typeof statementSchema>;

/** Values that conditions may ask for, by condition key (`dynamodb:LeadingKeys`, `s3:prefix`). */
export type ConditionValues = Readonly<Record<string, readonly string[]>>;

/**
 * Whether the statements allow an action on a resource: some Allow and no Deny. A condition on a key that we don't know the
 * value of holds for an Allow, and doesn't for a Deny: this check exists to find missing grants, not to be a boundary.
 */
export function isAllowed(
  statements: readonly Statement[],
  action: string,
  resource: string,
  values: ConditionValues = {},
): boolean {
  const applying = statements.filter((statement) => covers(statement, action, resource));
  const denied = applying.some((one) => one.Effect === 'Deny' && holds(one.Condition, values, false));
  return !denied && applying.some((one) => one.Effect === 'Allow' && holds(one.Condition, values, true));
}

function covers(statement: Statement, action: string, resource: string): boolean {
  const actionCovered =
    statement.Action?.some((pattern) => matches(pattern, action, true)) ??
    !statement.NotAction?.some((pattern) => matches(pattern, action, true));
  const resourceCovered =
    statement.Resource?.some((pattern) => matches(pattern, resource, false)) ??
    !statement.NotResource?.some((pattern) => matches(pattern, resource, false));
  return actionCovered && resourceCovered;
}

/** IAM's wildcards: `*` for any text, `?` for one character. */
export function matches(pattern: string, value: string, ignoreCase: boolean): boolean {
  const expression = pattern
    .replaceAll(/[.+^${}()|[\]\\]/g, String.raw`\$&`)
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${expression}$`, ignoreCase ? 'is' : 's').test(value);
}

function holds(condition: Statement['Condition'], values: ConditionValues, ifUnknown: boolean): boolean {
  return Object.entries(condition ?? {}).every(([operator, keys]) =>
    Object.entries(keys).every(([key, wanted]) => {
      const actual = values[key];
      if (actual === undefined) return ifUnknown;
      const patterns = [wanted].flat().map(String);
      const test = comparison(operator);
      if (test === undefined) return ifUnknown;
      const meets = (value: string) => patterns.some((pattern) => test(pattern, value));
      return operator.startsWith('ForAnyValue') ? actual.some(meets) : actual.every(meets);
    }),
  );
}

function comparison(operator: string): ((pattern: string, value: string) => boolean) | undefined {
  const name = operator.replace(/^ForA(ll|ny)Values?:/, '').replace(/IfExists$/, '');
  switch (name) {
    case 'StringEquals':
    case 'ArnEquals':
      return (pattern, value) => pattern === value;
    case 'StringLike':
    case 'ArnLike':
      return (pattern, value) => matches(pattern, value, false);
    default:
      return undefined;
  }
}

const roleSchema = z.object({ Policies: z.array(z.object({ PolicyDocument: policyDocumentSchema })).optional() });
const attachedSchema = z.object({ PolicyDocument: policyDocumentSchema, Roles: z.array(z.string()).default([]) });

/** The statements of every role in the template, by the role's name. */
export function readRolePolicies(assembly: CloudAssembly, resolver: Resolver): Map<string, Statement[]> {
  const byRole = new Map<string, Statement[]>();
  const grant = (role: string, statements: readonly Statement[]) =>
    byRole.set(role, [...(byRole.get(role) ?? []), ...statements]);
  for (const role of resourcesOfType(assembly, 'AWS::IAM::Role')) {
    const { Policies = [] } = roleSchema.parse(pick(resolver, role, 'Policies'));
    grant(
      resolver.identity(role).ref,
      Policies.flatMap((policy) => policy.PolicyDocument.Statement),
    );
  }
  for (const policy of resourcesOfType(assembly, 'AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy')) {
    const { PolicyDocument, Roles } = attachedSchema.parse(resolver.properties(policy));
    for (const role of Roles) grant(role, PolicyDocument.Statement);
  }
  return byRole;
}

/** Only the named property: a trust policy may hold principals that the resolver need not know. */
function pick(resolver: Resolver, resource: Resource, property: string): Record<string, unknown> {
  const properties = { [property]: resource.properties[property] };
  return resolver.properties({ ...resource, properties });
}
