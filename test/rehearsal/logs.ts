import * as z from 'zod';
import { callAws, type Account } from './aws.ts';

const groupsSchema = z.object({
  logGroups: z.array(z.object({ logGroupName: z.string() })),
  nextToken: z.string().optional(),
});
const eventsSchema = z.object({ events: z.array(z.object({ message: z.string() })), nextToken: z.string().optional() });

/** What every log group holds, by its name; names hold those of the constructs. */
export async function readLogs(account: Account): Promise<ReadonlyMap<string, readonly string[]>> {
  const logs = new Map<string, readonly string[]>();
  let nextToken: string | undefined;
  do {
    const page = await callAws(account, 'logs', 'DescribeLogGroups', token(nextToken), groupsSchema);
    for (const { logGroupName } of page.logGroups) logs.set(logGroupName, await readGroup(account, logGroupName));
    nextToken = page.nextToken;
  } while (nextToken !== undefined);
  return logs;
}

async function readGroup(account: Account, logGroupName: string): Promise<string[]> {
  const lines: string[] = [];
  let nextToken: string | undefined;
  do {
    const page = await callAws(account, 'logs', 'FilterLogEvents', { logGroupName, ...token(nextToken) }, eventsSchema);
    lines.push(...page.events.map(({ message }) => message.trimEnd()));
    nextToken = page.nextToken;
  } while (nextToken !== undefined);
  return lines;
}

function token(nextToken: string | undefined): { readonly nextToken?: string } {
  return nextToken === undefined ? {} : { nextToken };
}

/** The lines of all groups whose name holds `part`. @throws Error where there is no such group */
export function linesOf(logs: ReadonlyMap<string, readonly string[]>, part: string): string[] {
  const groups = [...logs].filter(([name]) => name.includes(part));
  if (groups.length === 0) throw new Error(`There is no log group …${part}…`);
  return groups.flatMap(([, lines]) => lines);
}
