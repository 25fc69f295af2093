import type { Scenario } from './scenario.ts';
import { answers } from './scenarios/answers.ts';
import { classes } from './scenarios/classes.ts';
import { lanes } from './scenarios/lanes.ts';
import { people } from './scenarios/people.ts';
import { restoring } from './scenarios/restoring.ts';
import { submitting } from './scenarios/submitting.ts';
import { watching } from './scenarios/watching.ts';

export const scenarios: readonly Scenario[] = [
  ...classes,
  ...answers,
  ...watching,
  ...people,
  ...lanes,
  ...submitting,
  ...restoring,
];
