import { readFile, writeFile } from 'node:fs/promises';

/** Replaces what stands between `<!-- name -->` and `<!-- /name -->` in a document by freshly measured text. */
export async function writeSection(file: string, name: string, text: string): Promise<void> {
  const document = await readFile(file, 'utf8');
  const open = `<!-- ${name} -->`;
  const close = `<!-- /${name} -->`;
  const start = document.indexOf(open);
  const end = document.indexOf(close);
  if (start < 0 || end < start) throw new Error(`${file} has no section ${name}.`);
  await writeFile(file, `${document.slice(0, start + open.length)}\n\n${text}\n\n${document.slice(end)}`);
}

/** A Markdown table; the first column is left-aligned, the others right. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const rule = head.map((_, column) => (column === 0 ? '---' : '--:'));
  return [head, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
