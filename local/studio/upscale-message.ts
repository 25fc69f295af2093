/** What the studio tells its upscaling thread. `picture` is the encoded input. */
export type UpscaleRequest =
  | { readonly type: 'upscale'; readonly id: number; readonly picture: Uint8Array }
  | { readonly type: 'stop'; readonly id: number };

/** What the thread answers: progress by tiles, then one ending for each request. `picture` is encoded. */
export type UpscaleReply =
  | { readonly type: 'tile'; readonly id: number; readonly done: number; readonly tiles: number }
  | { readonly type: 'made'; readonly id: number; readonly picture: Uint8Array }
  | { readonly type: 'stopped'; readonly id: number }
  | { readonly type: 'failed'; readonly id: number; readonly reason: string };
