import { Stream } from 'node:stream';
import {
  ConditionalCheckFailedException,
  DeleteItemCommand,
  DynamoDBServiceException,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  UpdateItemCommand,
  type AttributeValue,
  type DynamoDBClient,
} from '@aws-sdk/client-dynamodb';
import {
  dynaliteOperation,
  rememberWhatRepeats,
  type ItemDb,
  type KeyRange,
  type Operation,
  type Store,
  type WireAnswer,
  type WireItem,
  type WireRefusal,
  type WireRequest,
} from '../fixtures/patched-dynalite.ts';

export type Command = GetItemCommand | PutItemCommand | UpdateItemCommand | DeleteItemCommand | QueryCommand;
export type Item = Record<string, AttributeValue>;

/** `item`: as it is from now on; undefined: gone. */
export type WriteListener = (key: { readonly pk: string; readonly sk: string }, item: Item | undefined) => void;

/** What a table held at one moment. */
export type Snapshot = ReadonlyMap<string, WireItem>;

rememberWhatRepeats();

const operations = {
  getItem: dynaliteOperation('getItem'),
  putItem: dynaliteOperation('putItem'),
  updateItem: dynaliteOperation('updateItem'),
  deleteItem: dynaliteOperation('deleteItem'),
  query: dynaliteOperation('query'),
} as const;

/** The one table without its indexes: a query of one is refused. */
const table = {
  KeySchema: [
    { AttributeName: 'pk', KeyType: 'HASH' },
    { AttributeName: 'sk', KeyType: 'RANGE' },
  ],
  AttributeDefinitions: [
    { AttributeName: 'pk', AttributeType: 'S' },
    { AttributeName: 'sk', AttributeType: 'S' },
  ],
};

/**
 * DynamoDB with one table, in this process and without a wait: dynalite's own validations, expressions and actions over a
 * map. A run of the simulation can so put tens of requests through the real adapters in a few milliseconds. What it doesn't know throws.
 */
export class MemoryDynamo {
  readonly tableName: string;
  #items = new Map<string, WireItem>();
  #listener: WriteListener = () => undefined;
  readonly #store: Store;
  readonly #reading: { stream: Stream; items: readonly WireItem[] }[] = [];

  constructor(tableName = 'memory') {
    this.tableName = tableName;
    const itemDb = this.#itemDb();
    this.#store = {
      options: { maxItemSize: 409_600 },
      getTable: (name, answered) => {
        if (name === tableName) answered(null, table);
        else answered(new Error(`There is no table ${name}.`));
      },
      getItemDb: () => itemDb,
    };
  }

  /** What the adapters take: nothing of a client but `send`. */
  get client(): DynamoDBClient {
    return clientOver(async (command) => this.send(command));
  }

  /** Is told of each write that is done. */
  whenWritten(listener: WriteListener): void {
    this.#listener = listener;
  }

  /** @throws as the SDK's client does. */
  send(command: Command): object {
    const request = toWire(command.input) as WireRequest;
    return answerOf(this.#run(operationOf(command), request));
  }

  snapshot(): Snapshot {
    return new Map(this.#items);
  }

  /** Everything is as it was then; whatever changes by it is told to the listener. */
  restore(snapshot: Snapshot): void {
    const present = this.#items;
    this.#items = new Map(snapshot);
    for (const [key, item] of present) if (!snapshot.has(key)) this.#tell(item, undefined);
    for (const [key, item] of snapshot) if (present.get(key) !== item) this.#tell(item, item);
  }

  #run(operation: Operation, request: WireRequest): WireAnswer {
    for (const parameter of Object.keys(request)) {
      // dynalite drops what it doesn't know.
      if (!(parameter in operation.types)) throw new Error(`This DynamoDB doesn't know ${parameter}.`);
    }
    let outcome: { readonly error: Error | null | undefined; readonly answer: WireAnswer | undefined } | undefined;
    try {
      operation.check(request, this.#store);
      operation.act(this.#store, request, (error, answer) => {
        outcome = { error, answer };
      });
      for (const { stream, items } of this.#reading.splice(0)) {
        for (const item of items) stream.emit('data', item);
        stream.emit('end');
      }
    } catch (error) {
      throw thrownBy(error as WireRefusal);
    }
    if (outcome === undefined) throw new Error('This DynamoDB did not answer at once.');
    if (outcome.error) throw thrownBy(outcome.error);
    return outcome.answer ?? {};
  }

  /** Nothing mutates an item that was put: dynalite clones the one that it updates. */
  #itemDb(): ItemDb {
    return {
      lock: (_, run) => run((then) => then),
      get: (key, answered) => answered(null, this.#items.get(key)),
      put: (key, item, answered) => {
        this.#items.set(key, item);
        this.#tell(item, item);
        answered(null);
      },
      del: (key, answered) => {
        const gone = this.#items.get(key);
        this.#items.delete(key);
        if (gone !== undefined) this.#tell(gone, undefined);
        answered(null);
      },
      createValueStream: (range) => {
        const stream = new Stream();
        this.#reading.push({ stream, items: this.#within(range) });
        return stream;
      },
    };
  }

  #within({ gt, gte, lt, lte, reverse, limit }: KeyRange): readonly WireItem[] {
    const keys = [...this.#items.keys()].filter(
      (key) =>
        (gt === undefined || key > gt) &&
        (gte === undefined || key >= gte) &&
        (lt === undefined || key < lt) &&
        (lte === undefined || key <= lte),
    );
    const sorted = keys.toSorted((a, b) => (a < b ? -1 : 1));
    if (reverse) sorted.reverse();
    const read = sorted.slice(0, limit < 0 ? undefined : limit).map((key) => this.#items.get(key));
    return read.filter((item) => item !== undefined);
  }

  #tell(keyed: WireItem, item: WireItem | undefined): void {
    const key = { pk: String(keyed['pk']?.['S']), sk: String(keyed['sk']?.['S']) };
    this.#listener(key, item === undefined ? undefined : decoded(item));
  }
}

/** Something that sends commands, as the adapters take it. */
export function clientOver(send: (command: Command) => Promise<object>): DynamoDBClient {
  return { send } as unknown as DynamoDBClient;
}

/** What DynamoDB says of a condition that is not so; every other error is a broken request. */
export function isRefusal(error: unknown): boolean {
  return error instanceof ConditionalCheckFailedException;
}

function operationOf(command: Command): Operation {
  if (command instanceof GetItemCommand) return operations.getItem;
  if (command instanceof PutItemCommand) return operations.putItem;
  if (command instanceof UpdateItemCommand) return operations.updateItem;
  if (command instanceof DeleteItemCommand) return operations.deleteItem;
  if (command instanceof QueryCommand) return operations.query;
  throw new Error(`This DynamoDB doesn't know ${(command as object).constructor.name}.`);
}

/** A refusal as the SDK throws it. */
function thrownBy(error: WireRefusal): Error {
  if (error.body === undefined) return error;
  const name = error.body.__type.slice(error.body.__type.indexOf('#') + 1);
  const message = error.body.message ?? error.body.Message ?? '';
  const $metadata = { httpStatusCode: 400 };
  if (name !== 'ConditionalCheckFailedException') {
    return new DynamoDBServiceException({ name, message, $fault: 'client', $metadata });
  }
  const { Item } = error.body;
  return new ConditionalCheckFailedException({
    message,
    $metadata,
    ...(Item === undefined ? {} : { Item: decoded(Item) }),
  });
}

/** A copy as it travels: bytes as base64, and nothing of what is undefined. */
function toWire(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Uint8Array) return Buffer.from(value).toString('base64');
  if (Array.isArray(value)) return value.map(toWire);
  const copy: Record<string, unknown> = {};
  for (const [key, of] of Object.entries(value)) if (of !== undefined) copy[key] = toWire(of);
  return copy;
}

function answerOf({ Item, Attributes, Items, LastEvaluatedKey, ...rest }: WireAnswer): object {
  return {
    $metadata: {},
    ...rest,
    ...(Item === undefined ? {} : { Item: decoded(Item) }),
    ...(Attributes === undefined ? {} : { Attributes: decoded(Attributes) }),
    ...(Items === undefined ? {} : { Items: Items.map(decoded) }),
    ...(LastEvaluatedKey === undefined ? {} : { LastEvaluatedKey: decoded(LastEvaluatedKey) }),
  };
}

const decodings = new WeakMap<WireItem, Item>();

/** An item as the SDK hands it out: made once, since a stored one never changes, and frozen, since everybody gets the same. */
function decoded(item: WireItem): Item {
  const known = decodings.get(item);
  if (known !== undefined) return known;
  const made: Record<string, unknown> = {};
  for (const name in item) made[name] = fromWire(item[name]);
  decodings.set(item, Object.freeze(made) as Item);
  return made as Item;
}

function fromWire(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) return Object.freeze(value.map(fromWire));
  const copy: Record<string, unknown> = {};
  for (const key in value) {
    const of = (value as Record<string, unknown>)[key];
    copy[key] = key === 'B' && typeof of === 'string' ? new Uint8Array(Buffer.from(of, 'base64')) : fromWire(of);
  }
  return Object.freeze(copy);
}
