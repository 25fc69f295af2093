import { awsCredentials, awsRegion, awsSigner, type AwsVariables } from '../runtime/signed-fetch.ts';

export interface UploadLimits {
  /** The stored file has exactly this type, whatever the uploader says. */
  readonly contentType: string;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly expiresInSeconds: number;
}

export interface SignedUpload {
  /** Where the form is posted, as `multipart/form-data`: these fields first, then `file` as the last. */
  readonly url: string;
  readonly fields: Readonly<Record<string, string>>;
  readonly expiresAtMs: number;
}

interface UploadTarget {
  readonly bucket: string;
  readonly bucketUrl: string;
  readonly key: string;
}

/**
 * A presigned POST: unlike a presigned PUT, S3 itself refuses what is too large, of another type or under another key.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-HTTPPOSTConstructPolicy.html
 */
export async function signUpload(
  { bucket, bucketUrl, key }: UploadTarget,
  limits: UploadLimits,
  nowMs: number,
  variables: AwsVariables,
): Promise<SignedUpload> {
  const { accessKeyId, sessionToken } = awsCredentials(variables);
  const signingDate = new Date(nowMs);
  const expiresAtMs = nowMs + limits.expiresInSeconds * 1000;
  const longDate = signingDate.toISOString().replace(/[-:]|\.\d{3}/g, '');
  const fields: Record<string, string> = {
    key,
    'Content-Type': limits.contentType,
    success_action_status: '204',
    'x-amz-algorithm': 'AWS4-HMAC-SHA256',
    'x-amz-credential': `${accessKeyId}/${longDate.slice(0, 8)}/${awsRegion(variables)}/s3/aws4_request`,
    'x-amz-date': longDate,
    ...(sessionToken === undefined ? {} : { 'x-amz-security-token': sessionToken }),
  };
  const policy = {
    expiration: new Date(expiresAtMs).toISOString(),
    conditions: [
      { bucket },
      ...Object.entries(fields).map(([name, value]) => ({ [name]: value })),
      ['content-length-range', limits.minBytes, limits.maxBytes],
    ],
  };
  const encoded = Buffer.from(JSON.stringify(policy), 'utf8').toString('base64');
  const signature = await awsSigner('s3', variables).sign(encoded, { signingDate });
  return { url: bucketUrl, fields: { ...fields, policy: encoded, 'x-amz-signature': signature }, expiresAtMs };
}
