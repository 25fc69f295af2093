import { runtimeCaller } from './permissions.ts';

/** AWS calls made by each function since the last reset, e.g. `{"submit-job":{"dynamodb.PutItem":2}}`. */
export class CallLedger {
  readonly #counts = new Map<string, Map<string, number>>();

  /** @param operation service and operation, e.g. `sqs.SendMessage` */
  record(caller: string, operation: string): void {
    if (caller === runtimeCaller) return;
    const counts = this.#counts.get(caller) ?? new Map<string, number>();
    counts.set(operation, (counts.get(operation) ?? 0) + 1);
    this.#counts.set(caller, counts);
  }

  snapshot(): Record<string, Record<string, number>> {
    return Object.fromEntries([...this.#counts].map(([caller, counts]) => [caller, Object.fromEntries(counts)]));
  }

  reset(): void {
    this.#counts.clear();
  }
}
