import * as z from 'zod';

import type { Feature, Order } from './order.ts';
import { featureSchema, orderSchema } from './order.ts';
import { inspectPicture } from './picture.ts';

/** The form as it came, before anything is judged. */
export interface SubmissionForm {
  readonly feature: Feature | null;
  readonly fields: FormData;
}

export interface Submission {
  readonly order: Order;
  readonly image: Buffer;
  readonly callbackUrl: string | null;
}

export type SubmissionCheck =
  | { readonly outcome: 'fine'; readonly submission: Submission }
  | { readonly outcome: 'refused'; readonly status: 400 | 422; readonly reason: string };

const callbackUrlSchema = z.url({ protocol: /^https?$/ });

/** Undefined where the body is no multipart form. */
export async function readForm(contentType: string | undefined, body: Buffer): Promise<SubmissionForm | undefined> {
  try {
    const fields = await new Response(new Uint8Array(body), {
      headers: { 'content-type': contentType ?? '' },
    }).formData();
    return { fields, feature: featureSchema.safeParse(fields.get('feature')).data ?? null };
  } catch {
    // The parser says by throwing that the body is malformed.
    return undefined;
  }
}

/** 400 for a form that makes no sense, 422 for one that the studio understands and doesn't take. */
export async function checkSubmission({ fields, feature }: SubmissionForm): Promise<SubmissionCheck> {
  if (feature === null) return refused(400, `feature must be one of ${featureSchema.options.join(', ')}.`);
  const callbackUrl = fields.get('callbackUrl');
  if (callbackUrl !== null && !callbackUrlSchema.safeParse(callbackUrl).success) {
    return refused(400, 'callbackUrl must be an http or https URL.');
  }
  const params = parseJson(fields.get('params') ?? '{}');
  if (params === undefined) return refused(400, 'params must be JSON.');
  const order = orderSchema.safeParse({ feature, params });
  if (!order.success) return refused(422, z.prettifyError(order.error));
  const file = fields.get('image');
  if (!(file instanceof Blob)) return refused(400, 'image must be a file.');
  const image = Buffer.from(await file.arrayBuffer());
  const inspection = await inspectPicture(image, feature);
  if (inspection.outcome === 'refused') return refused(422, inspection.reason);
  return {
    outcome: 'fine',
    submission: { order: order.data, image, callbackUrl: typeof callbackUrl === 'string' ? callbackUrl : null },
  };
}

function refused(status: 400 | 422, reason: string): SubmissionCheck {
  return { outcome: 'refused', status, reason };
}

function parseJson(text: string | Blob): unknown {
  if (typeof text !== 'string') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
