import type { APIGatewayProxyEventV2 } from 'aws-lambda';
import { readIdempotencyKey } from '../domain/idempotency.ts';
import { refuseBody, type BodyRead } from './request.ts';

export function readKey({ headers }: APIGatewayProxyEventV2): BodyRead<string> {
  const read = readIdempotencyKey(headers['idempotency-key']);
  switch (read.kind) {
    case 'key':
      return { kind: 'read', value: read.key };
    case 'missing':
      return refuseBody({ code: 'idempotency_key_required' });
    case 'malformed':
      return refuseBody({ code: 'idempotency_key_invalid' });
  }
}
