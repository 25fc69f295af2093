import type { Server } from 'node:http';
import { createRequire } from 'node:module';

/**
 * dynalite 4 refuses `ReturnValuesOnConditionCheckFailure`, on which the product's conditional writes stand. The two places
 * that it lacks are patched before the server loads: the parameter's validation, and the old item in the refusal.
 */
interface ConditionalWrite {
  ReturnValuesOnConditionCheckFailure?: 'ALL_OLD' | 'NONE';
}

export interface IndexedTable {
  TableName: string;
  TableStatus: string;
  KeySchema: { AttributeName: string; KeyType: string }[];
  GlobalSecondaryIndexes?: { IndexName: string; KeySchema: { AttributeName: string; KeyType: string }[] }[];
}

export interface IndexWrite {
  index: string;
  key: string;
  item: unknown;
}

interface DynaliteDatabase {
  checkConditional: (write: ConditionalWrite, existing: unknown) => { body: { Item?: unknown } } | null | undefined;
  getIndexActions: (
    indexes: unknown[],
    existing: unknown,
    item: unknown,
    table: IndexedTable,
  ) => { puts: IndexWrite[]; deletes: { index: string; key: string }[] };
}

export interface DynaliteOptions {
  path: string;
  createTableMs: number;
  deleteTableMs: number;
  updateTableMs: number;
}

const require = createRequire(import.meta.url);

for (const operation of ['putItem', 'updateItem', 'deleteItem']) {
  const validation: { types: Record<string, unknown> } = require(`dynalite/validations/${operation}`);
  validation.types['ReturnValuesOnConditionCheckFailure'] = { type: 'String', enum: ['ALL_OLD', 'NONE'] };
}

export const dynaliteDatabase: DynaliteDatabase = require('dynalite/db');
const checkConditional = dynaliteDatabase.checkConditional;
dynaliteDatabase.checkConditional = (write, existing) => {
  const refusal = checkConditional(write, existing);
  if (refusal && existing && write.ReturnValuesOnConditionCheckFailure === 'ALL_OLD') refusal.body.Item = existing;
  return refusal;
};

export const dynalite: (options: DynaliteOptions) => Server = require('dynalite');
