import { signedFetch } from '../../../lambdas/runtime/signed-fetch.ts';
import { runtimeCaller } from '../../../local/runtime/permissions.ts';
import { CredentialIssuer } from '../../../local/stores/credentials.ts';

/** The key of every object in a bucket, asked of S3 page by page. @throws Error where S3 refuses. */
export async function listFiles(endpoint: string, bucket: string, dataDir: string): Promise<string[]> {
  const credentials = (await CredentialIssuer.open(dataDir)).issue(runtimeCaller);
  const variables = {
    AWS_REGION: 'us-east-1',
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  };
  const keys: string[] = [];
  let token: string | undefined;
  do {
    const url = new URL(`${endpoint}/${bucket}?list-type=2&encoding-type=url`);
    if (token !== undefined) url.searchParams.set('continuation-token', token);
    const { status, body } = await signedFetch('s3', { method: 'GET', url }, variables);
    const page = body.toString('utf8');
    if (status !== 200) throw new Error(`S3 answers ${status}: ${page}`);
    keys.push(...[...page.matchAll(/<Key>([^<]*)<\/Key>/g)].map(([, key = '']) => decodeURIComponent(key)));
    token = /<NextContinuationToken>([^<]*)</.exec(page)?.[1];
  } while (token !== undefined);
  return keys;
}
