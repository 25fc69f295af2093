/** Renders docs/lifecycle.md from the lifecycle's table: `node docs/render-lifecycle.ts` writes it, a test compares it. */
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { rowOf, toMermaid, transitions, type Clause, type Compared } from '../lambdas/domain/lifecycle.ts';

const comparedWords: Readonly<Record<Compared, string>> = {
  attempt: 'attempt as read',
  version: 'version as read',
  generation: 'generation as read',
};

const clauseWords: Readonly<Record<Clause, string>> = {
  'no-cancel': 'no cancel asked',
  'cancel-asked': 'cancel asked',
  'no-vendor-job': 'no vendor job known',
  'same-vendor-job': 'no other vendor job known',
  'hold-bound': 'hold bound',
  'hold-as-read': 'hold bound, by the token read',
  'hold-freed': 'hold freed',
  'never-unknown': 'no send unknown',
  'only-send': 'the only send',
  'watch-as-read': 'watch as read',
  'announce-as-read': 'announcement as read',
};

const head = `# The life of a job

Generated from \`lambdas/domain/lifecycle.ts\` by \`node docs/render-lifecycle.ts\`; a test fails where the two differ.

The table there is the only place that says which transitions exist. From it come the types (an illegal move does not
compile), the condition and the effect of every DynamoDB write, the diagram below, and a test that asks for each
transition in each state of the fake and of the real adapter.
`;

const tableIntro = `
## Transitions

Each is one conditional update. Besides the state it compares what stands under _iff_; where that is not so, nothing
changes, and whoever asked gets the job as it is. Everything but bookkeeping raises the version.
`;

interface Line {
  readonly transition: string;
  readonly from: string;
  readonly to: string;
  readonly iff: string;
  readonly writes: string;
  readonly why: string;
}

function lines(): readonly Line[] {
  return transitions.map((transition) => {
    const row = rowOf(transition);
    const effects = [
      ...row.raises.map((field) => `${field} + 1`),
      ...row.sets,
      ...row.setsOnce.map((field) => `${field} (once)`),
      ...row.clears.map((field) => `no ${field}`),
      ...(row.unbinds ? ['frees the hold'] : []),
      ...(row.announces ? ['announces'] : []),
      ...(row.bookkeeping ? ['same version'] : []),
    ];
    return {
      transition: `\`${transition}\``,
      from: row.from.length === 7 ? 'any' : row.from.join(', '),
      to: row.to,
      iff: [...row.compares.map((one) => comparedWords[one]), ...row.requires.map((one) => clauseWords[one])].join(
        '; ',
      ),
      writes: effects.join(', '),
      why: row.why,
    };
  });
}

/** Padded as the formatter pads, so that it has nothing to change. */
function table(rows: readonly Line[]): string {
  const columns = ['transition', 'from', 'to', 'iff', 'writes', 'why'] as const;
  const widths = columns.map((column) => Math.max(column.length, ...rows.map((row) => row[column].length)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return [line(columns), rule, ...rows.map((row) => line(columns.map((column) => row[column])))].join('\n');
}

export function renderLifecycle(): string {
  return [head, '```mermaid', toMermaid(), '```', tableIntro, table(lines()), ''].join('\n');
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  writeFileSync(new URL('lifecycle.md', import.meta.url), renderLifecycle());
}
