/** Why bytes are not taken as a picture. The codes are part of the public contract: add, never rename. */
export type PictureRefusalCode =
  | 'image_empty'
  | 'image_unrecognized'
  | 'image_unsupported'
  | 'image_broken'
  | 'image_too_large'
  | 'image_too_many_pixels';

export type PictureRefusal = {
  readonly kind: 'refused';
  readonly code: PictureRefusalCode;
  /** One English sentence for the developer of the app, never bytes or names out of the picture. */
  readonly detail: string;
};

export function refusePicture(code: PictureRefusalCode, detail: string): PictureRefusal {
  return { kind: 'refused', code, detail };
}

export function brokenPicture(detail: string): PictureRefusal {
  return refusePicture('image_broken', detail);
}

/**
 * Judges declared dimensions before anything is decoded: this is what stops a decompression bomb. Every frame of an
 * animation counts, since a decoder paints the whole canvas for each.
 */
export function refuseDimensions(
  width: number,
  height: number,
  frames: number,
  maxPixels: number,
): PictureRefusal | undefined {
  if (width === 0 || height === 0) return brokenPicture('The picture declares a width or a height of zero.');
  if (width * height * frames <= maxPixels) return undefined;
  const across = frames === 1 ? '' : ` in ${frames} frames`;
  return refusePicture(
    'image_too_many_pixels',
    `The picture declares ${width} x ${height} pixels${across}; at most ${maxPixels} pixels are taken.`,
  );
}
