import type { Job, StoredPicture } from './job.ts';

/** Lets whoever has it fetch one result, for a short time. */
export interface ResultLink {
  readonly url: string;
  /** Epoch ms. */
  readonly expiresAtMs: number;
}

export interface ResultLinkSigner {
  signDownload(
    key: string,
    options: { readonly expiresInSeconds: number; readonly contentType: string; readonly fileName: string },
  ): Promise<ResultLink>;
}

/** Long enough for a slow phone to begin, short enough that a leaked link is soon worth nothing. */
export const resultLinkSeconds = 600;

export function resultLinks(
  job: Pick<Job, 'id' | 'results'>,
  signer: ResultLinkSigner,
): Promise<readonly ResultLink[]> {
  return Promise.all(
    job.results.map((picture, index) =>
      signer.signDownload(picture.key, {
        expiresInSeconds: resultLinkSeconds,
        contentType: picture.contentType,
        fileName: fileNameOf(job.id, index, picture),
      }),
    ),
  );
}

function fileNameOf(jobId: string, index: number, { contentType }: StoredPicture): string {
  const extension = contentType === 'image/jpeg' ? 'jpg' : contentType.slice(contentType.indexOf('/') + 1);
  return `${jobId}${index === 0 ? '' : `-${index}`}.${extension}`;
}
