export interface OfficialClient {
  readonly name: string;
  readonly version: string;
  /** One user action against the vendor at `baseUrl`. Rejects where the client gives up. */
  readonly act: (baseUrl: string) => Promise<unknown>;
}

export declare const clients: readonly OfficialClient[];
