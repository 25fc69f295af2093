import path from 'node:path';
import { readCloudAssembly } from './assembly/cloud-assembly.ts';
import { studioPlaceholder, synthesize } from './assembly/synthesize.ts';
import { Front } from './runtime/front.ts';
import type { Functions, LocalFunctionSpec } from './runtime/functions.ts';
import { startGateway } from './runtime/gateway.ts';
import type { Endpoints } from './runtime/platform.ts';
import { Teardown } from './runtime/teardown.ts';
import { seedKeys } from './seed-keys.ts';
import { ensureStudio } from './studio-process.ts';
import { giveStudioSecrets } from './studio-secrets.ts';

/** Never wider: its faults and ledger are this machine's, and its links must bear the address that the gateway knows it by. */
const studioHost = '127.0.0.1';

export interface LocalOptions {
  /** Everything that must survive: tables, pictures, secrets, events, the studio's ledger. */
  readonly dataDir: string;
  readonly host?: string;
  /** 0 for any free port. */
  readonly port?: number;
  readonly studioPort?: number;
  /** What clients reach this machine by; by default `host`, or its address in the local network. */
  readonly publicUrl?: string;
  /** Replaces the interval of every schedule in the template. */
  readonly reconcileEverySeconds?: number;
  /** Shows nothing of what functions write; it is in `<dataDir>/logs` either way. */
  readonly quiet?: boolean;
  /** A cloud assembly to serve in place of the app's own, without studio and keys. */
  readonly assemblyFolder?: string;
  /** As if a function were deployed with other settings than the template's: limits, timeouts, what is said of vendors. */
  readonly deployAs?: (spec: LocalFunctionSpec) => LocalFunctionSpec;
}

export interface LocalEnvironment {
  /** The public URL, without a trailing slash. */
  readonly url: string;
  /** `ws://…/<stage>`, or `undefined` where the template has no WebSocket API. */
  readonly socketUrl: string | undefined;
  readonly studioUrl: string | undefined;
  readonly functions: Functions;
  /** Where the AWS services answer, for a person's own tools. */
  readonly endpoints: Endpoints;
  /** Ends the function's environments that are running something, as a crash would. @returns how many. */
  killFunction(name: string): Promise<number>;
  /** Ends everything that this environment serves, the studio included. */
  stop(): Promise<void>;
  /** As `stop`, but the studio lives on, as a vendor would. */
  stopGateway(): Promise<void>;
}

/** Serves the synthesized app on this machine. @throws Error in words for a person where it can't. */
export async function startLocal(options: LocalOptions): Promise<LocalEnvironment> {
  const teardown = new Teardown();
  try {
    return await start(options, teardown);
  } catch (error) {
    await teardown.run();
    throw error;
  }
}

async function start(options: LocalOptions, teardown: Teardown): Promise<LocalEnvironment> {
  const { host = '127.0.0.1', port = 0, studioPort = 0, quiet = false, assemblyFolder } = options;
  const dataFolder = path.resolve(options.dataDir);
  const withStudio = assemblyFolder === undefined;
  const studioStart = withStudio
    ? ensureStudio({ dataFolder, host: studioHost, port: studioPort })
    : Promise.resolve(undefined);
  let serving = false;
  teardown.add(async () => {
    // A studio that could not start has told so below, and there is nothing to stop.
    const started = await studioStart.catch(() => undefined);
    // Who could not start because another Slowlane is at work here leaves it the studio.
    if (serving || started?.found === false) await started?.stop();
  });
  const gatewayTeardown = new Teardown();
  teardown.add(() => gatewayTeardown.run());
  const front = await Front.listen({ host, port, publicUrl: options.publicUrl });
  gatewayTeardown.add(() => front.stop());
  const [folder, studio] = await Promise.all([assemblyFolder ?? synthesize(), studioStart]);
  const gateway = await startGateway({
    assembly: await readCloudAssembly(folder),
    dataFolder,
    front,
    addresses: new Map(studio === undefined ? [] : [[studioPlaceholder, studio.url]]),
    scheduleEverySeconds: options.reconcileEverySeconds,
    deployAs: options.deployAs,
    showOutput: quiet ? () => undefined : (line) => console.error(line),
    provide: async ({ specs, stores, region }) => {
      if (studio === undefined) return;
      await giveStudioSecrets(specs, studio, stores.secrets);
      await seedKeys(specs, stores.dynamo.url, region);
    },
  });
  gatewayTeardown.add(() => gateway.stop());
  const { functions, socketUrl, endpoints } = gateway;
  serving = true;
  return {
    url: front.publicUrl,
    socketUrl,
    studioUrl: studio?.url,
    functions,
    endpoints,
    killFunction: async (name) => (await functions.named(name)?.killBusy()) ?? 0,
    stopGateway: () => gatewayTeardown.run(),
    stop: () => teardown.run(),
  };
}
