/** A picture that the app stores by itself first, through a presigned form, and names in its submit. */
export interface Upload {
  readonly id: string;
  /** Nobody else may name it. */
  readonly owner: string;
  readonly contentType: string;
  readonly bytes: number;
  /**
   * Lower-case hex, of the bytes that the app said it will store. A retry that uploads again is found by it; where the
   * app didn't say it, it is read from the stored bytes.
   */
  readonly sha256: string | undefined;
  /** Epoch ms. */
  readonly createdAt: number;
  /** Epoch ms. A submit that names it later is refused. */
  readonly expiresAt: number;
}

export interface UploadStore {
  put(upload: Upload): Promise<void>;
  /** Strongly consistent. An expired one may still be found: whether it may be used is the caller's to see. */
  read(id: string): Promise<Upload | undefined>;
}

/** Where its bytes are in the file store. */
export function uploadKeyOf(upload: Pick<Upload, 'owner' | 'id'>): string {
  return `uploads/${upload.owner}/${upload.id}`;
}
