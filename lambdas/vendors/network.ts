import { isIP } from 'node:net';
import { addressKind, type AddressKind } from './address.ts';

/** Where a vendor lives, as the operator configured it. Nothing that a vendor answers can widen it. */
export interface VendorNetwork {
  readonly baseUrl: URL;
  /** Further hosts (`host` or `host:port`, always https) that results may be downloaded from. */
  readonly resultHosts: readonly string[];
  /** The operator's word that this vendor is in a private network: http and private addresses are then in order. */
  readonly privateNetwork: boolean;
}

/** How far a request may reach: the kinds of address that its host may resolve to. */
export type Reach = readonly Exclude<AddressKind, 'never'>[];

export type Admission =
  | { readonly kind: 'admitted'; readonly reach: Reach; readonly isVendor: boolean }
  | { readonly kind: 'refused'; readonly detail: string };

/**
 * Decides whether `url` may be asked at all, before any name is resolved. `isVendor` tells the vendor's own origin,
 * the only one that is ever shown our key, from a host that merely stores results.
 */
export function admit(url: URL, network: VendorNetwork): Admission {
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return refused(`scheme ${url.protocol} is not http(s)`);
  if (url.username !== '' || url.password !== '') return refused('credentials in the address');
  if (url.origin === network.baseUrl.origin) return admitVendor(url, network);
  if (!network.resultHosts.includes(url.host)) return refused(`host ${url.host} is not configured for this vendor`);
  if (url.protocol !== 'https:') return refused(`${url.host} must be asked over https`);
  return { kind: 'admitted', reach: network.privateNetwork ? privateReach : publicReach, isVendor: false };
}

const publicReach: Reach = ['public'];
const privateReach: Reach = ['public', 'private', 'loopback'];
const loopbackReach: Reach = ['loopback'];

function admitVendor(url: URL, network: VendorNetwork): Admission {
  if (network.privateNetwork) return { kind: 'admitted', reach: privateReach, isVendor: true };
  // A loopback base URL can only have been typed by the operator: no name server and no vendor can produce it.
  if (isLoopbackHost(url)) return { kind: 'admitted', reach: loopbackReach, isVendor: true };
  if (url.protocol !== 'https:') return refused(`${url.host} must be asked over https`);
  return { kind: 'admitted', reach: publicReach, isVendor: true };
}

/** True for `localhost`, its subdomains (RFC 6761) and loopback literals. */
export function isLoopbackHost(url: URL): boolean {
  const host = hostOf(url);
  if (isIP(host) !== 0) return addressKind(host) === 'loopback';
  return host === 'localhost' || host.endsWith('.localhost');
}

/** The host without the brackets that a URL puts around an IPv6 literal. */
export function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

function refused(detail: string): Admission {
  return { kind: 'refused', detail };
}
