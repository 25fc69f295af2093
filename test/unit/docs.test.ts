import { existsSync, globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { startVariables } from '../../local/start-variables.ts';
import type { EnvironmentSettings } from '../../lib/environments.ts';

const root = path.resolve(import.meta.dirname, '../..');
const documents = ['README.md', ...globSync('docs/**/*.md', { cwd: root })].toSorted();
const textOf = (document: string) => readFileSync(path.join(root, document), 'utf8');
const packageSchema = z.object({ scripts: z.record(z.string(), z.string()) });
const { scripts } = packageSchema.parse(JSON.parse(textOf('package.json')));

/** Code shows links of others, and headings that are none. */
const withoutCode = (text: string) =>
  text.replaceAll(/^```.*?^```$/gms, '').replaceAll(/`[^`\n]*`/g, (code) => code.slice(1, -1));

/** As GitHub makes it from a heading. */
const anchorOf = (heading: string) =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');
const anchorsOf = (document: string) =>
  [...withoutCode(textOf(document)).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) => anchorOf(heading));

interface Link {
  readonly from: string;
  readonly target: string;
  /** From the root; the document itself for a bare anchor. */
  readonly file: string;
  readonly anchor: string | undefined;
}

function linksOf(from: string): Link[] {
  const targets = [...withoutCode(textOf(from)).matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [file = '', anchor] = target.split('#');
      return { from, target, file: file === '' ? from : path.join(path.dirname(from), file), anchor };
    });
}

const isDead = ({ file, anchor }: Link) =>
  !existsSync(path.join(root, file)) || (anchor !== undefined && !anchorsOf(file).includes(anchor));

/** The code in the first column of the table that follows a heading, one name per row. */
function namesInTable(document: string, heading: string): string[] {
  const [, section = ''] = textOf(document).split(heading);
  const [table = ''] = /^\|.*?(?=\n\n|$(?![\r\n]))/ms.exec(section) ?? [];
  return [...table.matchAll(/^\| `([^`]+)`/gm)].map(([, name = '']) => name);
}

describe('the documents', () => {
  it('lead to files and headings that are there', () => {
    const links = documents.flatMap(linksOf);
    expect(links.length).toBeGreaterThan(10);
    expect(links.filter(isDead).map(({ from, target }) => `${from}: ${target}`)).toEqual([]);
  });

  it('are all reached from the README, by a link or by name', () => {
    const reached = new Set(['README.md']);
    // A set is walked over what is added to it on the way.
    for (const document of reached) {
      const files = linksOf(document).map(({ file }) => path.join(file));
      for (const each of documents) {
        // A folder's listing shows what is in it.
        const isLinked = files.some((file) => file === each || file === `${path.dirname(each)}/`);
        if (isLinked || textOf(document).includes(`\`${each}\``)) reached.add(each);
      }
    }
    expect([...reached].toSorted()).toEqual(documents);
  });

  it('name no command that is not there, and each that is', () => {
    const everything = documents.map(textOf).join('\n');
    const said = [...everything.matchAll(/npm (?:run (?:-s )?)?([a-z][a-z:-]*)/g)].map(([, name = '']) => name);
    const own = new Set([
      ...said,
      ...[...everything.matchAll(/`((?:check|bench):[a-z-]+)`/g)].map(([, name = '']) => name),
    ]);
    const ofNpm = ['ci', 'run'];
    expect([...new Set(said)].filter((name) => !ofNpm.includes(name) && !(name in scripts))).toEqual([]);
    expect(Object.keys(scripts).filter((name) => !own.has(name))).toEqual([]);
  });

  it('name no file of ours that is not there', () => {
    const ours = /^(?:bin|lib|lambdas|local|operator|openapi|test|bench|examples)\/[\w./-]+$/;
    const named = documents.flatMap((document) =>
      [...textOf(document).matchAll(/`([^`\s]+)`/g)].map(([, code = '']) => ({ document, code })),
    );
    const paths = named.filter(({ code }) => ours.test(code));
    expect(paths.length).toBeGreaterThan(20);
    expect(paths.filter(({ code }) => !existsSync(path.join(root, code)))).toEqual([]);
  });

  it('send no API key on to where a redirect leads', () => {
    const curls = documents.flatMap((document) => textOf(document).match(/\bcurl .*/g) ?? []);
    expect(curls.length).toBeGreaterThan(5);
    // Curl keeps headers of its caller's own for every host that it is sent on to.
    expect(
      curls.filter((curl) => /^curl\b.* (?:-[a-zA-Z]*L\b|--location)/.test(curl) && /X-API-Key|\$\{AS/.test(curl)),
    ).toEqual([]);
  });

  it('tell of every variable of npm start', () => {
    expect(namesInTable('docs/local.md', '# On your own machine').toSorted()).toEqual([...startVariables].toSorted());
  });

  it('tell of every setting of an environment', () => {
    // Does not compile while a setting is missing here.
    const settings: Record<keyof EnvironmentSettings, true> = {
      accountConcurrencyQuota: true,
      lanes: true,
      vendors: true,
      features: true,
      retention: true,
      limits: true,
      alarms: true,
      corsOrigins: true,
      issuers: true,
      domain: true,
      throttle: true,
      socketAccessLogs: true,
      protectData: true,
      reconcileEveryMinutes: true,
    };
    expect(namesInTable('docs/deploying.md', '## The settings').toSorted()).toEqual(Object.keys(settings).toSorted());
  });
});
