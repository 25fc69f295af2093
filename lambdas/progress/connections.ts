import {
  ApiGatewayManagementApiClient,
  PostToConnectionCommand,
  type ApiGatewayManagementApiServiceException,
} from '@aws-sdk/client-apigatewaymanagementapi';

export type Posted =
  | { readonly kind: 'posted' }
  /** Closed for good: its followers' entries may go. */
  | { readonly kind: 'gone' }
  | { readonly kind: 'failed'; readonly error: unknown };

/** The socket connections of the WebSocket API. */
export interface Connections {
  post(connectionId: string, message: unknown): Promise<Posted>;
}

const connectTimeoutMs = 1_000;
const requestTimeoutMs = 3_000;

export class ApiGatewayConnections implements Connections {
  readonly #client: ApiGatewayManagementApiClient;

  /** `endpoint`: the stage's callback URL (https), not its wss one. */
  constructor(endpoint: string, requestTimeout = requestTimeoutMs) {
    this.#client = new ApiGatewayManagementApiClient({
      endpoint,
      // A lost live value is replaced by the next one: trying again would only delay that.
      maxAttempts: 1,
      // Without the last of them the SDK only warns, and waits for ever.
      requestHandler: { connectionTimeout: connectTimeoutMs, requestTimeout, throwOnRequestTimeout: true },
    });
  }

  async post(connectionId: string, message: unknown): Promise<Posted> {
    const Data = Buffer.from(JSON.stringify(message));
    try {
      await this.#client.send(new PostToConnectionCommand({ ConnectionId: connectionId, Data }));
      return { kind: 'posted' };
    } catch (error) {
      return isGone(error) ? { kind: 'gone' } : { kind: 'failed', error };
    }
  }
}

/** By status: with an empty body the SDK can't name the exception, and the body of a 410 is often empty. */
function isGone(error: unknown): boolean {
  const { name, $metadata } = error as Partial<ApiGatewayManagementApiServiceException>;
  return $metadata?.httpStatusCode === 410 || name === 'GoneException';
}
