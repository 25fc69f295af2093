import { describe, expect, it } from 'vitest';
import { admit, isLoopbackHost, type VendorNetwork } from '../../../lambdas/vendors/network.ts';

const network = (over: Partial<VendorNetwork> = {}): VendorNetwork => ({
  baseUrl: new URL('https://api.vendor.example/v2'),
  resultHosts: ['cdn.vendor.example', 'cdn.vendor.example:8443'],
  privateNetwork: false,
  ...over,
});

describe('admit', () => {
  it.each([
    ['https://api.vendor.example/v2/jobs', true],
    ['https://api.vendor.example:443/', true],
    ['https://cdn.vendor.example/a.png', false],
    ['https://cdn.vendor.example:8443/a.png', false],
  ])('%s is admitted, only to public addresses; the vendor itself: %s', (url, isVendor) => {
    expect(admit(new URL(url), network())).toEqual({ kind: 'admitted', reach: ['public'], isVendor });
  });

  it.each([
    'http://api.vendor.example/',
    'http://cdn.vendor.example/a.png',
    'https://cdn.vendor.example:9000/a.png',
    'https://cdn.vendor.example.attacker.example/',
    'https://api.vendor.example@attacker.example/',
    'https://key@api.vendor.example/',
    'ftp://api.vendor.example/',
    'file:///etc/passwd',
  ])('%s is refused', (url) => {
    expect(admit(new URL(url), network()).kind).toBe('refused');
  });

  it('a loopback base URL is the operator’s word, for that origin and for loopback only', () => {
    const local = network({ baseUrl: new URL('http://127.0.0.1:4190/blind') });
    expect(admit(new URL('http://127.0.0.1:4190/blind/api'), local)).toMatchObject({ reach: ['loopback'] });
    expect(admit(new URL('http://127.0.0.1:4191/'), local).kind).toBe('refused');
    expect(admit(new URL('https://cdn.vendor.example/'), local)).toMatchObject({ reach: ['public'] });
  });

  it('a private network admits plain http to the vendor, and private addresses', () => {
    const inside = network({ baseUrl: new URL('http://studio.internal:8080'), privateNetwork: true });
    expect(admit(new URL('http://studio.internal:8080/x'), inside)).toMatchObject({
      reach: ['public', 'private', 'loopback'],
    });
    expect(admit(new URL('http://studio.internal/x'), inside).kind).toBe('refused');
    expect(admit(new URL('http://cdn.vendor.example/x'), inside).kind).toBe('refused');
  });
});

describe('isLoopbackHost', () => {
  it.each([
    ['http://127.0.0.1', true],
    ['http://127.1', true],
    ['http://0x7f000001', true],
    ['http://[::1]:80', true],
    ['http://localhost', true],
    ['http://studio.localhost', true],
    ['http://localhost.attacker.example', false],
    ['http://0.0.0.0', false],
    ['http://10.0.0.1', false],
    ['http://vendor.example', false],
  ])('%s: %s', (url, expected) => {
    expect(isLoopbackHost(new URL(url))).toBe(expected);
  });
});
