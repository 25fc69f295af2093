import * as http from 'node:http';
import * as https from 'node:https';

const answerTimeoutMs = 5_000;

/** Posts once. True only for a 2xx; every other answer, none, or no connection is false. */
export async function postWebhook(
  url: string,
  headers: Record<string, string>,
  body: string,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(answerTimeoutMs)]),
    });
    await response.body?.cancel();
    return response.ok;
  } catch {
    // A receiver that can't be reached is an ordinary day for a webhook: the caller tries again.
    return false;
  }
}

/** Sends the headers and half of the body, then resets the connection. */
export async function postHalfWebhook(url: string, headers: Record<string, string>, body: string): Promise<void> {
  const bytes = Buffer.from(body);
  const client = url.startsWith('https:') ? https : http;
  const options = { method: 'POST', headers: { ...headers, 'content-length': bytes.length }, timeout: answerTimeoutMs };
  await new Promise<void>((resolve) => {
    const request = client.request(url, options);
    request.once('error', () => resolve());
    request.once('timeout', () => request.destroy());
    request.once('close', () => resolve());
    request.write(bytes.subarray(0, bytes.length / 2), () => request.destroy());
  });
}
