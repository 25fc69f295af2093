import { setImmediate as nextTurn } from 'node:timers/promises';
import sharp from 'sharp';

import type { Enlarge } from './super-resolution.ts';
import { reach, scale } from './super-resolution.ts';
import type { Patch } from './tiles.ts';
import { readTile, tilesOf, writeTile } from './tiles.ts';
import type { Alpha } from './transparency.ts';
import { enlargeAlpha, splitAlpha, spreadColours } from './transparency.ts';

/** Small enough for progress several times a second, large enough that the margins cost less than the work. */
const tileSide = 64;

export interface TileWatch {
  stopped(): boolean;
  tileDone(done: number, tiles: number): void;
}

export type UpscaleOutcome =
  | { readonly outcome: 'made'; readonly picture: Uint8Array }
  | { readonly outcome: 'stopped' }
  | { readonly outcome: 'damaged' };

interface Decoded {
  readonly colours: Patch;
  readonly alpha: Alpha | undefined;
  readonly format: string;
}

/** Twice the width and height of the upright picture. Lossless out, unless it came in as JPEG. */
export async function upscalePicture(input: Uint8Array, enlarge: Enlarge, watch: TileWatch): Promise<UpscaleOutcome> {
  const decoded = await decode(input);
  if (!decoded) return { outcome: 'damaged' };
  const { colours, alpha, format } = decoded;
  const enlarged = await enlargeByTiles(alpha ? spreadColours(colours, alpha) : colours, enlarge, watch);
  if (!enlarged) return { outcome: 'stopped' };
  return { outcome: 'made', picture: await encode(enlarged, alpha, format) };
}

async function decode(input: Uint8Array): Promise<Decoded | undefined> {
  try {
    const { format } = await sharp(input).metadata();
    const { data, info } = await sharp(input)
      .autoOrient()
      .toColourspace('srgb')
      .raw()
      .toBuffer({ resolveWithObject: true });
    const { width, height } = info;
    if (info.channels !== 3 && info.channels !== 4) return undefined;
    if (info.channels === 4) return { ...splitAlpha(data, width, height), format };
    return { colours: { pixels: data, width, height }, alpha: undefined, format };
  } catch {
    // The header was read before; sharp says by throwing that the pixels can't be.
    return undefined;
  }
}

/** Undefined if it was stopped; that is looked up before each tile. */
export async function enlargeByTiles(colours: Patch, enlarge: Enlarge, watch: TileWatch): Promise<Patch | undefined> {
  const width = colours.width * scale;
  const height = colours.height * scale;
  const enlarged: Patch = { pixels: new Uint8Array(width * height * 3), width, height };
  const tiles = tilesOf(colours.width, colours.height, tileSide);
  for (const [index, tile] of tiles.entries()) {
    // Lets the thread hear a request to stop, and other pictures have their tile.
    await nextTurn();
    if (watch.stopped()) return undefined;
    writeTile(enlarged, tile, await enlarge(readTile(colours, tile, reach)), reach, scale);
    watch.tileDone(index + 1, tiles.length);
  }
  return enlarged;
}

async function encode({ pixels, width, height }: Patch, alpha: Alpha | undefined, format: string): Promise<Buffer> {
  const picture = sharp(pixels, { raw: { width, height, channels: 3 } });
  if (alpha) {
    const mask = await enlargeAlpha(alpha, scale);
    return picture
      .joinChannel(mask, { raw: { width, height, channels: 1 } })
      .png()
      .toBuffer();
  }
  if (format === 'jpeg') return picture.jpeg({ quality: 95, chromaSubsampling: '4:4:4' }).toBuffer();
  return picture.png().toBuffer();
}
