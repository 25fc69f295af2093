import type { Mutant } from './mutant.ts';
import { promiseMutants } from './promises.ts';
import { protocolMutants } from './protocol.ts';
import { secondDraftMutants } from './second-draft.ts';
import { storeMutants } from './store.ts';

export const mutants: readonly Mutant[] = [
  ...protocolMutants,
  ...secondDraftMutants,
  ...promiseMutants,
  ...storeMutants,
];
