import * as z from 'zod';
import type { LocalFunctionSpec } from './runtime/functions.ts';
import type { SecretStore } from './stores/secrets.ts';
import type { RunningStudio } from './studio-process.ts';

const vendorsSchema = z.record(z.string(), z.object({ baseUrl: z.string(), secretArn: z.string() }));

/** Fills in what an operator would: the key and webhook secret of every vendor that is the studio. */
export async function giveStudioSecrets(
  specs: readonly LocalFunctionSpec[],
  studio: RunningStudio,
  secrets: SecretStore,
): Promise<void> {
  const arns = new Set<string>();
  for (const { variables } of specs) {
    const vendors = vendorsSchema.parse(JSON.parse(variables['VENDORS'] ?? '{}'));
    for (const { baseUrl, secretArn } of Object.values(vendors))
      if (baseUrl.startsWith(studio.url)) arns.add(secretArn);
  }
  for (const arn of arns) await secrets.put(arn, JSON.stringify(studio.secret));
}
