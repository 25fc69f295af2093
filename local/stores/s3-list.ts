import { escapeXml, S3Error } from './s3-error.ts';
import type { ObjectRecord } from './s3-objects.ts';

/** One page of ListObjectsV2 over records that are already filtered by prefix and in key order. */
export function listDocument(bucket: string, records: readonly ObjectRecord[], query: URLSearchParams): string {
  if (query.get('delimiter')) throw new S3Error(501, 'NotImplemented', 'The local S3 lists without delimiters.');
  const pageSize = Math.min(1000, Number(query.get('max-keys') ?? 1000));
  const token = query.get('continuation-token');
  const after = token === null ? query.get('start-after') : Buffer.from(token, 'base64url').toString('utf8');
  const remaining =
    after === null
      ? records
      : records.filter((record) => Buffer.compare(Buffer.from(record.key), Buffer.from(after)) > 0);
  const page = remaining.slice(0, pageSize);
  const last = page.at(-1);
  const truncated = remaining.length > page.length && last !== undefined;
  const urlEncoded = query.get('encoding-type') === 'url';
  const name = (key: string) => (urlEncoded ? encodeURIComponent(key).replaceAll('%2F', '/') : escapeXml(key));
  return [
    '<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">',
    `<Name>${bucket}</Name><Prefix>${name(query.get('prefix') ?? '')}</Prefix>`,
    `<KeyCount>${page.length}</KeyCount><MaxKeys>${pageSize}</MaxKeys><IsTruncated>${truncated}</IsTruncated>`,
    urlEncoded ? '<EncodingType>url</EncodingType>' : '',
    truncated ? `<NextContinuationToken>${Buffer.from(last.key).toString('base64url')}</NextContinuationToken>` : '',
    ...page.map(
      (record) =>
        `<Contents><Key>${name(record.key)}</Key><LastModified>${new Date(record.modifiedAtMs).toISOString()}</LastModified>` +
        `<ETag>&quot;${record.etag}&quot;</ETag><Size>${record.bytes}</Size><StorageClass>STANDARD</StorageClass></Contents>`,
    ),
    '</ListBucketResult>',
  ].join('');
}
