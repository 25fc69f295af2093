import { type ApiProblem, createOperatorApi, type OperatorApi, UnansweredError } from './operator-api.ts';
import { HelpWanted, UsageError } from './usage.ts';

/** What a tool of the terminal works with; tests give it another. */
export interface TerminalTool {
  readonly connect: (url: string, key: string) => OperatorApi;
  readonly variables: Readonly<Record<string, string | undefined>>;
  /** What a script may read. */
  readonly print: (line: string) => void;
  /** What only a person needs. */
  readonly explain: (line: string) => void;
}

/** All done · something was refused, or its outcome is not known · the arguments make no sense. */
export type ExitCode = 0 | 1 | 2;

/** Runs a tool for a person: what went wrong is said in a sentence, and told by the exit code. */
export async function runInTerminal(
  usage: string,
  tool: TerminalTool,
  run: (tool: TerminalTool) => Promise<ExitCode>,
): Promise<ExitCode> {
  try {
    return await run(tool);
  } catch (error) {
    if (error instanceof HelpWanted) {
      tool.print(usage);
      return 0;
    }
    if (error instanceof UsageError) {
      tool.explain(`${error.message}\n\n${usage}`);
      return 2;
    }
    if (!(error instanceof UnansweredError)) throw error;
    const advice = error.ordered ? ' Whether the order took effect is not known: look before you repeat it.' : '';
    tool.explain(`${error.message}${advice}`);
    return 1;
  }
}

export function explainRefusal(
  { code, title, detail, allowedFrom, ceiling, jobId }: ApiProblem,
  tool: TerminalTool,
): 1 {
  const more = [
    ...(typeof allowedFrom === 'string' ? [`Allowed from ${allowedFrom} on.`] : []),
    ...(typeof ceiling === 'number' ? [`The ceiling is ${ceiling}.`] : []),
    ...(typeof jobId === 'string' ? [`It is ${jobId}.`] : []),
    ...(code === 'still_may_run' ? ['Here: --not-running, and only if you looked it up at the vendor.'] : []),
  ];
  tool.explain([`${title} (${code}). ${detail}`, ...more].join(' '));
  return 1;
}

export const realTerminal: TerminalTool = {
  connect: createOperatorApi,
  variables: process.env,
  print: (line) => console.log(line),
  explain: (line) => console.error(line),
};
