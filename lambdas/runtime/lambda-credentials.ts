import { fromEnv } from '@aws-sdk/credential-provider-env';

/**
 * Stands in the bundles for `@aws-sdk/credential-provider-node`: Lambda gives a function its role's credentials in its
 * environment, always. The chain of files, single sign-on and instance metadata that the SDK would try is a sixth of a
 * bundle that every cold start loads.
 */
export const defaultProvider = () => fromEnv();
