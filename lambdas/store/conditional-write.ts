import {
  ConditionalCheckFailedException,
  DeleteItemCommand,
  PutItemCommand,
  UpdateItemCommand,
  type AttributeValue,
  type DeleteItemCommandInput,
  type DynamoDBClient,
  type PutItemCommandInput,
  type UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { unmarshall } from '@aws-sdk/util-dynamodb';

/** An item as plain values, not yet parsed. */
export type PlainItem = Readonly<Record<string, unknown>>;

export type Written =
  /** `item`: what the write was asked to return. */
  | { readonly kind: 'written'; readonly item: PlainItem | undefined }
  /** `old`: the item that stood in the way, in the same round trip; undefined where there is none. */
  | { readonly kind: 'refused'; readonly old: PlainItem | undefined };

type Conditional<Input> = Omit<Input, 'ReturnValuesOnConditionCheckFailure'> & { ConditionExpression: string };

export function putIf(client: DynamoDBClient, input: Conditional<PutItemCommandInput>): Promise<Written> {
  return outcomeOf(client.send(new PutItemCommand({ ...input, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' })));
}

export function updateIf(client: DynamoDBClient, input: Conditional<UpdateItemCommandInput>): Promise<Written> {
  return outcomeOf(client.send(new UpdateItemCommand({ ...input, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' })));
}

export function deleteIf(client: DynamoDBClient, input: Conditional<DeleteItemCommandInput>): Promise<Written> {
  return outcomeOf(client.send(new DeleteItemCommand({ ...input, ReturnValuesOnConditionCheckFailure: 'ALL_OLD' })));
}

/** A refusal is a value; throttles and lost connections throw. */
async function outcomeOf(sent: Promise<{ Attributes?: Record<string, AttributeValue> | undefined }>): Promise<Written> {
  try {
    const { Attributes } = await sent;
    return { kind: 'written', item: plain(Attributes) };
  } catch (error) {
    if (error instanceof ConditionalCheckFailedException) return { kind: 'refused', old: plain(error.Item) };
    throw error;
  }
}

export function plain(item: Record<string, AttributeValue>): PlainItem;
export function plain(item: Record<string, AttributeValue> | undefined): PlainItem | undefined;
export function plain(item: Record<string, AttributeValue> | undefined): PlainItem | undefined {
  return item === undefined ? undefined : unmarshall(item);
}
