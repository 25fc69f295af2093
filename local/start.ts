import { localKeys } from './seed-keys.ts';
import { startLocal } from './start-local.ts';
import { readStartVariables } from './start-variables.ts';

let stopping: Promise<void> | undefined;

try {
  const settings = readStartVariables(process.env);
  console.log('Starting Slowlane on this machine (the first time also builds it)…');
  const starting = startLocal({
    host: settings.HOST,
    port: settings.PORT,
    studioPort: settings.STUDIO_PORT,
    dataDir: settings.DATA_DIR,
    ...(settings.PUBLIC_URL === undefined ? {} : { publicUrl: settings.PUBLIC_URL }),
    ...(settings.LOCAL_RECONCILE_SECONDS === undefined
      ? {}
      : { reconcileEverySeconds: settings.LOCAL_RECONCILE_SECONDS }),
  });
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => {
      // Who asks twice doesn't want to wait.
      if (stopping !== undefined) process.exit(1);
      // While it starts, too: the studio is a process of its own, and would stay behind.
      stopping = starting.then(
        (local) => local.stop().then(() => process.exit(0)),
        () => process.exit(1),
      );
    });
  }
  const local = await starting;
  console.log(`Slowlane is ready: ${local.url}  (what it can do: ${local.url}/api/v1/openapi.json)`);
  for (const { key, scopes } of localKeys) console.log(`  X-API-Key: ${key}  (${scopes.join(', ')})`);
  console.log(`  sockets ${local.socketUrl}, studio ${local.studioUrl}, data and logs in ${settings.DATA_DIR}`);
} catch (error) {
  // A start that is being ended breaks off somewhere; that is no news.
  if (stopping === undefined) console.error(error instanceof Error ? error.message : error);
  process.exit(1);
}
