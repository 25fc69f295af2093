import { type IResource, Stack, Validations } from 'aws-cdk-lib';
import type { IConstruct } from 'constructs';

/** Says why a rule of cdk-nag does not apply to a construct. The reason must hold in every environment. */
export function acknowledge(scope: IConstruct, rule: string, reason: string): void {
  Validations.of(scope).acknowledge({ id: rule, reason });
}

/**
 * Acknowledges that a policy's resource ends in a wildcard below a name that is exact. cdk-nag wants each such resource
 * by its full name, with logical ids in it; it is made from the resource itself, so that a rename can't outdate it.
 */
export function acknowledgeWildcard(scope: IConstruct, resource: string, reason: string): void {
  acknowledge(scope, `AwsSolutions-IAM5[Resource::${flatten(Stack.of(scope).resolve(resource))}]`, reason);
}

/**
 * The ARN as the template of `scope` will spell it. A reference into another stack becomes an import only when the app is
 * synthesized, after the findings must be named; asking for the export now gives the same text.
 */
export function arnSeenFrom(scope: IConstruct, owner: IResource, arn: string): string {
  return owner.stack === Stack.of(scope) ? arn : owner.stack.exportValue(arn);
}

/** The text that cdk-nag makes of a CloudFormation expression: `<LogicalId.Arn>/uploads/*`. */
function flatten(expression: unknown): string {
  if (typeof expression === 'string') return expression;
  if (typeof expression !== 'object' || expression === null) return String(expression);
  const [kind, value] = Object.entries(expression)[0] ?? [];
  switch (kind) {
    case 'Ref':
      return `<${flatten(value)}>`;
    case 'Fn::ImportValue':
      return flatten(value);
    case 'Fn::GetAtt':
      return `<${(value as string[]).join('.')}>`;
    case 'Fn::Join': {
      const [separator, parts] = value as [string, unknown[]];
      return parts.map(flatten).join(separator);
    }
    default:
      return JSON.stringify(expression);
  }
}
