import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';

const root = path.resolve(import.meta.dirname, '../..');
const template = z.object({ Resources: z.record(z.string(), z.object({ Type: z.string(), Properties: z.json() })) });

describe("a team's own app", () => {
  let outdir: string;
  beforeAll(async () => {
    outdir = await mkdtemp(path.join(os.tmpdir(), 'slowlane-own-app-'));
    const env = { ...process.env, CDK_OUTDIR: outdir };
    await promisify(execFile)(process.execPath, ['examples/own-app/app.ts'], { cwd: root, env });
  });
  afterAll(() => rm(outdir, { recursive: true, force: true }));

  async function resources() {
    const text = await readFile(path.join(outdir, 'Pictures.template.json'), 'utf8');
    return Object.values(template.parse(JSON.parse(text)).Resources);
  }

  it('deploys its feature, on its lane, at its vendor', async () => {
    const functions = (await resources()).filter(({ Type }) => Type === 'AWS::Lambda::Function');
    const text = JSON.stringify(functions);
    expect(text).toContain('text-to-image');
    expect(text).toContain('paintshop');
    expect(text).toContain('custom:tenant');
  });

  it('bundles its modules in the place of the empty ones, in every function that knows the catalogue', async () => {
    const bundles = await bundlesIn(outdir);
    const withFeature = bundles.filter((bundle) => bundle.includes('Makes a picture from words.'));
    const withCatalogue = bundles.filter((bundle) => bundle.includes('Redraws the photograph'));
    expect(withCatalogue.length).toBeGreaterThan(3);
    expect(withFeature).toHaveLength(withCatalogue.length);
  });
});

async function bundlesIn(outdir: string): Promise<string[]> {
  const assets = (await readdir(outdir)).filter((name) => name.startsWith('asset.'));
  return await Promise.all(assets.map((asset) => readFile(path.join(outdir, asset, 'index.mjs'), 'utf8')));
}
