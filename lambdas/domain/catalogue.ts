import type { JsonObject } from './vendor.ts';

/** What can be asked for. A job keeps the vendor, lane and adapter version that its feature had when it was submitted. */

export interface PictureRule {
  /** Content types, by what the bytes are. */
  readonly accepts: readonly string[];
  readonly maxBytes: number;
  readonly maxPixels: number;
}

export interface FieldError {
  /** Where, as dotted path. */
  readonly field: string;
  readonly message: string;
}

export type ParametersRead =
  | { readonly kind: 'read'; readonly parameters: JsonObject }
  | { readonly kind: 'invalid'; readonly errors: readonly FieldError[] };

export interface Feature {
  readonly name: string;
  readonly vendor: string;
  readonly adapterVersion: number;
  readonly lane: string;
  readonly maxQueueMs: number;
  readonly maxRunMs: number;
  /** How long one usually takes: only ever used for a guess that is shown as one. */
  readonly typicalRunMs: number;
  /** Absent: it makes a picture from nothing and takes none. */
  readonly picture: PictureRule | undefined;
  /** It edits a photograph of a person. */
  readonly needsConsent: boolean;
  readParameters(sent: JsonObject): ParametersRead;
}

export interface Catalogue {
  named(feature: string): Feature | undefined;
  all(): readonly Feature[];
}
