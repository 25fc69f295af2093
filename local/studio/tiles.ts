/** A rectangle of RGB pixels, three bytes each, row by row. */
export interface Patch {
  readonly pixels: Uint8Array;
  readonly width: number;
  readonly height: number;
}

export interface Tile {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** Cuts a picture into squares of `side`, row by row; the last ones may be smaller. */
export function tilesOf(width: number, height: number, side: number): Tile[] {
  const tiles: Tile[] = [];
  for (let y = 0; y < height; y += side) {
    for (let x = 0; x < width; x += side) {
      tiles.push({ x, y, width: Math.min(side, width - x), height: Math.min(side, height - y) });
    }
  }
  return tiles;
}

/**
 * The tile with `margin` pixels more on each side. Beyond the picture's edge, the edge's own pixels go on: a model
 * that saw nothing there would draw a frame.
 */
export function readTile(picture: Patch, tile: Tile, margin: number): Patch {
  const width = tile.width + 2 * margin;
  const height = tile.height + 2 * margin;
  const pixels = new Uint8Array(width * height * 3);
  for (let row = 0; row < height; row += 1) {
    const fromRow = clamp(tile.y + row - margin, picture.height) * picture.width;
    for (let column = 0; column < width; column += 1) {
      const from = (fromRow + clamp(tile.x + column - margin, picture.width)) * 3;
      pixels.set(picture.pixels.subarray(from, from + 3), (row * width + column) * 3);
    }
  }
  return { pixels, width, height };
}

/** Puts the enlarged tile into the enlarged picture, and leaves its margin out. */
export function writeTile(picture: Patch, tile: Tile, enlarged: Patch, margin: number, scale: number): void {
  const rowBytes = tile.width * scale * 3;
  for (let row = 0; row < tile.height * scale; row += 1) {
    const from = ((row + margin * scale) * enlarged.width + margin * scale) * 3;
    const to = ((tile.y * scale + row) * picture.width + tile.x * scale) * 3;
    picture.pixels.set(enlarged.pixels.subarray(from, from + rowBytes), to);
  }
}

function clamp(position: number, length: number): number {
  return Math.min(Math.max(position, 0), length - 1);
}
