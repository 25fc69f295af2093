import * as z from 'zod';
import { eraseUserQuery } from '../lambdas/http/erase-jobs.ts';
import { listJobsQuery } from '../lambdas/http/list-jobs.ts';
import { listFlaggedQuery } from '../lambdas/http/settle-bodies.ts';
import { PROBLEMS, type ProblemCode } from '../lambdas/http/problem.ts';
import { operatorOperations } from './operator-operations.ts';
import { operations, type Answer, type AnswerHeader, type Operation } from './operations.ts';
import { componentSchemas, schemaNamed } from './schemas.ts';

/** The API as OpenAPI 3.1, from the schemas and tables that the handlers themselves use. */
export function openApiDocument(): object {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Slowlane',
      version: '1',
      description:
        'Send slow, expensive picture jobs once, and follow them to their end. v1 changes by addition only: ignore what you do not know. API Gateway answers some requests before this API sees them, with its own bare 403, 413, 429 and 5xx.',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    paths: pathsOf({ ...operations, ...operatorOperations }),
    components: {
      schemas: componentSchemas(),
      headers,
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          name: 'X-API-Key',
          description: 'Of a server. Never put it in an app.',
        },
        bearer: { type: 'http', scheme: 'bearer', description: 'A client token, or the token of a signed-in user.' },
      },
    },
  };
}

const headers = {
  'Request-Id': { description: 'Name it when you ask us about a request.', schema: { type: 'string' } },
  Location: { description: 'Where it is.', schema: { type: 'string' } },
  'Idempotent-Replayed': { description: '`true`: nothing was done anew.', schema: { type: 'string' } },
  'Retry-After': { description: 'In seconds.', schema: { type: 'integer' } },
} as const satisfies Record<AnswerHeader | 'Request-Id', object>;

function pathsOf(table: Readonly<Record<string, Operation>>): Record<string, Record<string, object>> {
  const paths: Record<string, Record<string, object>> = {};
  for (const [routeKey, operation] of Object.entries(table)) {
    const [method = '', path = ''] = routeKey.split(' ');
    paths[path] = { ...paths[path], [method.toLowerCase()]: operationObject(path, operation) };
  }
  return paths;
}

function operationObject(path: string, operation: Operation): object {
  const { id, summary, description, scope, body } = operation;
  return {
    operationId: id,
    summary,
    ...(description === undefined ? {} : { description }),
    security: securityOf(scope),
    parameters: parametersOf(path, operation),
    ...(body === undefined ? {} : { requestBody: { required: true, content: contentOf(body) } }),
    responses: responsesOf(operation),
  };
}

/** What opens a route: only jobs are an app's own to ask for. */
function securityOf(scope: Operation['scope']): object[] {
  if (scope === undefined) return [];
  return scope === 'jobs' ? [{ apiKey: [] }, { bearer: [] }] : [{ apiKey: [] }];
}

function contentOf(body: NonNullable<Operation['body']>): Record<string, object> {
  return Object.fromEntries(Object.entries(body).map(([type, name]) => [type, { schema: schemaNamed(name) }]));
}

function parametersOf(path: string, { scope, idempotencyKey, query }: Operation): object[] {
  const text = { type: 'string' };
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: 'path',
    required: true,
    schema: text,
  }));
  const actFor = {
    name: 'Slowlane-User',
    in: 'header',
    description: 'With a key that may act for users: the user that it acts for.',
    schema: text,
  };
  const key = {
    name: 'Idempotency-Key',
    in: 'header',
    required: true,
    description: '1 to 255 visible ASCII characters, bare or quoted. A UUID is a good one.',
    schema: text,
  };
  return [
    ...inPath,
    ...(query === undefined ? [] : queryParameters(queries[query])),
    ...(idempotencyKey === true ? [key] : []),
    ...(scope === 'jobs' ? [actFor] : []),
  ];
}

const queries = { listJobs: listJobsQuery, listFlagged: listFlaggedQuery, eraseUser: eraseUserQuery } as const;

function queryParameters(query: z.ZodType): object[] {
  const { properties = {}, required = [] } = z.toJSONSchema(query, { io: 'input' });
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    ...(required.includes(name) ? { required: true } : {}),
    schema,
  }));
}

/** What any request may meet before or behind its route. */
const anywhere: readonly ProblemCode[] = ['internal', 'unavailable'];
const authenticated: readonly ProblemCode[] = [
  'credentials_missing',
  'credentials_invalid',
  'credentials_expired',
  'credentials_ambiguous',
  'issuer_unreachable',
  'forbidden',
  'user_header_invalid',
];

function responsesOf({ answers, problems, scope }: Operation): Record<string, object> {
  const codes = new Set([...problems, ...(scope === undefined ? [] : authenticated), ...anywhere]);
  const byStatus = Map.groupBy(codes, (code) => PROBLEMS[code].status);
  return {
    ...Object.fromEntries(Object.entries(answers).map(([status, answer]) => [status, answerObject(answer)])),
    ...Object.fromEntries([...byStatus].map(([status, each]) => [status, problemObject(each)])),
  };
}

function answerObject({ description, schema, headers: named = [] }: Answer): object {
  return {
    description,
    headers: referTo(['Request-Id', ...named]),
    ...(schema === undefined ? {} : { content: { 'application/json': { schema: schemaNamed(schema) } } }),
  };
}

function problemObject(codes: readonly ProblemCode[]): object {
  return {
    description: codes.map((code) => `\`${code}\`: ${PROBLEMS[code].title}.`).join(' '),
    headers: referTo(['Request-Id']),
    content: { 'application/problem+json': { schema: schemaNamed('Problem') } },
  };
}

function referTo(names: readonly (keyof typeof headers)[]): Record<string, object> {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));
}
