import { BlockList, isIP } from 'node:net';

/**
 * What kind of network an address belongs to.
 *
 * `never` is what no vendor can live on and an attacker would like us to ask: cloud metadata and every other link-local
 * address, "this host", multicast, reserved and documentation ranges, and the IPv6 forms that smuggle an IPv4 address
 * (mapped, NAT64, 6to4, Teredo). Ranges: the IANA special-purpose address registries.
 */
export type AddressKind = 'public' | 'private' | 'loopback' | 'never';

type Family = 'ipv4' | 'ipv6';
type Range = readonly [network: string, prefix: number];

const ranges: Record<Family, Record<Exclude<AddressKind, 'public'>, readonly Range[]>> = {
  ipv4: {
    loopback: [['127.0.0.0', 8]],
    private: [
      ['10.0.0.0', 8],
      ['172.16.0.0', 12],
      ['192.168.0.0', 16],
      ['100.64.0.0', 10], // carrier-grade NAT
    ],
    never: [
      ['0.0.0.0', 8],
      ['169.254.0.0', 16],
      ['192.0.0.0', 24],
      ['192.0.2.0', 24],
      ['192.88.99.0', 24],
      ['198.18.0.0', 15],
      ['198.51.100.0', 24],
      ['203.0.113.0', 24],
      ['224.0.0.0', 4],
      ['240.0.0.0', 4],
    ],
  },
  ipv6: {
    loopback: [['::1', 128]],
    private: [['fc00::', 7]],
    never: [
      ['::', 128],
      ['::ffff:0:0', 96],
      ['64:ff9b::', 96],
      ['64:ff9b:1::', 48],
      ['100::', 64],
      ['2001::', 23],
      ['2001:db8::', 32],
      ['2002::', 16],
      ['fd00:ec2::', 32], // the metadata service and its neighbours, inside the private range
      ['fe80::', 10],
      ['fec0::', 10],
      ['ff00::', 8],
    ],
  },
};

const kindsBySeverity = ['never', 'loopback', 'private'] as const;

// One list per family and kind: a list that mixes families lets `::ffff:0:0/96` match every plain IPv4 address.
const lists = { ipv4: listsOf('ipv4'), ipv6: listsOf('ipv6') };

function listsOf(family: Family): Record<(typeof kindsBySeverity)[number], BlockList> {
  const list = (kind: (typeof kindsBySeverity)[number]): BlockList => {
    const blocked = new BlockList();
    for (const [network, prefix] of ranges[family][kind]) blocked.addSubnet(network, prefix, family);
    return blocked;
  };
  return { never: list('never'), loopback: list('loopback'), private: list('private') };
}

/** The kind of an IP literal. What is not one, or carries a zone (`fe80::1%eth0`), is `never`. */
export function addressKind(address: string): AddressKind {
  const version = isIP(address);
  if (version === 0 || address.includes('%')) return 'never';
  const family: Family = version === 4 ? 'ipv4' : 'ipv6';
  return kindsBySeverity.find((kind) => lists[family][kind].check(address, family)) ?? 'public';
}
