/** Does something again and again, never twice at a time. `stop` waits for the one that is going on. */
export function repeat(everyMs: number, work: () => Promise<void>): { stop: () => Promise<void> } {
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= work()
      .catch((error: unknown) => console.error(error))
      .finally(() => {
        running = undefined;
      });
  }, everyMs);
  return {
    stop: async () => {
      clearInterval(timer);
      await running;
    },
  };
}
