import { createHmac, randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

export interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken: string;
}

/**
 * Every caller's AWS credentials, derived from one secret of this data folder, so that links signed before a restart hold
 * after it. The access key id is the caller's name: each call can be counted and checked for who makes it.
 */
export class CredentialIssuer {
  readonly #root: Buffer;

  constructor(root: Buffer) {
    this.#root = root;
  }

  static async open(dataFolder: string): Promise<CredentialIssuer> {
    const file = path.join(dataFolder, 'credentials.key');
    await mkdir(dataFolder, { recursive: true });
    try {
      await writeFile(file, randomBytes(32).toString('hex'), { flag: 'wx', mode: 0o600 });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    return new CredentialIssuer(Buffer.from(await readFile(file, 'utf8'), 'hex'));
  }

  issue(caller: string): Credentials {
    const derive = (purpose: string) =>
      createHmac('sha256', this.#root).update(`${purpose}:${caller}`).digest('base64');
    return { accessKeyId: caller, secretAccessKey: derive('secret'), sessionToken: derive('session') };
  }
}
