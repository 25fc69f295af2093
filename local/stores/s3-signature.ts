import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { splitTarget } from '../runtime/http-event.ts';
import type { CredentialIssuer } from './credentials.ts';
import { S3Error } from './s3-error.ts';

export interface SignedRequest {
  readonly method: string;
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
}

export interface VerifiedSignature {
  readonly caller: string;
  readonly presigned: boolean;
  /** What the signature says of the body: its hash in hex, or `UNSIGNED-PAYLOAD`. */
  readonly payloadHash: string;
}

interface SignatureParts {
  readonly credential: string;
  readonly date: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
  readonly payloadHash: string;
  readonly sessionToken: string | undefined;
}

const clockSkewMs = 15 * 60_000;
const longestPresignSeconds = 604_800;

/** Verifies Signature Version 4 as S3 does, of a header or of a presigned URL. @throws S3Error where it doesn't hold. */
export function verifySignature(request: SignedRequest, issuer: CredentialIssuer, nowMs: number): VerifiedSignature {
  const { path, query } = splitTarget(request.target);
  const parameters = new URLSearchParams(query.replaceAll('+', '%2B'));
  const presigned = parameters.has('X-Amz-Signature');
  const parts = presigned ? partsOfQuery(parameters, nowMs) : partsOfHeader(request.headers, nowMs);
  const canonical = [
    request.method,
    canonicalPath(path),
    canonicalQuery(parameters),
    ...parts.signedHeaders.map((name) => `${name}:${canonicalHeader(request.headers, name)}`),
    '',
    parts.signedHeaders.join(';'),
    parts.payloadHash,
  ].join('\n');
  if (!parts.signedHeaders.includes('host')) throw new S3Error(403, 'AccessDenied', 'The host header must be signed');
  checkSignature(parts, createHash('sha256').update(canonical).digest('hex'), issuer);
  return { caller: callerOfCredential(parts.credential), presigned, payloadHash: parts.payloadHash };
}

/** Verifies the signature of a POST form: over the policy itself. @throws S3Error where it doesn't hold. */
export function verifyPolicySignature(fields: ReadonlyMap<string, string>, issuer: CredentialIssuer): string {
  const required = (name: string) => {
    const value = fields.get(name);
    if (value === undefined) throw new S3Error(403, 'AccessDenied', `The form has no ${name}`);
    return value;
  };
  const credential = required('x-amz-credential');
  const caller = callerOfCredential(credential);
  checkToken(fields.get('x-amz-security-token'), caller, issuer);
  const expected = sign(signingKey(credential, issuer), required('policy')).toString('hex');
  if (!sameText(expected, required('x-amz-signature'))) throw mismatch();
  return caller;
}

function partsOfHeader(headers: IncomingHttpHeaders, nowMs: number): SignatureParts {
  const { authorization } = headers;
  if (authorization === undefined) throw new S3Error(403, 'AccessDenied', 'Access Denied');
  const part = (name: string) => new RegExp(`${name}=([^,\\s]+)`).exec(authorization)?.[1] ?? '';
  const date = String(headers['x-amz-date'] ?? '');
  if (Math.abs(nowMs - parseAmazonDate(date)) > clockSkewMs)
    throw new S3Error(
      403,
      'RequestTimeTooSkewed',
      'The difference between the request time and the server time is too large',
    );
  return {
    credential: part('Credential'),
    date,
    signedHeaders: part('SignedHeaders').split(';'),
    signature: part('Signature'),
    payloadHash: String(headers['x-amz-content-sha256'] ?? ''),
    sessionToken: headers['x-amz-security-token']?.toString(),
  };
}

function partsOfQuery(parameters: URLSearchParams, nowMs: number): SignatureParts {
  const part = (name: string) => {
    const value = parameters.get(name);
    if (value === null) throw new S3Error(400, 'AuthorizationQueryParametersError', `${name} is missing`);
    return value;
  };
  const date = part('X-Amz-Date');
  const lifeSeconds = Number(part('X-Amz-Expires'));
  if (!(lifeSeconds > 0 && lifeSeconds <= longestPresignSeconds))
    throw new S3Error(400, 'AuthorizationQueryParametersError', 'X-Amz-Expires must be between 1 and 604800 seconds');
  const signedAtMs = parseAmazonDate(date);
  if (signedAtMs > nowMs + clockSkewMs) throw new S3Error(403, 'AccessDenied', 'Request is not yet valid');
  if (nowMs > signedAtMs + lifeSeconds * 1000) throw new S3Error(403, 'AccessDenied', 'Request has expired');
  return {
    credential: part('X-Amz-Credential'),
    date,
    signedHeaders: part('X-Amz-SignedHeaders').split(';'),
    signature: part('X-Amz-Signature'),
    payloadHash: parameters.get('X-Amz-Content-Sha256') ?? 'UNSIGNED-PAYLOAD',
    sessionToken: parameters.get('X-Amz-Security-Token') ?? undefined,
  };
}

function checkSignature(parts: SignatureParts, canonicalHash: string, issuer: CredentialIssuer): void {
  const caller = callerOfCredential(parts.credential);
  checkToken(parts.sessionToken, caller, issuer);
  const scope = parts.credential.split('/').slice(1).join('/');
  const text = ['AWS4-HMAC-SHA256', parts.date, scope, canonicalHash].join('\n');
  const expected = sign(signingKey(parts.credential, issuer), text).toString('hex');
  if (!sameText(expected, parts.signature)) throw mismatch();
}

function checkToken(token: string | undefined, caller: string, issuer: CredentialIssuer): void {
  if (token !== undefined && !sameText(token, issuer.issue(caller).sessionToken))
    throw new S3Error(400, 'InvalidToken', 'The provided token is malformed or otherwise invalid.');
}

function signingKey(credential: string, issuer: CredentialIssuer): Buffer {
  const [caller = '', day = '', region = '', service = '', terminator = ''] = credential.split('/');
  const start = Buffer.from(`AWS4${issuer.issue(caller).secretAccessKey}`);
  return [day, region, service, terminator].reduce((key, part) => sign(key, part), start);
}

const sign = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest();

const callerOfCredential = (credential: string) => credential.split('/')[0] ?? '';

function sameText(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  return timingSafeEqual(digest(a), digest(b));
}

const mismatch = () =>
  new S3Error(
    403,
    'SignatureDoesNotMatch',
    'The request signature we calculated does not match the signature you provided. Check your key and signing method.',
  );

/** `20261130T230501Z` */
function parseAmazonDate(date: string): number {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(date) ?? [];
  if (second === undefined) throw new S3Error(403, 'AccessDenied', 'The request has no valid date');
  return Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second));
}

const encode = (text: string) =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (mark) => `%${mark.charCodeAt(0).toString(16).toUpperCase()}`);

const canonicalPath = (path: string) =>
  path
    .split('/')
    .map((segment) => encode(decodeURIComponent(segment)))
    .join('/');

function canonicalQuery(parameters: URLSearchParams): string {
  return [...parameters]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .toSorted((a, b) => (a < b ? -1 : 1))
    .join('&');
}

function canonicalHeader(headers: IncomingHttpHeaders, name: string): string {
  const value = headers[name];
  return (Array.isArray(value) ? value.join(',') : (value ?? '')).trim().replaceAll(/ +/g, ' ');
}
