import { formatOf, walkPicture, type PictureFormat } from './picture.ts';
import { stripJpeg } from './strip-jpeg.ts';
import { stripPng } from './strip-png.ts';
import { stripWebp } from './strip-webp.ts';

/**
 * The same picture without what says where, when, by whom and with which camera it was taken: Exif, XMP, IPTC, comments,
 * maker notes, thumbnails, second pictures and everything behind the picture's end. Only what is needed to show it the
 * same stays: its compressed pixels byte for byte, its colours (ICC and its kin), its orientation. What is kept is a
 * list; what is unknown goes.
 *
 * Takes bytes that `inspectPicture` called a picture of this format; anything else throws, since handing broken bytes
 * back would hand back what they carry.
 */
export function stripLocation(bytes: Uint8Array, format: PictureFormat): Uint8Array<ArrayBuffer> {
  const structure = formatOf(bytes) === format ? walkPicture(bytes, format, Number.POSITIVE_INFINITY) : undefined;
  if (structure === undefined)
    throw new TypeError('Only an inspected picture can be stripped: this is another format.');
  if (structure.kind === 'refused')
    throw new TypeError(`Only an inspected picture can be stripped: ${structure.detail}`);
  if (structure.kind === 'jpeg') return stripJpeg(bytes, structure);
  if (structure.kind === 'png') return stripPng(bytes, structure);
  return stripWebp(bytes, structure);
}
