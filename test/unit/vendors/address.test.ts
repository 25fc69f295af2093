import { describe, expect, it } from 'vitest';
import { addressKind } from '../../../lambdas/vendors/address.ts';

describe('addressKind', () => {
  it.each([
    ['93.184.216.34', 'public'],
    ['172.15.255.255', 'public'],
    ['172.32.0.0', 'public'],
    ['100.128.0.1', 'public'],
    ['2606:4700::1111', 'public'],
    ['10.1.2.3', 'private'],
    ['172.16.0.1', 'private'],
    ['172.31.255.255', 'private'],
    ['192.168.1.1', 'private'],
    ['100.64.0.1', 'private'],
    ['fc00::1', 'private'],
    ['fd12:3456::1', 'private'],
    ['127.0.0.1', 'loopback'],
    ['127.255.0.1', 'loopback'],
    ['::1', 'loopback'],
    ['0.0.0.0', 'never'],
    ['169.254.169.254', 'never'],
    ['169.254.170.2', 'never'],
    ['fd00:ec2::254', 'never'],
    ['fe80::1', 'never'],
    ['fe80::1%eth0', 'never'],
    ['224.0.0.1', 'never'],
    ['255.255.255.255', 'never'],
    ['::', 'never'],
    ['::ffff:127.0.0.1', 'never'],
    ['::ffff:8.8.8.8', 'never'],
    ['64:ff9b::7f00:1', 'never'],
    ['2002:7f00:1::', 'never'],
    ['ff02::1', 'never'],
    ['vendor.example', 'never'],
    ['', 'never'],
  ])('%s is %s', (address, kind) => {
    expect(addressKind(address)).toBe(kind);
  });
});
