import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import * as z from 'zod';

const cdkJson = z.object({ context: z.record(z.string(), z.unknown()) });

/**
 * The context of cdk.json, feature flags included. The CDK CLI passes it on; without the CLI it is read here, so that
 * `node bin/slowlane.ts` and the tests synthesize what `cdk deploy` deploys. What CDK_CONTEXT_JSON says still wins.
 */
export function readContext(): Record<string, unknown> {
  const file = resolve(import.meta.dirname, '../cdk.json');
  return cdkJson.parse(JSON.parse(readFileSync(file, 'utf8'))).context;
}
