import type { Waiting } from '../domain/ports.ts';
import type { VendorWord } from '../domain/vendor.ts';

/** Words as a vendor's stream brings them. `close` hangs up; the words then end. */
export interface WordStream {
  readonly words: AsyncIterable<VendorWord>;
  readonly close: () => void;
}

export interface Watching {
  /** Undefined where the vendor has no stream, or this one can't be opened. */
  readonly openStream: (signal: AbortSignal) => Promise<WordStream | undefined>;
  readonly ask: (signal: AbortSignal) => Promise<VendorWord>;
  readonly pollMs: number;
  /** Longest silence of a stream. Keep-alives don't count: they prove the connection, not the job. */
  readonly idleMs: number;
  readonly waiting: Waiting;
}

const longestPauseMs = 30_000;

/**
 * A job's words until a terminal one, `gone`, or the signal. The stream comes first; where it breaks, falls silent or
 * ends, the vendor is asked instead: the end of a stream is no news about the job.
 *
 * A consumer that is slower than the stream gets the newest word and misses the ones between: old progress is
 * worthless, and a finished job must not wait behind it.
 */
export async function* watchJob(watching: Watching, signal: AbortSignal): AsyncGenerator<VendorWord> {
  const stream = signal.aborted ? undefined : await watching.openStream(signal);
  if (stream) {
    for await (const word of newestWords(stream, watching, signal)) {
      if (signal.aborted) return;
      yield word;
      if (isLast(word)) return;
    }
  }
  yield* poll(watching, signal);
}

async function* poll({ ask, pollMs, waiting }: Watching, signal: AbortSignal): AsyncGenerator<VendorWord> {
  let failures = 0;
  while (!signal.aborted) {
    const word = await ask(signal);
    // An ask that we cut off ourselves is no word of the vendor's.
    if (signal.aborted) return;
    yield word;
    if (isLast(word)) return;
    failures = word.kind === 'unreachable' ? failures + 1 : 0;
    await waiting.wait(pauseMs(word, pollMs, failures), signal);
  }
}

function pauseMs(word: VendorWord, pollMs: number, failures: number): number {
  if (word.kind !== 'unreachable') return pollMs;
  const backOffMs = Math.min(pollMs * 2 ** failures, Math.max(pollMs, longestPauseMs));
  return Math.max(backOffMs, word.retryAfterMs ?? 0);
}

/** True for a word after which there is nothing to watch. */
export function isLast(word: VendorWord): boolean {
  switch (word.kind) {
    case 'pending':
    case 'unreachable':
      return false;
    case 'succeeded':
    case 'failed':
    case 'canceled':
    case 'gone':
      return true;
  }
}

async function* newestWords(
  stream: WordStream,
  { idleMs, waiting }: Watching,
  signal: AbortSignal,
): AsyncGenerator<VendorWord> {
  let newest: VendorWord | undefined;
  let hasEnded = false;
  let wake = (): void => undefined;
  const pumping = pump();
  try {
    while (!signal.aborted) {
      if (newest) {
        const word = newest;
        newest = undefined;
        yield word;
        continue;
      }
      if (hasEnded) return;
      await new Promise<void>((woken) => (wake = woken));
    }
  } finally {
    stream.close();
    await pumping;
  }

  async function pump(): Promise<void> {
    let silence = startSilence();
    signal.addEventListener('abort', stream.close, { once: true });
    try {
      for await (const word of stream.words) {
        silence.abort();
        silence = startSilence();
        // What can't be read is not shown: polling will tell whether it lasts.
        if (word.kind === 'unreachable') continue;
        newest = word;
        wake();
        if (isLast(word)) return;
      }
    } catch {
      // A broken stream is the ordinary case that polling is for; asking says whether the vendor is well.
    } finally {
      silence.abort();
      signal.removeEventListener('abort', stream.close);
      hasEnded = true;
      wake();
    }
  }

  async function hangUpAfterSilence(broken: AbortSignal): Promise<void> {
    await waiting.wait(idleMs, broken);
    if (!broken.aborted) stream.close();
  }

  function startSilence(): AbortController {
    const broken = new AbortController();
    void hangUpAfterSilence(broken.signal);
    return broken;
  }
}
