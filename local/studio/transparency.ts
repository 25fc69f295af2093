import sharp from 'sharp';

import type { Patch } from './tiles.ts';

/** A picture's transparency: one byte per pixel. */
export interface Alpha {
  readonly values: Uint8Array;
  readonly width: number;
  readonly height: number;
}

export function splitAlpha(rgba: Uint8Array, width: number, height: number): { colours: Patch; alpha: Alpha } {
  const pixels = new Uint8Array(width * height * 3);
  const values = new Uint8Array(width * height);
  for (let index = 0; index < values.length; index += 1) {
    pixels.set(rgba.subarray(index * 4, index * 4 + 3), index * 3);
    values[index] = rgba[index * 4 + 3] ?? 255;
  }
  return { colours: { pixels, width, height }, alpha: { values, width, height } };
}

/**
 * Gives invisible pixels the colour of the visible ones beside them, going outwards. Their own, often black, would
 * bleed into the visible edge when the picture is enlarged.
 */
export function spreadColours({ pixels, width, height }: Patch, alpha: Alpha): Patch {
  const spread = Uint8Array.from(pixels);
  const known = Uint8Array.from(alpha.values, (value) => (value > 0 ? 1 : 0));
  let frontier = [...known.keys()].filter((index) => known[index] === 1);
  while (frontier.length > 0) {
    const next: number[] = [];
    for (const index of frontier) {
      for (const neighbour of neighbours(index, width, height)) {
        if (known[neighbour] === 1) continue;
        known[neighbour] = 1;
        spread.copyWithin(neighbour * 3, index * 3, index * 3 + 3);
        next.push(neighbour);
      }
    }
    frontier = next;
  }
  return { pixels: spread, width, height };
}

/** Enlarged smoothly: the model knows pictures, not masks. */
export async function enlargeAlpha({ values, width, height }: Alpha, scale: number): Promise<Buffer> {
  return sharp(values, { raw: { width, height, channels: 1 } })
    .resize(width * scale, height * scale, { kernel: 'lanczos3', fit: 'fill' })
    .toColourspace('b-w')
    .raw()
    .toBuffer();
}

function neighbours(index: number, width: number, height: number): number[] {
  const column = index % width;
  const found: number[] = [];
  if (column > 0) found.push(index - 1);
  if (column < width - 1) found.push(index + 1);
  if (index >= width) found.push(index - width);
  if (index < width * (height - 1)) found.push(index + width);
  return found;
}
