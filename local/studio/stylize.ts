import sharp from 'sharp';

import type { StylizeParams } from './order.ts';
import { describePicture } from './picture.ts';
import type { WorkOutcome } from './work.ts';

/** An instant effect, at the size of the picture, which comes back upright. */
export async function stylize(input: Buffer, params: StylizeParams): Promise<WorkOutcome> {
  const upright = await readUpright(input);
  if (!upright) return { outcome: 'failed', reason: 'The picture is damaged.' };
  const bytes = await draw(upright, params);
  return { outcome: 'made', picture: { bytes, facts: await describePicture(bytes) } };
}

/** The picture as its viewer sees it, on white: the effects have no use for transparency. Undefined if it is damaged. */
async function readUpright(input: Buffer): Promise<Buffer | undefined> {
  try {
    return await sharp(input).autoOrient().flatten({ background: '#ffffff' }).toColourspace('srgb').png().toBuffer();
  } catch {
    // The header was read before; sharp says by throwing that the pixels can't be.
    return undefined;
  }
}

async function draw(upright: Buffer, params: StylizeParams): Promise<Buffer> {
  switch (params.style) {
    case 'sketch':
      return sketch(upright);
    case 'poster':
      return poster(upright);
    case 'duotone':
      return duotone(upright, params.shadow, params.highlight);
  }
}

/** A pencil drawing: the grey picture, dodged by its own inverted blur, is white but for the edges. */
async function sketch(upright: Buffer): Promise<Buffer> {
  const grey = await sharp(upright).modulate({ saturation: 0 }).png().toBuffer();
  const blurredNegative = await sharp(grey).negate().blur(6).png().toBuffer();
  const dodged = await sharp(grey)
    .composite([{ input: blurredNegative, blend: 'colour-dodge' }])
    .png()
    .toBuffer();
  // Pencil is darker than the dodge leaves it.
  return sharp(dodged).linear(1.6, -153).jpeg({ quality: 90 }).toBuffer();
}

/** Flat areas of sixteen strong colours. */
async function poster(upright: Buffer): Promise<Buffer> {
  const flat = await sharp(upright).median(3).modulate({ saturation: 1.5 }).png().toBuffer();
  return sharp(flat).png({ palette: true, colours: 16, dither: 0 }).toBuffer();
}

/** Two inks: the darkest grey becomes `shadow`, the lightest `highlight`, linearly between. */
async function duotone(upright: Buffer, shadow: string, highlight: string): Promise<Buffer> {
  const dark = channels(shadow);
  const light = channels(highlight);
  const grey = await sharp(upright).modulate({ saturation: 0 }).normalise().png().toBuffer();
  const spread = light.map((value, index) => (value - (dark[index] ?? 0)) / 255);
  return sharp(grey).linear(spread, dark).jpeg({ quality: 92, chromaSubsampling: '4:4:4' }).toBuffer();
}

function channels(colour: string): number[] {
  return [1, 3, 5].map((start) => Number.parseInt(colour.slice(start, start + 2), 16));
}
