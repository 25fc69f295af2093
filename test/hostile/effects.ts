/** What a request made the stores do, and what AWS would have refused where the memory stores take everything. */

export interface Effect {
  /** `<store>.<method>` */
  readonly call: string;
  /** The first thing that it names: a job's id, an owner, a key. */
  readonly about: unknown;
}

const onlyLooks =
  /^(read|get|find|list|glance|queued|due|flagged|ofOwner|countQueued|countAhead|vendorJobOwner|signDownload|deadline)/;

/** DynamoDB: a key has 1 to 2,048 bytes, and ours have prefixes; S3: at most 1,024. */
const longestKeyBytes = { dynamo: 2_000, s3: 1_024 } as const;
/** DynamoDB: an item has at most 400 KB. */
const largestItemChars = 300_000;

/** The same store; what changes anything is noted, and what AWS would refuse is refused. */
export function watched<T extends object>(name: string, store: T, effects: Effect[]): T {
  const kind = name === 'files' ? 's3' : 'dynamo';
  return new Proxy(store, {
    get(target, property) {
      const member: unknown = Reflect.get(target, property, target);
      if (typeof member !== 'function') return member;
      const method = String(property);
      return (...given: unknown[]): unknown => {
        refuseAsAws(`${name}.${method}`, given, kind);
        if (!onlyLooks.test(method)) effects.push({ call: `${name}.${method}`, about: given[0] });
        return Reflect.apply(member, target, given) as unknown;
      };
    },
  });
}

function refuseAsAws(call: string, given: readonly unknown[], kind: keyof typeof longestKeyBytes): void {
  for (const value of given) {
    if (typeof value === 'string') refuseKey(call, value, longestKeyBytes[kind]);
    else if (kind === 'dynamo') refuseItem(call, value);
  }
}

function refuseKey(call: string, key: string, longest: number): void {
  const bytes = Buffer.byteLength(key);
  if (bytes === 0 || bytes > longest) throw new Error(`ValidationException: ${call}: a key of ${bytes} bytes`);
  if (!key.isWellFormed()) throw new Error(`SerializationException: ${call}: a key that is no Unicode`);
}

function refuseItem(call: string, item: unknown): void {
  const chars = (JSON.stringify(item) ?? '').length;
  if (chars > largestItemChars) throw new Error(`ValidationException: ${call}: an item of ${chars} characters`);
}
