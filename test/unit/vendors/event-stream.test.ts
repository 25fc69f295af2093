import { describe, expect, it } from 'vitest';
import { eventData } from '../../../lambdas/vendors/event-stream.ts';

async function* bytes(text: string, size: number): AsyncGenerator<Uint8Array> {
  const all = Buffer.from(text);
  for (let from = 0; from < all.length; from += size) yield all.subarray(from, from + size);
}

async function read(text: string, size = 1_000): Promise<string[]> {
  const seen: string[] = [];
  for await (const data of eventData(bytes(text, size))) seen.push(data);
  return seen;
}

describe('eventData', () => {
  it.each([1, 2, 3, 1_000])('reads events however they are cut into packets of %i bytes', async (size) => {
    const text = ': hi\n\nevent: a\ndata: {"x":"ü"}\nid: 7\n\ndata:b\ndata: c\r\n\r\ndata\r\rretry: 5\n\ndata: d\n\n';
    expect(await read(text, size)).toEqual(['{"x":"ü"}', 'b\nc', '', 'd']);
  });

  it('drops an event that the end cuts off', async () => {
    expect(await read('data: whole\n\ndata: half')).toEqual(['whole']);
    expect(await read('data: whole\n\ndata: half\n')).toEqual(['whole']);
  });

  it('refuses to collect without end', async () => {
    await expect(read(`data: ${'x'.repeat(300_000)}`)).rejects.toThrow('too long');
    await expect(read(`data: ${'x'.repeat(200_000)}\n`.repeat(2))).rejects.toThrow('too long');
  });
});
