import { DynamoDBClient } from '@aws-sdk/client-dynamodb';
import type { ExitCode } from './terminal-tool.ts';
import { HelpWanted, UsageError } from './usage.ts';

/** Runs a tool that works with a person's own AWS credentials: what is wrong with those is said in a sentence. */
export async function runWithAws(usage: string, run: (client: DynamoDBClient) => Promise<void>): Promise<ExitCode> {
  const client = new DynamoDBClient({});
  try {
    await run(client);
    return 0;
  } catch (error) {
    if (error instanceof HelpWanted) {
      console.log(usage);
      return 0;
    }
    if (error instanceof UsageError) {
      console.error(`${error.message}\n\n${usage}`);
      return 2;
    }
    const refusal = explainAws(error);
    if (refusal === undefined) throw error;
    console.error(refusal);
    return 1;
  } finally {
    client.destroy();
  }
}

/** @returns undefined for what is no matter of access to AWS. */
export function explainAws(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  // The SDK has no class for it.
  if (error.message === 'Region is missing')
    return 'Which region? Set AWS_REGION, or AWS_PROFILE to a profile with one.';
  if (error.name === 'CredentialsProviderError') {
    return 'There are no AWS credentials here: set AWS_PROFILE, or sign in first (`aws sso login`).';
  }
  return '$metadata' in error ? `AWS refuses: ${error.message} (${error.name})` : undefined;
}
