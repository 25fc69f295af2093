import sharp from 'sharp';

import type { ResultFacts } from './job.ts';
import type { Order } from './order.ts';

/** Above this, `upscale` would hold its thread for longer than a caller waits: it refuses. */
export const maxUpscalePixels = 512 * 512;
export const maxStylizePixels = 24_000_000;

const contentTypes = new Map([
  ['jpeg', 'image/jpeg'],
  ['png', 'image/png'],
  ['webp', 'image/webp'],
]);

export type Inspection = { readonly outcome: 'fine' } | { readonly outcome: 'refused'; readonly reason: string };

/** Whether the studio takes this picture for this order, by its header only: it costs no decoding. */
export async function inspectPicture(picture: Buffer, feature: Order['feature']): Promise<Inspection> {
  const header = await readHeader(picture);
  if (!header || !contentTypes.has(header.format)) {
    return { outcome: 'refused', reason: 'The image is not a JPEG, PNG or WebP picture.' };
  }
  const maxPixels = feature === 'upscale' ? maxUpscalePixels : maxStylizePixels;
  if (header.width * header.height > maxPixels) {
    const size = `${header.width}×${header.height}`;
    return {
      outcome: 'refused',
      reason: `The picture has ${size} = ${header.width * header.height} pixels; ${feature} takes at most ${maxPixels}.`,
    };
  }
  return { outcome: 'fine' };
}

async function readHeader(picture: Buffer) {
  try {
    return await sharp(picture).metadata();
  } catch {
    // sharp says by throwing that these bytes are no picture.
    return undefined;
  }
}

/** The facts of an encoded picture, as a viewer sees it: orientation applied. Throws if it is none. */
export async function describePicture(picture: Uint8Array): Promise<ResultFacts> {
  const { format, autoOrient } = await sharp(picture).metadata();
  return {
    contentType: contentTypes.get(format) ?? `image/${format}`,
    bytes: picture.length,
    width: autoOrient.width,
    height: autoOrient.height,
  };
}
