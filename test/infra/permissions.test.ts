import { describe, expect, test } from 'vitest';
import { functionEnvironments, type FunctionName } from '../../lambdas/runtime/env.ts';
import { idPart, onlyResource, resourcesOf, templatesOf } from './synthesized.ts';

/**
 * What each function may do, said here a second time and by itself: a permission that is added in lib/functions.ts must be
 * added here too, by someone who asked why. Resources are shortened to what tells them apart.
 */
const permitted: Readonly<Record<FunctionName, readonly string[]>> = {
  'submit-job': [
    'dynamodb:DeleteItem table',
    'dynamodb:GetItem table',
    'dynamodb:PutItem table',
    'dynamodb:Query index/queued',
    'dynamodb:UpdateItem table',
    's3:DeleteObject inputs/*',
    's3:GetObject results/*',
    's3:GetObject uploads/*',
    's3:ListBucket if uploads/*',
    's3:PutObject inputs/*',
    'secretsmanager:GetSecretValue signing',
    'sqs:SendMessage rings',
  ],
  'read-job': [
    'dynamodb:GetItem table',
    'dynamodb:Query index/queued',
    'dynamodb:UpdateItem table',
    's3:GetObject results/*',
    'secretsmanager:GetSecretValue signing',
  ],
  'list-jobs': [
    'dynamodb:BatchGetItem table',
    'dynamodb:GetItem table',
    'dynamodb:Query index/owner',
    'dynamodb:Query index/queued',
    'dynamodb:UpdateItem table',
    's3:GetObject results/*',
    'secretsmanager:GetSecretValue signing',
  ],
  'cancel-job': [
    'dynamodb:GetItem table',
    'dynamodb:Query index/queued',
    'dynamodb:UpdateItem table',
    'events:PutEvents bus',
    'execute-api:ManageConnections post',
    's3:GetObject results/*',
    'secretsmanager:GetSecretValue signing',
  ],
  'erase-jobs': [
    'dynamodb:DeleteItem table',
    'dynamodb:GetItem table',
    'dynamodb:PutItem table',
    'dynamodb:Query index/owner',
    'dynamodb:Query index/queued',
    'dynamodb:Query table',
    'dynamodb:UpdateItem table',
    'events:PutEvents bus',
    'execute-api:ManageConnections post',
    's3:DeleteObject inputs/*',
    's3:DeleteObject results/*',
    's3:DeleteObject uploads/*',
    's3:GetObject results/*',
    's3:ListBucket if uploads/*,inputs/*,results/*',
    'secretsmanager:GetSecretValue signing',
  ],
  'create-upload': [
    'dynamodb:GetItem table',
    'dynamodb:PutItem table',
    'dynamodb:UpdateItem table',
    's3:PutObject uploads/*',
    'secretsmanager:GetSecretValue signing',
  ],
  'create-client-token': [
    'dynamodb:GetItem table',
    'dynamodb:UpdateItem table',
    'secretsmanager:GetSecretValue signing',
  ],
  'create-socket-ticket': [
    'dynamodb:GetItem table',
    'dynamodb:PutItem table',
    'dynamodb:UpdateItem table',
    'secretsmanager:GetSecretValue signing',
  ],
  'describe-api': [],
  'receive-vendor-event': [
    'dynamodb:GetItem table',
    'dynamodb:PutItem table',
    'dynamodb:Query index/queued',
    'dynamodb:Query table',
    'dynamodb:UpdateItem table',
    'events:PutEvents bus',
    'execute-api:ManageConnections post',
    's3:GetObject results/*',
    'secretsmanager:GetSecretValue signing',
    'secretsmanager:GetSecretValue vendor',
    'sqs:SendMessage rings',
  ],
  'operate-jobs': [
    'dynamodb:BatchGetItem table',
    'dynamodb:GetItem table',
    'dynamodb:PutItem table',
    'dynamodb:Query index/attention',
    'dynamodb:Query index/queued',
    'dynamodb:Query table',
    'dynamodb:UpdateItem table',
    'events:PutEvents bus',
    'execute-api:ManageConnections post',
    's3:DeleteObject results/*',
    's3:GetObject results/*',
    's3:PutObject results/*',
    'secretsmanager:GetSecretValue signing',
    'secretsmanager:GetSecretValue vendor',
    'sqs:SendMessage rings',
  ],
  'operate-lanes': [
    'dynamodb:GetItem table',
    'dynamodb:PutItem table',
    'dynamodb:Query index/queued',
    'dynamodb:UpdateItem table',
    'secretsmanager:GetSecretValue signing',
    'sqs:SendMessage rings',
  ],
  'authorize-socket': ['dynamodb:DeleteItem table'],
  'connect-socket': ['dynamodb:PutItem table', 'dynamodb:UpdateItem table'],
  'disconnect-socket': ['dynamodb:UpdateItem table'],
  'follow-job': [
    'dynamodb:GetItem table',
    'dynamodb:Query index/queued',
    'dynamodb:UpdateItem table',
    'execute-api:ManageConnections post',
    's3:GetObject results/*',
  ],
  'dispatch-job': [
    'dynamodb:GetItem table',
    'dynamodb:PutItem table',
    'dynamodb:Query index/queued',
    'dynamodb:Query table',
    'dynamodb:UpdateItem table',
    'events:PutEvents bus',
    'execute-api:ManageConnections post',
    's3:DeleteObject results/*',
    's3:GetObject inputs/*',
    's3:GetObject results/*',
    's3:ListBucket if inputs/*',
    's3:PutObject results/*',
    'secretsmanager:GetSecretValue signing',
    'secretsmanager:GetSecretValue vendor',
    'sqs:DeleteMessage rings',
    'sqs:GetQueueAttributes rings',
    'sqs:ReceiveMessage rings',
    'sqs:SendMessage rings',
  ],
  'reconcile-jobs': [
    'dynamodb:GetItem table',
    'dynamodb:PutItem table',
    'dynamodb:Query index/active',
    'dynamodb:Query index/attention',
    'dynamodb:Query index/queued',
    'dynamodb:Query table',
    'dynamodb:UpdateItem table',
    'events:PutEvents bus',
    'execute-api:ManageConnections post',
    's3:DeleteObject results/*',
    's3:GetObject results/*',
    's3:PutObject results/*',
    'secretsmanager:GetSecretValue signing',
    'secretsmanager:GetSecretValue vendor',
    'sqs:SendMessage rings',
  ],
};

interface Statement {
  readonly Effect: string;
  readonly Action: string | readonly string[];
  readonly Resource: unknown;
  readonly Condition?: { readonly StringLike?: { readonly 's3:prefix'?: string | readonly string[] } };
}

const { gateway } = templatesOf('prod');
const list = <T>(value: T | readonly T[]): readonly T[] => (Array.isArray(value) ? value : [value]) as readonly T[];

function statementsOf(name: FunctionName): readonly Statement[] {
  const id = idPart(name === 'dispatch-job' ? 'dispatch-job-default' : name);
  const { Policies } = onlyResource(gateway, 'AWS::IAM::Role', `${id}Role`).Properties;
  return (Policies as { PolicyDocument: { Statement: Statement[] } }[]).flatMap(
    (policy) => policy.PolicyDocument.Statement,
  );
}

/** What tells one resource from another: the tail of its ARN, or the logical id that it is made of. */
function shorten(resource: unknown, { Condition }: Statement): string {
  const prefixes = Condition?.StringLike?.['s3:prefix'];
  if (prefixes !== undefined) return `if ${list(prefixes).join(',')}`;
  const text = JSON.stringify(resource);
  const kinds: readonly [RegExp, string][] = [
    [/\/(index\/\w+)"/, '$1'],
    [/\/((?:inputs|results|uploads)\/\*)"/, '$1'],
    [/\/v1\/POST\/@connections\/\*"/, 'post'],
    [/DataJobs/, 'table'],
    [/SigningSecret/, 'signing'],
    [/VendorSecret/, 'vendor'],
    [/Rings/, 'rings'],
    [/GatewayEvents/, 'bus'],
    [/Logs[0-9A-F]{8}"/, 'own logs'],
  ];
  for (const [pattern, kind] of kinds) {
    const match = pattern.exec(text);
    if (match) return kind.replace('$1', match[1] ?? '');
  }
  throw new Error(`A resource that no test knows: ${text}`);
}

function permissionsOf(name: FunctionName): string[] {
  return statementsOf(name)
    .flatMap((statement) =>
      list(statement.Action).flatMap((action) =>
        list(statement.Resource).map((resource) => `${action} ${shorten(resource, statement)}`),
      ),
    )
    .toSorted();
}

describe('a function', () => {
  test.each(Object.keys(functionEnvironments) as FunctionName[])('%s may do this and nothing else', (name) => {
    const logs = ['logs:CreateLogStream own logs', 'logs:PutLogEvents own logs'];
    expect(permissionsOf(name)).toEqual([...permitted[name], ...logs].toSorted());
  });

  test('never has an action with a wildcard, nor every resource', () => {
    const roles = JSON.stringify(resourcesOf(gateway, 'AWS::IAM::Role'));
    expect(roles).not.toMatch(/"Action":"[^"]*\*|"Action":\[[^\]]*\*/);
    expect(roles).not.toContain('"Resource":"*"');
    expect(roles).not.toContain('ManagedPolicyArns');
  });

  test('has a role of its own, and no policy besides it', () => {
    const functions = Object.values(resourcesOf(gateway, 'AWS::Lambda::Function'));
    expect(new Set(functions.map(({ Properties }) => JSON.stringify(Properties['Role']))).size).toBe(functions.length);
    expect(resourcesOf(gateway, 'AWS::IAM::Policy')).toEqual({});
  });
});
