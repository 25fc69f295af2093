import type { AttributeValue } from '@aws-sdk/client-dynamodb';
import { marshall } from '@aws-sdk/util-dynamodb';

/**
 * Collects the placeholders of one DynamoDB request, so that no name meets a reserved word and no value is ever part of
 * the text.
 */
export class Expression {
  readonly #names = new Map<string, string>();
  readonly #values: unknown[] = [];

  name(attribute: string): string {
    const known = this.#names.get(attribute);
    if (known !== undefined) return known;
    const placeholder = `#n${this.#names.size}`;
    this.#names.set(attribute, placeholder);
    return placeholder;
  }

  value(value: unknown): string {
    return `:v${this.#values.push(value) - 1}`;
  }

  /** What the request carries besides its texts. */
  placeholders(): {
    ExpressionAttributeNames: Record<string, string>;
    ExpressionAttributeValues?: Record<string, AttributeValue>;
  } {
    const ExpressionAttributeNames = Object.fromEntries([...this.#names].map(([name, hash]) => [hash, name]));
    if (this.#values.length === 0) return { ExpressionAttributeNames };
    const values = Object.fromEntries(this.#values.map((value, index) => [`:v${index}`, value]));
    return {
      ExpressionAttributeNames,
      ExpressionAttributeValues: marshall(values, { removeUndefinedValues: true }),
    };
  }
}

/** The clauses of an update, joined: those of one kind may be empty. */
export function updateText(clauses: {
  readonly set?: readonly string[];
  readonly add?: readonly string[];
  readonly remove?: readonly string[];
  readonly delete?: readonly string[];
}): string {
  return Object.entries(clauses)
    .filter(([, parts]) => parts.length > 0)
    .map(([verb, parts]) => `${verb.toUpperCase()} ${parts.join(', ')}`)
    .join(' ');
}
