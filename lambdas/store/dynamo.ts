import { DynamoDBClient, type DynamoDBClientConfig } from '@aws-sdk/client-dynamodb';

const connectionTimeoutMs = 1_000;
const requestTimeoutMs = 3_000;
/** The SDK's own default is 4; three tries of at most 3 s leave a function time to answer. */
const maxAttempts = 3;

/**
 * The client of every store. By default the SDK waits for ever on a socket that went silent, and with a request timeout
 * alone it only logs a warning: all three options are needed. Where it is comes from AWS's own variables, unless said.
 */
export function createDynamo(
  elsewhere: Pick<DynamoDBClientConfig, 'endpoint' | 'region' | 'credentials'> = {},
): DynamoDBClient {
  return new DynamoDBClient({
    ...elsewhere,
    maxAttempts,
    requestHandler: {
      connectionTimeout: connectionTimeoutMs,
      requestTimeout: requestTimeoutMs,
      throwOnRequestTimeout: true,
    },
  });
}
