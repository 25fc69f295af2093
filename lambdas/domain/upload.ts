/** A picture that the app stores by itself first, through a presigned form, and names in its submit. */
export interface Upload {
  readonly id: string;
  /** Nobody else may name it. */
  readonly owner: string;
  readonly contentType: string;
  readonly bytes: number;
  /** Lower-case hex, of the bytes that the app said it will store: a retry that uploads again is found by it. */
  readonly sha256: string;
  /** Where in the file store. */
  readonly key: string;
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
