/**
 * DynamoDB in a thread of its own: dynalite on a LevelDB folder. The AWS SDK and the server in one thread would wait for
 * each other. Callers are counted and checked here, in front of the database, so that no second hop is needed for it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { parentPort, workerData } from 'node:worker_threads';
import { readBody, sendJson } from '../runtime/http-body.ts';
import { callerOf, Permissions, type StatementsByCaller } from '../runtime/permissions.ts';
import { dynalite } from './dynamo-shim.ts';
import { repairIndexes } from './dynamo-index-repair.ts';
import { dynamoCall } from './dynamo-call.ts';

export interface DynamoThreadData {
  readonly folder: string;
}

export type DynamoThreadOrder =
  | { kind: 'permissions'; statements: StatementsByCaller; region: string }
  | { kind: 'flush' }
  | { kind: 'stop' };

export type DynamoThreadReport =
  | { kind: 'listening'; port: number }
  | { kind: 'called'; caller: string; operation: string }
  | { kind: 'flushed' }
  | { kind: 'stopped' };

const port = parentPort;
if (port === null) throw new Error('This module runs as a worker thread.');
// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker's port has no origin
const report = (message: DynamoThreadReport) => port.postMessage(message);

const { folder } = workerData as DynamoThreadData;
await repairIndexes(folder);
const server = dynalite({ path: folder, createTableMs: 0, deleteTableMs: 0, updateTableMs: 0 });
const [serve] = server.listeners('request') as ((request: unknown, response: ServerResponse) => void)[];
if (serve === undefined) throw new Error('dynalite listens to no requests.');
server.removeAllListeners('request');
server.keepAliveTimeout = 60_000;

let permissions = new Permissions({});
let region = 'us-east-1';
const bodyLimitBytes = 16 * 1024 * 1024;

server.on('request', (request: IncomingMessage, response: ServerResponse) => {
  admit(request, response).catch((thrown: unknown) => response.destroy(thrown as Error));
});

async function admit(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = (await readBody(request, bodyLimitBytes)) ?? Buffer.alloc(0);
  const operation = String(request.headers['x-amz-target'] ?? '').split('.')[1];
  const caller = callerOf(request.headers.authorization);
  if (operation !== undefined && caller !== undefined) {
    report({ kind: 'called', caller, operation });
    const refusal = permissions.refusal(caller, dynamoCall(operation, body.toString('utf8'), region));
    if (refusal !== undefined) {
      const type = 'com.amazon.coral.service#AccessDeniedException';
      sendJson(response, 400, { __type: type, Message: refusal }, { 'content-type': 'application/x-amz-json-1.0' });
      return;
    }
  }
  // The body is already read, so dynalite gets the same request with the body to be read again.
  const { headers, method, url } = request;
  serve?.(Object.assign(Readable.from([body]), { headers, method, url }), response);
}

port.on('message', (order: DynamoThreadOrder) => {
  switch (order.kind) {
    case 'permissions':
      permissions = new Permissions(order.statements);
      region = order.region;
      return;
    case 'flush':
      return report({ kind: 'flushed' });
    case 'stop':
      server.close(() => report({ kind: 'stopped' }));
      server.closeAllConnections();
      return;
  }
});

server.listen(0, '127.0.0.1', () => report({ kind: 'listening', port: (server.address() as AddressInfo).port }));
