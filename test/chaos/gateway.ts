import { startLocal } from '../../local/start-local.ts';
import { deployAs } from '../e2e/harness/deploy-as.ts';
import { impatientBundles } from '../e2e/harness/impatient-bundles.ts';

/** `npm start` with the protocol's leases and deadlines shortened, for a chaos that has little time. */

const { DATA_DIR: dataDir = '', PORT, STUDIO_PORT, LOCAL_RECONCILE_SECONDS } = process.env;
const bundle = await impatientBundles(`${dataDir}/impatient`);
const settings = deployAs({ vendor: { sendTimeoutMs: 4_000 } });
const local = await startLocal({
  dataDir,
  port: Number(PORT),
  studioPort: Number(STUDIO_PORT),
  reconcileEverySeconds: Number(LOCAL_RECONCILE_SECONDS),
  quiet: true,
  deployAs: (spec) => settings(bundle(spec)),
});
process.on('SIGTERM', () => void local.stop().then(() => process.exit(0)));
console.log(`Slowlane is ready: ${local.url}`);
console.log(`  sockets ${local.socketUrl}, studio ${local.studioUrl}, data and logs in ${dataDir}`);
