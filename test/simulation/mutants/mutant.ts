/** A known bug, planted in the source text of the domain or of its adapters to DynamoDB. */
export interface Mutant {
  readonly name: string;
  /** What it does to people. */
  readonly why: string;
  /** Where it was found: a trace of the model-checked protocol, or a promise of the design. */
  readonly source: string;
  readonly edits: readonly Edit[];
}

export interface Edit {
  /** In `lambdas`. */
  readonly file: string;
  /** Occurs exactly once. */
  readonly find: string;
  readonly replace: string;
}

export function edit(file: string, find: string, replace: string): Edit {
  return { file: `domain/${file}.ts`, find, replace };
}

export function editStore(file: string, find: string, replace: string): Edit {
  return { file: `store/${file}.ts`, find, replace };
}

/** @throws Error where the text is not there exactly once: the mutant would plant nothing, or something else. */
export function plant(source: string, { file, find, replace }: Edit): string {
  const count = source.split(find).length - 1;
  if (count !== 1) throw new Error(`${file}: the text to replace occurs ${count} times: ${find}`);
  return source.replace(find, () => replace);
}
