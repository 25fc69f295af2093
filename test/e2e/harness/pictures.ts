import sharp from 'sharp';

/** A small picture of one colour; another number makes other bytes. */
export async function drawPicture(number = 0, { width = 16, height = 16 } = {}): Promise<Buffer<ArrayBuffer>> {
  const background = { r: number % 256, g: Math.floor(number / 256) % 256, b: 120 };
  return Buffer.from(
    await sharp({ create: { width, height, channels: 3, background } })
      .png()
      .toBuffer(),
  );
}
