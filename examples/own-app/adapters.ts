import type { Vendor } from '../../lambdas/domain/vendor.ts';
import type { Adapter } from '../../lambdas/vendors/adapter.ts';
import { JobsApiVendor } from '../../lambdas/vendors/jobs-api.ts';

/**
 * Our vendor speaks the jobs API, but words its prompt field differently. An adapter that shares nothing with the one
 * that comes along implements `Vendor` from scratch; docs/add-a-vendor.md says what it has to pass.
 */
class PaintshopVendor extends JobsApiVendor implements Vendor {
  override readonly version = 1;

  override submit(submission: Parameters<Vendor['submit']>[0]): ReturnType<Vendor['submit']> {
    const { prompt, aspect = 'square', ...rest } = submission.parameters;
    return super.submit({ ...submission, parameters: { ...rest, text: prompt ?? '', format: aspect } });
  }
}

export const ownAdapters: Readonly<Record<string, Adapter>> = {
  paintshop: (config, world) => new PaintshopVendor(config, world),
};
