import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { runToEnd, type Ended } from './run-to-end.ts';

/** A tool written in Python: its pinned packages are `<name>.txt` beside this file. */
export type PythonTool = 'cfn-lint' | 'ministack' | 'schemathesis';

export interface PythonEnvironment {
  /** The path of a command that one of the packages installs. */
  command(name: string): string;
}

const root = path.resolve(import.meta.dirname, '../..');

/**
 * The tool in an environment of its own, `.venv/<name>`: made when first needed, and again when its requirements or this
 * machine's Python change. Two processes must not make the same one at once.
 * @throws Error in words for a person where Python, its venv module or a package is missing
 */
export async function pythonEnvironment(tool: PythonTool): Promise<PythonEnvironment> {
  const requirementsFile = path.join(import.meta.dirname, `${tool}.txt`);
  const folder = path.join(root, '.venv', tool);
  const wanted = await describeWanted(requirementsFile);
  const stampFile = path.join(folder, 'made-from.sha256');
  if (!existsSync(stampFile) || (await readFile(stampFile, 'utf8')) !== wanted) {
    console.log(`Installing ${tool} into .venv/${tool} (once)…`);
    await make(folder, requirementsFile);
    // Last: an environment that was left half made is made again.
    await writeFile(stampFile, wanted);
  }
  return { command: (name) => path.join(folder, 'bin', name) };
}

async function describeWanted(requirementsFile: string): Promise<string> {
  const version = await python(['--version']);
  const requirements = await readFile(requirementsFile);
  return createHash('sha256').update(version.output).update(requirements).digest('hex');
}

async function make(folder: string, requirementsFile: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(path.dirname(folder), { recursive: true });
  const made = await python(['-m', 'venv', folder]);
  if (made.code !== 0) {
    throw new Error(
      `python3 can't make a virtual environment: its venv module is missing (Debian: apt-get install python3-venv).\n${made.output}`,
    );
  }
  const pip = path.join(folder, 'bin/pip');
  const options = ['--quiet', '--no-input', '--disable-pip-version-check', '--only-binary', ':all:'];
  const installed = await runToEnd(pip, ['install', ...options, '--requirement', requirementsFile]);
  if (installed.code !== 0) throw new Error(`pip could not install ${requirementsFile}:\n${installed.output}`);
}

async function python(args: readonly string[]): Promise<Ended> {
  try {
    return await runToEnd('python3', args);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    throw new Error('python3 is not on PATH, and this tool is written in Python (Debian: apt-get install python3).', {
      cause: error,
    });
  }
}
