import { describe, expect, it } from 'vitest';
import { FaultBoard } from '../../local/studio/fault-board.ts';
import { faultSchema } from '../../local/studio/fault.ts';
import { StruckFaults, type CountedFault } from './struck-faults.ts';

const drop: CountedFault = { point: 'submit', fault: 'drop-after-accept', feature: 'stylize', times: 3 };
const throttle: CountedFault = { point: 'submit', fault: 'status', status: 429, times: 2 };

function openBoard() {
  const board = new FaultBoard();
  const struck = new StruckFaults({
    fault: (fault) => Promise.resolve(board.post(faultSchema.parse(fault))),
    faults: () => Promise.resolve(board.list()),
  });
  return { board, struck };
}

describe('the count of the faults that struck', () => {
  it('is of those that the vendor played, not of those that it was told', async () => {
    const { board, struck } = openBoard();
    await struck.post(drop);
    await struck.post(throttle);
    board.take('submit', 'stylize');
    board.take('submit', 'upscale');
    board.take('submit', 'upscale');
    await struck.count();
    expect([struck.counts.get('drop'), struck.counts.get('throttle'), struck.counts.get('stall')]).toEqual([1, 2, 0]);
  });

  it('goes on after the vendor forgot its faults', async () => {
    const { board, struck } = openBoard();
    await struck.post(drop);
    board.take('submit', 'stylize');
    await struck.count();
    board.clear();
    await struck.post(drop);
    await struck.post(drop);
    for (let time = 0; time < 4; time += 1) board.take('submit', 'stylize');
    await struck.count();
    expect(struck.counts.get('drop')).toBe(5);
  });

  it('leaves out what others told the vendor', async () => {
    const { board, struck } = openBoard();
    await struck.post(drop);
    board.post(faultSchema.parse({ point: 'submit', fault: 'drop-after-accept', feature: 'upscale', times: 9 }));
    await struck.count();
    expect(struck.counts.get('drop')).toBe(0);
  });
});
