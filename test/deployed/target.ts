import * as z from 'zod';

/** What the suite is pointed at, and all that it knows of it. */
export const targetSchema = z.object({
  /** Of the HTTP API, without a trailing slash. */
  SLOWLANE_URL: z.url({ protocol: /^https?$/ }).transform((url) => url.replace(/\/+$/, '')),
  /** A server's key with the scopes `jobs`, `tokens` and `act-for-user`. */
  SLOWLANE_KEY: z.string().min(1),
  /** A server's key with the scope `operator`. */
  SLOWLANE_OPERATOR_KEY: z.string().min(1),
  /** Where the socket must be; without it, wherever a ticket says that it is. */
  SLOWLANE_SOCKET_URL: z.url({ protocol: /^wss?$/ }).optional(),
  /** A web page's origin that the environment lets in (`corsOrigins`). */
  SLOWLANE_ORIGIN: z.url({ protocol: /^https?$/ }).default('https://app.example.com'),
});
export type TargetVariables = z.input<typeof targetSchema>;

function readTarget() {
  const parsed = targetSchema.safeParse(process.env);
  if (parsed.success) return parsed.data;
  throw new Error(`The suite needs a target; use \`npm run test:deployed\`.\n${z.prettifyError(parsed.error)}`);
}

const { SLOWLANE_URL: url, SLOWLANE_KEY: key, SLOWLANE_OPERATOR_KEY: operatorKey, ...rest } = readTarget();

export const target = { url, key, operatorKey, socketUrl: rest.SLOWLANE_SOCKET_URL, origin: rest.SLOWLANE_ORIGIN };
