import type { Credentials } from '../stores/credentials.ts';
import type { LocalFunctionSpec } from './functions.ts';

export interface Endpoints {
  readonly dynamodb: string;
  readonly sqs: string;
  readonly s3: string;
  readonly secretsManager: string;
  readonly eventBridge: string;
  readonly apiGatewayManagement: string;
}

/** What Lambda itself sets in a function's environment, with AWS's own variables pointing at the stores of this machine. */
export function platformVariables(
  spec: LocalFunctionSpec,
  region: string,
  credentials: Credentials,
  endpoints: Endpoints,
): Record<string, string> {
  return {
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_ACCESS_KEY_ID: credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    AWS_SESSION_TOKEN: credentials.sessionToken,
    AWS_EXECUTION_ENV: 'AWS_Lambda_nodejs24.x',
    AWS_LAMBDA_FUNCTION_NAME: spec.name,
    AWS_LAMBDA_FUNCTION_VERSION: '$LATEST',
    AWS_LAMBDA_FUNCTION_MEMORY_SIZE: String(spec.memoryMegabytes),
    AWS_LAMBDA_LOG_GROUP_NAME: spec.logGroupName,
    AWS_LAMBDA_LOG_STREAM_NAME: 'local',
    AWS_LAMBDA_INITIALIZATION_TYPE: 'on-demand',
    LAMBDA_TASK_ROOT: spec.bundleFile.replace(/\/[^/]*$/, ''),
    _HANDLER: `index.${spec.exportName}`,
    TZ: ':UTC',
    LANG: 'en_US.UTF-8',
    AWS_ENDPOINT_URL_DYNAMODB: endpoints.dynamodb,
    AWS_ENDPOINT_URL_SQS: endpoints.sqs,
    AWS_ENDPOINT_URL_S3: endpoints.s3,
    AWS_ENDPOINT_URL_SECRETS_MANAGER: endpoints.secretsManager,
    AWS_ENDPOINT_URL_EVENTBRIDGE: endpoints.eventBridge,
    AWS_ENDPOINT_URL_APIGATEWAYMANAGEMENTAPI: endpoints.apiGatewayManagement,
  };
}
