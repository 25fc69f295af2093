import { Seeded } from '../fixtures/seeded.ts';
import { eventOf, type RawRequest } from './request.ts';
import { firstSeed } from './runs.ts';
import { Target, type TargetAnswer } from './target.ts';
import { askerOf, wrongWithAnswer, wrongWithEffects, type Asker } from './verdict.ts';

/** Sends a target what the seeds make up, and gathers what was wrong with the answers. */

const requestsPerTarget = 120;
const longestAnswerMs = 20_000;

export interface Battered {
  /** What was wrong, at most ten times, with the seed from which its target was begun. */
  readonly wrong: readonly string[];
  /** How often each status and code was answered: what was not reached was not tried. */
  readonly answers: ReadonlyMap<string, number>;
}

export interface BatterSettings {
  readonly runs: number;
  readonly photo: Uint8Array;
  readonly make: (
    random: Seeded,
    target: Target,
    tokens: ReadonlyMap<string, Asker>,
  ) => RawRequest | Promise<RawRequest>;
}

export async function batter({ runs, photo, make }: BatterSettings): Promise<Battered> {
  const wrong: string[] = [];
  const answers = new Map<string, number>();
  let target = await Target.open(photo);
  let tokens = await tokensOf(target);
  for (let run = 0; run < runs && wrong.length < 10; run += 1) {
    if (run % requestsPerTarget === 0) {
      target = await Target.open(photo);
      tokens = await tokensOf(target);
    }
    const seed = firstSeed + run;
    const random = new Seeded(seed);
    const request = await make(random, target, tokens);
    const event = eventOf(request, random.below(3) === 0);
    const before = target.snapshot();
    target.effects.length = 0;
    target.logged.length = 0;
    const answer = await inTime(target.send(event), seed);
    const name = nameOf(answer);
    answers.set(name, (answers.get(name) ?? 0) + 1);
    const found = [
      ...wrongWithAnswer(answer),
      ...wrongWithEffects(target, before, answer, event, askerOf(event, tokens)),
    ];
    if (found.length > 0)
      wrong.push(
        `seed ${seed}, HOSTILE_SEED=${seed - (run % requestsPerTarget)}: ${found.join('; ')}: ${describe(request)}`,
      );
  }
  return { wrong, answers };
}

export async function inTime<T>(answer: Promise<T>, seed: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`seed ${seed}: no answer`)), longestAnswerMs);
  });
  try {
    return await Promise.race([answer, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** A user of each tenant that has its own token; the one comes upon the limit of a minute, the other upon its token's. */
async function tokensOf({ clientTokens }: Target): Promise<ReadonlyMap<string, Asker>> {
  const users = [
    ['acme', 'ann', 100],
    ['evil', 'ann', 1],
  ] as const;
  const minted = users.map(async ([tenant, user, maxJobs]) => {
    const { token } = await clientTokens.mint({ tenant, user, maxJobs, expiresInSeconds: 3_600 });
    return [token, { tenant, user, scopes: ['jobs'] }] as const;
  });
  return new Map(await Promise.all(minted));
}

function nameOf({ status, text }: TargetAnswer): string {
  return status < 400 ? String(status) : `${status} ${String((JSON.parse(text ?? '{}') as { code?: unknown }).code)}`;
}

function describe({ body, ...request }: RawRequest): string {
  const said = typeof body === 'string' ? body.slice(0, 300) : `${body?.length ?? 0} bytes`;
  return `${JSON.stringify(request).slice(0, 600)} ${said}`;
}
