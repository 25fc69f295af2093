import * as z from 'zod';

/** The studio's webhook secret where none is given: public, for development only. */
export const developmentWebhookSecret = 'whsec_c3R1ZGlvLWxvY2FsLXdlYmhvb2stc2VjcmV0LTAwMDE=';

const settingsSchema = z.object({
  HOST: z.string().min(1).default('127.0.0.1'),
  PORT: z.coerce.number().int().min(0).max(65_535).default(4190),
  DATA_DIR: z.string().min(1),
  STUDIO_API_KEY: z.string().min(1).default('studio-local-key'),
  WEBHOOK_SECRET: z
    .string()
    .regex(/^whsec_[A-Za-z0-9+/]+={0,2}$/, 'must be whsec_ followed by base64')
    .default(developmentWebhookSecret),
  CONCURRENCY: z.coerce.number().int().min(1).max(64).default(8),
});

export interface StudioSettings {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** Holds the ledger and the pictures; one studio at a time. */
  readonly dataDir: string;
  readonly apiKey: string;
  /** `whsec_` + base64, as Standard Webhooks writes it. */
  readonly webhookSecret: string;
  /** Jobs that run at once; the others wait in the order in which they were accepted. */
  readonly concurrency: number;
  /** Pauses between the tries of one webhook; its length + 1 is the number of tries. */
  readonly webhookPausesMs: readonly number[];
}

export const webhookPausesMs = [500, 2_000, 8_000] as const;

/** Throws a ZodError that names every variable that is missing or wrong. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): StudioSettings {
  const parsed = settingsSchema.parse(environment);
  return {
    host: parsed.HOST,
    port: parsed.PORT,
    dataDir: parsed.DATA_DIR,
    apiKey: parsed.STUDIO_API_KEY,
    webhookSecret: parsed.WEBHOOK_SECRET,
    concurrency: parsed.CONCURRENCY,
    webhookPausesMs,
  };
}
