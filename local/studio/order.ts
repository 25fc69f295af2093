import * as z from 'zod';

export const featureSchema = z.enum(['upscale', 'stylize']);
export type Feature = z.infer<typeof featureSchema>;

const colour = z.string().regex(/^#[0-9a-fA-F]{6}$/, 'must be a colour like #1b2a4a');

const upscaleParams = z.strictObject({ scale: z.literal(2).default(2) });
const stylizeParams = z.strictObject({
  style: z.enum(['sketch', 'poster', 'duotone']).default('sketch'),
  shadow: colour.default('#1b2a4a'),
  highlight: colour.default('#f6d8ae'),
});
export type StylizeParams = z.infer<typeof stylizeParams>;

/** What a job asks for: a feature with its own parameters. */
export const orderSchema = z.discriminatedUnion('feature', [
  z.object({ feature: z.literal('upscale'), params: upscaleParams }),
  z.object({ feature: z.literal('stylize'), params: stylizeParams }),
]);
export type Order = z.infer<typeof orderSchema>;
