import { describe, expect, it } from 'vitest';
import { readable } from '../../../lambdas/vendors/readable.ts';

describe('readable', () => {
  it('is one printable line', () => {
    expect(readable(' a\r\n\tb\u0000c\u202ed\u200b e\u2028f ')).toBe('a b c d e f');
  });

  it('is at most 160 characters, and never half of one', () => {
    expect(Array.from(readable('🖼'.repeat(160)))).toHaveLength(160);
    const cut = readable('🖼'.repeat(201));
    expect(Array.from(cut)).toHaveLength(160);
    expect(cut.endsWith('🖼…')).toBe(true);
  });

  it('never repeats a secret, and an empty secret hides nothing', () => {
    expect(readable('Incorrect key: sk-123 (sk-123)', ['', 'sk-123'])).toBe('Incorrect key: [secret] ([secret])');
  });
});
