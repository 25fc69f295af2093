import * as z from 'zod';
import type { Clock } from '../domain/ports.ts';
import { awsEndpoint, signedFetch, type AwsVariables } from './signed-fetch.ts';

/** What a vendor's secret holds. */
export const vendorSecret = z.object({ apiKey: z.string().min(1), webhookSecret: z.string().min(1).optional() });
export type VendorSecret = z.infer<typeof vendorSecret>;

/** Signs client tokens, callback URLs and cursors. `previous` is what was current before the last rotation. */
export const signingSecret = z.object({ current: z.string().min(16), previous: z.string().min(16).optional() });
export type SigningSecret = z.infer<typeof signingSecret>;

export interface Secret<Value> {
  /** The value as of at most five minutes ago. @throws Error where it can't be read and none is remembered. */
  read(): Promise<Value>;
  /**
   * Reads it again, for a caller to whom the remembered one looks wrong (a rotation). What was read within the last
   * `withinMs` is not read again: a caller who guesses must not turn us against Secrets Manager. Ten seconds, unless
   * whoever says that it is wrong can be believed.
   */
  refresh(withinMs?: number): Promise<Value>;
}

export interface SecretSettings {
  readonly clock: Clock;
  readonly variables?: AwsVariables;
}

const REMEMBER_MS = 5 * 60_000;
const REFRESH_EVERY_MS = 10_000;
const READ_TIMEOUT_MS = 5_000;
const READ_TRIES = 2;

const answerBody = z.object({ SecretString: z.string() });

async function getSecretValue(arn: string, variables: AwsVariables): Promise<unknown> {
  const { status, body } = await signedFetch(
    'secretsmanager',
    {
      method: 'POST',
      url: new URL(`${awsEndpoint('secretsmanager', variables)}/`),
      headers: { 'content-type': 'application/x-amz-json-1.1', 'x-amz-target': 'secretsmanager.GetSecretValue' },
      body: JSON.stringify({ SecretId: arn }),
      timeoutMs: READ_TIMEOUT_MS,
    },
    variables,
  );
  if (status !== 200) throw new Error(`Secrets Manager answered ${status} for ${arn}`);
  return JSON.parse(answerBody.parse(JSON.parse(body.toString('utf8'))).SecretString);
}

/** Reading has no effect, so it is tried twice. @throws Error without the secret's text: an error ends in a log. */
async function readSecret<Schema extends z.ZodType>(
  arn: string,
  schema: Schema,
  variables: AwsVariables,
): Promise<z.infer<Schema>> {
  let failure: unknown;
  for (let tries = 0; tries < READ_TRIES; tries += 1) {
    try {
      const parsed = schema.safeParse(await getSecretValue(arn, variables));
      if (parsed.success) return parsed.data;
      failure = new Error(parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '));
    } catch (error) {
      // JSON.parse quotes what it could not read.
      failure = error instanceof SyntaxError ? new Error('It is not JSON') : error;
    }
  }
  throw new Error(`The secret ${arn} could not be read`, { cause: failure });
}

/** A secret of Secrets Manager, read when first needed and remembered by this sandbox. */
export function createSecret<Schema extends z.ZodType>(
  arn: string,
  schema: Schema,
  { clock, variables = process.env }: SecretSettings,
): Secret<z.infer<Schema>> {
  let remembered: { value: z.infer<Schema>; readAtMs: number } | undefined;
  let reading: Promise<z.infer<Schema>> | undefined;

  const readAgain = (): Promise<z.infer<Schema>> => {
    reading ??= readSecret(arn, schema, variables)
      .then((value) => {
        remembered = { value, readAtMs: clock.now() };
        return value;
      })
      .finally(() => {
        reading = undefined;
      });
    return reading;
  };
  const youngerThan = (ageMs: number) =>
    remembered !== undefined && clock.now() - remembered.readAtMs < ageMs ? remembered : undefined;

  return {
    read: async () => {
      const known = youngerThan(REMEMBER_MS);
      if (known) return known.value;
      try {
        return await readAgain();
      } catch (error) {
        // An old secret is almost always still the right one; refusing to work with it would make their outage ours.
        if (remembered) return remembered.value;
        throw error;
      }
    },
    refresh: async (withinMs = REFRESH_EVERY_MS) => youngerThan(withinMs)?.value ?? (await readAgain()),
  };
}
