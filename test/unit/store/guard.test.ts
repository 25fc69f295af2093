import { describe, expect, it } from 'vitest';
import { rowOf, transitions, type AnyMove } from '../../../lambdas/domain/lifecycle.ts';
import { guardedUpdate } from '../../../lambdas/store/guard.ts';
import { changeOf } from '../../fixtures/every-move.ts';
import { storedJob } from '../../fixtures/stored-job.ts';

const indexKeys = ['queuedLane', 'rank', 'activeShard', 'checkAt', 'attention', 'flaggedAt', 'owner', 'createdAt'];

function guarded(transition: AnyMove['transition']) {
  const { from } = rowOf(transition);
  return guardedUpdate({ transition, job: storedJob(from[0]), change: changeOf(transition) });
}

/** The attributes that the update writes or removes. */
function written(transition: AnyMove['transition']): readonly string[] {
  const { UpdateExpression, ExpressionAttributeNames } = guarded(transition);
  const placeholders = new Set(UpdateExpression.match(/#n\d+/g));
  return [...placeholders].map((placeholder) => ExpressionAttributeNames[placeholder] ?? '');
}

// What the updates do is compared with the lifecycle on a real wire, in test/contract/job-moves.test.ts.
describe('the update of a move', () => {
  it('of a tick touches no index: it would be billed once more in each', () => {
    expect(written('progress').filter((name) => indexKeys.includes(name))).toEqual([]);
  });

  it.each(transitions)('names and gives all that it uses and nothing else, %s', (transition) => {
    const update = guarded(transition);
    const text = `${update.ConditionExpression} ${update.UpdateExpression}`;
    expect(new Set(text.match(/#n\d+/g))).toEqual(new Set(Object.keys(update.ExpressionAttributeNames)));
    expect(new Set(text.match(/:v\d+/g))).toEqual(new Set(Object.keys(update.ExpressionAttributeValues ?? {})));
  });

  it.each(transitions)('has a condition on the state, so that it never makes an item, %s', (transition) => {
    const { ConditionExpression, ExpressionAttributeNames } = guarded(transition);
    const [state] = Object.entries(ExpressionAttributeNames).find(([, name]) => name === 'state') ?? [];
    expect(ConditionExpression.startsWith(`${state} IN (`)).toBe(true);
  });

  it.each(transitions)(
    'brings the job as it was exactly where a hold is freed or followers are told for the last time, %s',
    (transition) => {
      const { unbinds, ends } = rowOf(transition);
      expect(guarded(transition).ReturnValues).toBe(unbinds || ends ? 'ALL_OLD' : 'ALL_NEW');
    },
  );
});
