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

/** None once the job's time is over: its pictures go by then, the job itself up to two days later. */
export function resultLinks(
  job: Pick<Job, 'id' | 'results' | 'ttl'>,
  signer: ResultLinkSigner,
  now: number,
): Promise<readonly ResultLink[]> {
  const results = job.ttl !== undefined && job.ttl * 1000 <= now ? [] : job.results;
  return Promise.all(
    results.map((picture, index) =>
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
