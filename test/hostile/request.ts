import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import type { Seeded } from '../fixtures/seeded.ts';
import { nastyJson, nastyText } from './nasty.ts';

/** A request before API Gateway makes an event of it. */
export interface RawRequest {
  readonly routeKey: string;
  /** In their order; a name may be there twice. */
  readonly headers: readonly (readonly [string, string])[];
  readonly path?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** What API Gateway sends on: names in lower case, values of one name joined, text as text and the rest in base64. */
export function eventOf({ routeKey, headers, path, query, body }: RawRequest, asText: boolean): APIGatewayProxyEventV2 {
  const [method = '', rawPath = ''] = routeKey.split(' ');
  const joined = new Map<string, string>();
  for (const [name, value] of headers) {
    const known = joined.get(name.toLowerCase());
    joined.set(name.toLowerCase(), known === undefined ? value : `${known},${value}`);
  }
  const bytes = body === undefined ? undefined : Buffer.from(body);
  return {
    version: '2.0',
    routeKey,
    rawPath,
    rawQueryString: '',
    headers: Object.fromEntries(joined),
    requestContext: { requestId: 'request-1', http: { method } } as APIGatewayProxyEventV2['requestContext'],
    ...(path === undefined ? {} : { pathParameters: { ...path } }),
    ...(query === undefined ? {} : { queryStringParameters: { ...query } }),
    ...(bytes === undefined ? {} : { body: bytes.toString(asText ? 'utf8' : 'base64') }),
    isBase64Encoded: !asText && bytes !== undefined,
  };
}

const headerNames = [
  'Idempotency-Key',
  'Slowlane-User',
  'X-API-Key',
  'Authorization',
  'Content-Type',
  'Content-Length',
  'Accept',
  'Origin',
  'Host',
  'X-Forwarded-For',
  'X-HTTP-Method-Override',
  'Transfer-Encoding',
  'Cookie',
  '__proto__',
  'constructor',
] as const;

const headerValues = [
  'application/json',
  'application/json; charset=utf-16',
  'APPLICATION/JSON ; a=b',
  'application/json, text/html',
  'text/plain',
  'multipart/form-data',
  'multipart/form-data; boundary=',
  'multipart/form-data; boundary="; boundary=x',
  `multipart/form-data; boundary=${'b'.repeat(600)}`,
  'Bearer',
  'Bearer ',
  'Bearer a.b.c',
  `Bearer ${'a'.repeat(4_000)}.b.c`,
  `bearer ${Buffer.from('{"iss":"slowlane"}').toString('base64url')}.${Buffer.from('{"iss":"slowlane"}').toString('base64url')}.x`,
  'Basic YWRtaW46YWRtaW4=',
  '0',
  '-1',
  '99999999999999999999',
  '"quoted"',
  '"half',
  '"a" , "b"',
  'operator',
] as const;

/** One thing about the request is changed for the worse. */
export function worsened(request: RawRequest, sound: unknown, random: Seeded): RawRequest {
  switch (random.below(8)) {
    case 0:
    case 1:
      return withHeader(request, random);
    case 2:
      return { ...request, path: spoiledMember(request.path, ['id', 'user', 'lane', 'vendor'], random) };
    case 3:
      return { ...request, query: spoiledMember(request.query, ['status', 'cursor', 'limit', 'code', 'lane'], random) };
    case 4:
      return withoutOne(request, random);
    default:
      return sound === undefined ? withHeader(request, random) : { ...request, body: nastyJson(sound, random) };
  }
}

function withHeader(request: RawRequest, random: Seeded): RawRequest {
  const name = random.pick(headerNames);
  const value = random.below(2) === 0 ? random.pick(headerValues) : nastyText(random);
  const others = random.below(4) === 0 ? request.headers : request.headers.filter(([each]) => each !== name);
  return { ...request, headers: [...others, [name, value]] };
}

function spoiledMember(
  members: Readonly<Record<string, string>> | undefined,
  names: readonly string[],
  random: Seeded,
): Readonly<Record<string, string>> {
  const name = random.below(6) === 0 ? nastyText(random) : random.pick(names);
  const known = Object.keys(members ?? {});
  const chosen = known.length > 0 && random.below(3) > 0 ? random.pick(known) : name;
  return { ...members, [chosen]: nastyText(random) };
}

function withoutOne(request: RawRequest, random: Seeded): RawRequest {
  const { body: _, ...bodiless } = request;
  switch (random.below(4)) {
    case 0:
      return bodiless;
    case 1:
      return {
        routeKey: request.routeKey,
        headers: request.headers,
        ...(request.body === undefined ? {} : { body: request.body }),
      };
    default: {
      const leaving = random.below(Math.max(1, request.headers.length));
      return { ...request, headers: request.headers.filter((_header, index) => index !== leaving) };
    }
  }
}
