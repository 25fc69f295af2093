import { ConditionalCheckFailedException, PutItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startDynamo, type DynamoFixture } from '../fixtures/dynamo.ts';

let dynamo: DynamoFixture;
beforeAll(async () => {
  dynamo = await startDynamo();
});
afterAll(() => dynamo.stop());

it('gives a refused write the item that stood in its way', async () => {
  const tableName = await dynamo.createTable();
  const item = { pk: { S: 'job_1' }, sk: { S: 'job' }, attempt: { N: '1' } };
  await dynamo.client.send(new PutItemCommand({ TableName: tableName, Item: item }));

  const secondPut = dynamo.client.send(
    new PutItemCommand({
      TableName: tableName,
      Item: { ...item, attempt: { N: '2' } },
      ConditionExpression: 'attribute_not_exists(pk)',
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    }),
  );
  await expect(secondPut).rejects.toSatisfy(
    (refusal) => refusal instanceof ConditionalCheckFailedException && refusal.Item?.['attempt']?.N === '1',
  );

  const staleUpdate = dynamo.client.send(
    new UpdateItemCommand({
      TableName: tableName,
      Key: { pk: item.pk, sk: item.sk },
      UpdateExpression: 'SET attempt = :next',
      ConditionExpression: 'attempt = :stale',
      ExpressionAttributeValues: { ':next': { N: '3' }, ':stale': { N: '0' } },
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD',
    }),
  );
  await expect(staleUpdate).rejects.toSatisfy(
    (refusal) => refusal instanceof ConditionalCheckFailedException && refusal.Item?.['attempt']?.N === '1',
  );
});
