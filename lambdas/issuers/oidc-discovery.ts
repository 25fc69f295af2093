import { FetchError } from 'aws-jwt-verify/error';
import type { Fetcher } from 'aws-jwt-verify/https';
import * as z from 'zod';

const TIMEOUT_MS = 3_000;
const TRIES = 2;
const LONGEST_BYTES = 512 * 1024;

const discoveryDocument = z.object({ issuer: z.string(), jwks_uri: z.url({ protocol: /^https?$/ }) });

/** OpenID Connect Discovery 1.0, section 4: the path is appended to the issuer without its trailing slash. */
export const discoveryUrl = (issuer: string): string => `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;

async function download(url: string): Promise<ArrayBuffer> {
  let failure = new FetchError(url, 'not tried');
  for (let tries = 0; tries < TRIES; tries += 1) {
    try {
      const response = await fetch(url, { redirect: 'error', signal: AbortSignal.timeout(TIMEOUT_MS) });
      const body = await response.arrayBuffer();
      if (response.ok && body.byteLength <= LONGEST_BYTES) return body;
      failure = new FetchError(url, `answered ${response.status} with ${body.byteLength} bytes`);
    } catch (error) {
      failure = new FetchError(url, error);
    }
  }
  throw failure;
}

function parseDiscovery(url: string, body: ArrayBuffer): z.infer<typeof discoveryDocument> {
  try {
    return discoveryDocument.parse(JSON.parse(Buffer.from(body).toString('utf8')));
  } catch (error) {
    throw new FetchError(url, error);
  }
}

/**
 * Answers an issuer's discovery URL with its keys: issuers publish them at places of their own (Apple, Google, Firebase),
 * and name the place in the discovery document.
 */
export function createDiscoveringFetcher(issuers: readonly { readonly issuer: string }[]): Fetcher {
  const issuerAt = new Map(issuers.map(({ issuer }) => [discoveryUrl(issuer), issuer]));
  return {
    fetch: async (url) => {
      const issuer = issuerAt.get(url);
      const found = parseDiscovery(url, await download(url));
      if (found.issuer !== issuer) throw new FetchError(url, 'the document is of another issuer');
      if (issuer.startsWith('https:') && !found.jwks_uri.startsWith('https:')) {
        throw new FetchError(url, 'the keys are not served over https');
      }
      return download(found.jwks_uri);
    },
  };
}
