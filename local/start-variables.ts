import * as z from 'zod';

const port = (usual: number) => z.coerce.number().int().min(0).max(65_535).default(usual);

/** The variables of `npm start`; docs/local.md tells of each. */
const variablesSchema = z.object({
  HOST: z.string().default('127.0.0.1'),
  PORT: port(4100),
  STUDIO_PORT: port(4190),
  DATA_DIR: z.string().default('.slowlane'),
  PUBLIC_URL: z.url({ protocol: /^https?$/ }).optional(),
  LOCAL_RECONCILE_SECONDS: z.coerce.number().positive().optional(),
});

export type StartVariables = z.infer<typeof variablesSchema>;
export type StartVariable = keyof StartVariables;

/** What each takes, as it ends a sentence. */
const takes: Readonly<Record<StartVariable, string>> = {
  HOST: 'an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all of them',
  PORT: 'a port from 1 to 65535, or 0 for any free one',
  STUDIO_PORT: 'a port from 1 to 65535, or 0 for any free one',
  DATA_DIR: 'a folder',
  PUBLIC_URL: 'what clients reach this machine by, such as http://192.168.1.20:4100',
  LOCAL_RECONCILE_SECONDS: 'a number of seconds above 0',
};

export const startVariables: readonly StartVariable[] = variablesSchema.keyof().options;

/** A variable that is set to nothing is not set. @throws Error in words for a person */
export function readStartVariables(variables: Readonly<Record<string, string | undefined>>): StartVariables {
  const given = startVariables.filter((name) => (variables[name] ?? '') !== '');
  const read = variablesSchema.safeParse(Object.fromEntries(given.map((name) => [name, variables[name]])));
  if (read.success) return read.data;
  const wrong = new Set(read.error.issues.map(({ path: [name] }) => name));
  const sentences = given
    .filter((name) => wrong.has(name))
    .map((name) => `${name} is ${JSON.stringify(variables[name])}, but takes ${takes[name]}.`);
  throw new Error(sentences.join('\n'));
}
