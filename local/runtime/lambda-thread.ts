/**
 * One execution environment of one function: loads its bundle once, then runs one invocation at a time. `process.env` is
 * the function's own, set by the thread's parent. Payloads cross as JSON text, as they do on AWS.
 */
import { pathToFileURL } from 'node:url';
import { parentPort, workerData } from 'node:worker_threads';

export interface ThreadData {
  readonly bundleFile: string;
  readonly exportName: string;
  readonly functionName: string;
  readonly functionArn: string;
  readonly memoryMegabytes: number;
  readonly logGroupName: string;
}

export interface ThreadRequest {
  readonly requestId: string;
  readonly payload: string;
  readonly deadlineMs: number;
}

export interface FunctionError {
  readonly errorType: string;
  readonly errorMessage: string;
  readonly trace: readonly string[];
}

export type ThreadReport =
  | { kind: 'ready' }
  | { kind: 'answered'; requestId: string; payload: string }
  | { kind: 'failed'; requestId: string; error: FunctionError };

type Handler = (event: unknown, context: object) => unknown;

const data = workerData as ThreadData;
const port = parentPort;
if (port === null) throw new Error('This module runs as a worker thread.');

// oxlint-disable-next-line unicorn/require-post-message-target-origin -- a worker's port has no origin
const report = (message: ThreadReport) => port.postMessage(message);

// A module that fails to load ends the thread: its parent sees the error, as Lambda sees a failed init.
const bundle = (await import(pathToFileURL(data.bundleFile).href)) as Record<string, unknown>;
const handler = bundle[data.exportName];
if (typeof handler !== 'function')
  throw new Error(`Runtime.HandlerNotFound: ${data.bundleFile} has no ${data.exportName}`);

port.on('message', (request: ThreadRequest) => {
  void run(handler as Handler, request).then(report);
});
report({ kind: 'ready' });

async function run(handle: Handler, { requestId, payload, deadlineMs }: ThreadRequest): Promise<ThreadReport> {
  const context = {
    functionName: data.functionName,
    functionVersion: '$LATEST',
    invokedFunctionArn: data.functionArn,
    memoryLimitInMB: String(data.memoryMegabytes),
    awsRequestId: requestId,
    logGroupName: data.logGroupName,
    logStreamName: 'local',
    callbackWaitsForEmptyEventLoop: true,
    getRemainingTimeInMillis: () => Math.max(0, deadlineMs - Date.now()),
  };
  try {
    const result: unknown = await handle(JSON.parse(payload), context);
    return { kind: 'answered', requestId, payload: JSON.stringify(result) ?? 'null' };
  } catch (thrown) {
    return { kind: 'failed', requestId, error: describe(thrown) };
  }
}

function describe(thrown: unknown): FunctionError {
  if (!(thrown instanceof Error)) return { errorType: 'Error', errorMessage: String(thrown), trace: [] };
  return { errorType: thrown.name, errorMessage: thrown.message, trace: (thrown.stack ?? '').split('\n') };
}
