import * as z from 'zod';
import { UsageError } from './usage.ts';

/** The operator routes of one deployment, as its tools call them: over HTTP, with a key of scope `operator`. */

/** No answer, or none of ours. */
export class UnansweredError extends Error {
  /** Whether anything was asked to change: then it may have taken effect nevertheless. */
  readonly ordered: boolean;

  constructor(message: string, ordered: boolean, options?: ErrorOptions) {
    super(message, options);
    this.ordered = ordered;
  }
}

const problemSchema = z.looseObject({ code: z.string(), title: z.string(), detail: z.string() });
export type ApiProblem = z.infer<typeof problemSchema>;

export type Answered<Value> =
  | { readonly kind: 'answered'; readonly value: Value; readonly raw: unknown }
  | { readonly kind: 'refused'; readonly problem: ApiProblem };

export interface ApiCall {
  readonly method: 'GET' | 'POST' | 'PATCH';
  /** Below `/api/v1/operator/`, each part as it is. */
  readonly path: readonly string[];
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
}

export interface OperatorApi {
  /** Exactly one request: an order is never repeated by itself. @throws UnansweredError */
  call<Schema extends z.ZodType>(call: ApiCall, schema: Schema): Promise<Answered<z.infer<Schema>>>;
}

/** API Gateway itself gives up after 30 s. */
const timeoutMs = 35_000;

/** @param url of the HTTP API, as the stack's output `ApiUrl` has it. */
export function createOperatorApi(url: string, key: string): OperatorApi {
  return {
    call: async ({ method, path, query = {}, body }, schema) => {
      const target = new URL(`${url.replace(/\/+$/, '')}/api/v1/operator/${path.map(encodeURIComponent).join('/')}`);
      for (const [name, value] of Object.entries(query)) {
        if (value !== undefined) target.searchParams.set(name, value);
      }
      const { status, text } = await request(target, method, key, body);
      const raw = jsonOf(text);
      if (status >= 200 && status < 300) {
        const read = schema.safeParse(raw);
        if (read.success) return { kind: 'answered', value: read.data, raw };
      }
      const problem = problemSchema.safeParse(raw);
      if (problem.success) return { kind: 'refused', problem: problem.data };
      const strange = `${target.origin} answered ${status}, and nothing that this tool understands: is it the output ApiUrl?`;
      throw new UnansweredError(strange, method !== 'GET');
    },
  };
}

async function request(
  target: URL,
  method: string,
  key: string,
  body: unknown,
): Promise<{ status: number; text: string }> {
  try {
    const response = await fetch(target, {
      method,
      headers: { 'x-api-key': key, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      // A key is never carried on to wherever an answer points.
      redirect: 'manual',
      signal: AbortSignal.timeout(timeoutMs),
    });
    return { status: response.status, text: await response.text() };
  } catch (error) {
    throw new UnansweredError(`${target.origin} does not answer.`, method !== 'GET', { cause: error });
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const whichUrl = 'Which deployment? Set SLOWLANE_URL to the output ApiUrl of its stack, or say --url';
const whichKey = 'With which key? Set SLOWLANE_KEY, or say --key';
const accessSchema = z.object({
  url: z.url({ protocol: /^https?$/, error: whichUrl }),
  key: z
    .string({ error: whichKey })
    // A file's last line break comes along with `$(cat …)` in some shells.
    .trim()
    .min(1, { error: whichKey })
    // HTTP could not carry it: nothing would be asked, and it would look as if nobody answered.
    .regex(/^[\x20-\x7e]*$/, { error: 'The key has characters that no key has: was more copied than the key?' }),
});

/** `--url` and `--key`, or else the environment's. @throws UsageError */
export function readAccess(
  { url, key }: { readonly url?: string | undefined; readonly key?: string | undefined },
  variables: Readonly<Record<string, string | undefined>>,
): { readonly url: string; readonly key: string } {
  const access = { url: url ?? variables['SLOWLANE_URL'], key: key ?? variables['SLOWLANE_KEY'] };
  const read = accessSchema.safeParse(access);
  if (read.success) return read.data;
  throw new UsageError(read.error.issues[0]?.message ?? 'Which deployment, and with which key?');
}
