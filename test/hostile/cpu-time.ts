/** What work takes of this process's CPU time, to which other processes add nothing; a slow core does. */
export async function cpuMsOf<T>(work: () => Promise<T> | T): Promise<{ readonly result: T; readonly cpuMs: number }> {
  const started = process.cpuUsage();
  const result = await work();
  const { user, system } = process.cpuUsage(started);
  return { result, cpuMs: (user + system) / 1_000 };
}

/** Fits into a request of API Gateway, just about. */
export const largestBody = 5_900_000;

const passes = 5;
let linearPassMs: number | undefined;

/** What this machine needs to read the largest body once, from one end to the other: the best of a few times. */
async function measurePassMs(): Promise<number> {
  const body = JSON.stringify(Array.from({ length: largestBody / 2 - 1 }, () => 1));
  const costs: number[] = [];
  while (costs.length < passes) costs.push((await cpuMsOf(() => JSON.parse(body) as unknown)).cpuMs);
  return Math.min(...costs);
}

/** A bound on CPU time: so many milliseconds or, where the machine is slow, what so many passes over a body take. */
export async function atMost(ms: number, linearPasses: number): Promise<number> {
  linearPassMs ??= await measurePassMs();
  return Math.max(ms, linearPasses * linearPassMs);
}
