import { randomInt, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import * as z from 'zod';
import type { CallLedger } from '../runtime/calls.ts';
import type { Permissions } from '../runtime/permissions.ts';
import { serveJsonService, ServiceError, type JsonRequest, type LoopbackServer } from './json-service.ts';

/** A secret as the template describes it: its text, or how to make one up. */
export const secretSchema = z.object({
  SecretString: z.string().optional(),
  GenerateSecretString: z
    .object({
      SecretStringTemplate: z.string().optional(),
      GenerateStringKey: z.string().optional(),
      PasswordLength: z.coerce.number().default(32),
      ExcludePunctuation: z.boolean().default(false),
      ExcludeCharacters: z.string().default(''),
    })
    .optional(),
});

export type SecretDefinition = z.infer<typeof secretSchema>;

const storedSchema = z.record(
  z.string(),
  z.object({ value: z.string(), versionId: z.string(), createdAtMs: z.number() }),
);

export interface SecretsOptions {
  readonly dataFolder: string;
  readonly permissions: () => Permissions;
  readonly calls: CallLedger;
}

/** Secrets Manager's reading and writing of values, in one file of the data folder. */
export class SecretStore {
  readonly #options: SecretsOptions;
  readonly #file: string;
  readonly #stored: z.infer<typeof storedSchema>;
  #server: LoopbackServer | undefined;
  #saving: Promise<void> = Promise.resolve();

  private constructor(options: SecretsOptions, file: string, stored: z.infer<typeof storedSchema>) {
    this.#options = options;
    this.#file = file;
    this.#stored = stored;
  }

  static async start(options: SecretsOptions): Promise<SecretStore> {
    await mkdir(options.dataFolder, { recursive: true });
    const file = path.join(options.dataFolder, 'secrets.json');
    const store = new SecretStore(options, file, await readStored(file));
    store.#server = await serveJsonService((request) => store.#handle(request));
    return store;
  }

  get url(): string {
    if (this.#server === undefined) throw new Error('The secret store is not started.');
    return this.#server.url;
  }

  /** Gives a secret its first value; one that has a value keeps it, as a second deployment does. */
  async ensure(arn: string, definition: SecretDefinition): Promise<void> {
    if (arn in this.#stored) return;
    await this.put(arn, firstValue(definition));
  }

  async put(arn: string, value: string): Promise<string> {
    const versionId = randomUUID();
    this.#stored[arn] = { value, versionId, createdAtMs: Date.now() };
    this.#saving = this.#saving.then(() => this.#save());
    await this.#saving;
    return versionId;
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    await this.#saving;
  }

  async #handle({ caller, operation, body }: JsonRequest): Promise<unknown> {
    this.#options.calls.record(caller, `secretsmanager.${operation}`);
    const arn = this.#find(String(body['SecretId']));
    const call = { action: `secretsmanager:${operation}`, resources: [arn ?? String(body['SecretId'])] };
    const refusal = this.#options.permissions().refusal(caller, call);
    if (refusal !== undefined) throw new ServiceError(400, 'AccessDeniedException', refusal);
    const stored = arn === undefined ? undefined : this.#stored[arn];
    if (arn === undefined || stored === undefined)
      throw new ServiceError(400, 'ResourceNotFoundException', "Secrets Manager can't find the specified secret.");
    switch (operation) {
      case 'GetSecretValue':
        return {
          ARN: arn,
          Name: nameOf(arn),
          VersionId: stored.versionId,
          SecretString: stored.value,
          VersionStages: ['AWSCURRENT'],
          CreatedDate: stored.createdAtMs / 1000,
        };
      case 'PutSecretValue':
        return {
          ARN: arn,
          Name: nameOf(arn),
          VersionId: await this.put(arn, String(body['SecretString'])),
          VersionStages: ['AWSCURRENT'],
        };
      default:
        throw new ServiceError(400, 'UnknownOperationException', `The local Secrets Manager has no ${operation}.`);
    }
  }

  /** By full ARN, by ARN without its random ending, or by name. */
  #find(secretId: string): string | undefined {
    return Object.keys(this.#stored).find(
      (arn) => arn === secretId || arn.replace(/-[^-]{6}$/, '') === secretId || nameOf(arn) === secretId,
    );
  }

  async #save(): Promise<void> {
    const temporary = `${this.#file}.new`;
    await writeFile(temporary, JSON.stringify(this.#stored, undefined, 2), { mode: 0o600 });
    await rename(temporary, this.#file);
  }
}

const nameOf = (arn: string) => (arn.split(':').at(-1) ?? '').replace(/-[^-]{6}$/, '');

async function readStored(file: string): Promise<z.infer<typeof storedSchema>> {
  try {
    return storedSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {};
    throw error;
  }
}

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const punctuation = '!#$%&()*+,-./:;<=>?@[]^_{|}~';

function firstValue({ SecretString, GenerateSecretString }: SecretDefinition): string {
  if (SecretString !== undefined) return SecretString;
  const { SecretStringTemplate, GenerateStringKey, ...rules } = GenerateSecretString ?? {
    PasswordLength: 32,
    ExcludePunctuation: false,
    ExcludeCharacters: '',
  };
  const alphabet = (letters + (rules.ExcludePunctuation ? '' : punctuation))
    .split('')
    .filter((character) => !rules.ExcludeCharacters.includes(character));
  const password = Array.from({ length: rules.PasswordLength }, () => alphabet[randomInt(alphabet.length)]).join('');
  if (SecretStringTemplate === undefined || GenerateStringKey === undefined) return password;
  const filled = { ...(JSON.parse(SecretStringTemplate) as object), [GenerateStringKey]: password };
  return JSON.stringify(filled);
}
