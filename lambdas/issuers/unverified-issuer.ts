import * as z from 'zod';

const issuerClaim = z.object({ iss: z.string() });

/** Who a token claims to come from. Only good for choosing who is to verify it. */
export function unverifiedIssuer(token: string): string | undefined {
  const parts = token.split('.');
  if (parts.length !== 3) return undefined;
  try {
    const payload: unknown = JSON.parse(Buffer.from(parts[1] ?? '', 'base64url').toString('utf8'));
    return issuerClaim.safeParse(payload).data?.iss;
  } catch {
    return undefined;
  }
}
