/**
 * Whether an event matches an EventBridge pattern: every member of the pattern must find one of its values in the event.
 * Of the operators, those that a rule of a job's events would use. @throws for another one.
 */
export function matchesEventPattern(pattern: Readonly<Record<string, unknown>>, event: unknown): boolean {
  if (typeof event !== 'object' || event === null) return false;
  return Object.entries(pattern).every(([name, wanted]) => {
    const actual = (event as Record<string, unknown>)[name];
    if (!Array.isArray(wanted)) return matchesEventPattern(wanted as Record<string, unknown>, actual);
    const values = Array.isArray(actual) ? actual : [actual];
    return wanted.some((one) => values.some((value) => matchesValue(one, value)));
  });
}

function matchesValue(wanted: unknown, actual: unknown): boolean {
  if (typeof wanted !== 'object' || wanted === null) return wanted === actual;
  const [[operator, operand] = []] = Object.entries(wanted);
  switch (operator) {
    case 'prefix':
      return typeof actual === 'string' && actual.startsWith(String(operand));
    case 'exists':
      return (actual !== undefined) === operand;
    case 'anything-but':
      return actual !== undefined && ![operand].flat().includes(actual);
    default:
      throw new Error(`The local EventBridge has no pattern operator ${operator}.`);
  }
}
