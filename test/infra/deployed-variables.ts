import type { Resource } from './synthesized.ts';

type Expression = string | { readonly [intrinsic: string]: unknown };

/** A function's variables as it will see them once deployed, with stand-ins for what CloudFormation only then knows. */
export function deployedVariables({ Properties }: Resource): Record<string, string> {
  const { Variables } = Properties['Environment'] as { Variables: Record<string, Expression> };
  return Object.fromEntries(Object.entries(Variables).map(([name, value]) => [name, resolve(value)]));
}

function resolve(expression: Expression): string {
  if (typeof expression === 'string') return expression;
  const [intrinsic, value] = Object.entries(expression)[0] ?? [];
  switch (intrinsic) {
    case 'Fn::Join': {
      const [separator, parts] = value as [string, Expression[]];
      return parts.map(resolve).join(separator);
    }
    case 'Ref':
      return refer(value as string);
    case 'Fn::GetAtt': {
      const [id, attribute] = value as [string, string];
      return attribute === 'ApiEndpoint' ? `https://${id.toLowerCase()}.example.com` : `${id}.${attribute}`;
    }
    case 'Fn::ImportValue':
      return value as string;
    default:
      throw new Error(`An expression that no test knows: ${JSON.stringify(expression)}`);
  }
}

function refer(id: string): string {
  if (id === 'AWS::Region') return 'eu-central-1';
  if (id === 'AWS::URLSuffix') return 'amazonaws.com';
  return id.includes('Rings') ? `https://sqs.eu-central-1.amazonaws.com/123456789012/${id}` : id;
}
