const maxMessageLength = 160;

/**
 * A vendor's words made fit to store and to show: one line, printable, at most 160 characters, and without our own
 * secrets, which some vendors repeat in their refusals.
 */
export function readable(text: string, secrets: readonly string[] = []): string {
  // Cut before cleaning: a vendor's error page may be megabytes long.
  let line = text.slice(0, 4_000);
  for (const secret of secrets) if (secret !== '') line = line.replaceAll(secret, '[secret]');
  // Control and format characters: no line breaks in logs, no bidirectional overrides in an app's screen.
  line = line.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\s]+/gu, ' ').trim();
  const characters = Array.from(line);
  return characters.length <= maxMessageLength ? line : `${characters.slice(0, maxMessageLength - 1).join('')}…`;
}
