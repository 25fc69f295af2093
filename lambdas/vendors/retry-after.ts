/** SQS delays a message no longer than this, and no vendor's word holds a lane for longer without being asked again. */
export const longestRetryAfterMs = 900_000;

/**
 * What a Retry-After header asks for (RFC 9110 §10.2.3: seconds, or an HTTP date), in milliseconds from `now` (epoch),
 * clamped to 0–15 minutes. Undefined where there is none that can be read.
 */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  const text = header?.trim() ?? '';
  // Fractions are not in the RFC, but vendors send them.
  if (/^\d{1,9}(\.\d{1,9})?$/.test(text)) return clamp(Math.ceil(Number(text) * 1_000));
  // A date always names its day; without this, Date.parse would read "-5" and "1e3" as years.
  if (!/^[A-Z][a-z]{2,8},/.test(text)) return undefined;
  const at = Date.parse(text);
  return Number.isNaN(at) ? undefined : clamp(at - now);
}

function clamp(delayMs: number): number {
  return Math.min(Math.max(delayMs, 0), longestRetryAfterMs);
}
