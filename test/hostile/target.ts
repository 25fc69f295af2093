import type { APIGatewayProxyEventV2, Context } from 'aws-lambda';
import { describeFeatures } from '../../lambdas/catalogue/describe-features.ts';
import { createCatalogue } from '../../lambdas/catalogue/features.ts';
import { secretSha256, type Scope } from '../../lambdas/domain/access.ts';
import type { Job } from '../../lambdas/domain/job.ts';
import type { Vendor } from '../../lambdas/domain/vendor.ts';
import { createAuthenticator } from '../../lambdas/http/authenticate.ts';
import { cancelJobRoute } from '../../lambdas/http/cancel-job.ts';
import { createClientTokenRoute } from '../../lambdas/http/create-client-token.ts';
import { createSocketTicketRoute } from '../../lambdas/http/create-socket-ticket.ts';
import { createUploadRoute } from '../../lambdas/http/create-upload.ts';
import { createCursors } from '../../lambdas/http/cursor.ts';
import { describeApiRoute } from '../../lambdas/http/describe-api.ts';
import { httpHandler } from '../../lambdas/http/entry.ts';
import { eraseJobsRoute } from '../../lambdas/http/erase-jobs.ts';
import { listJobsRoute } from '../../lambdas/http/list-jobs.ts';
import { operateJobsRoute } from '../../lambdas/http/operate-jobs.ts';
import { operateLanesRoute } from '../../lambdas/http/operate-lanes.ts';
import { readJobRoute } from '../../lambdas/http/read-job.ts';
import { receiveVendorEventRoute } from '../../lambdas/http/receive-vendor-event.ts';
import type { Route } from '../../lambdas/http/request.ts';
import { submitJobRoute } from '../../lambdas/http/submit-job.ts';
import { createClientTokens } from '../../lambdas/issuers/client-tokens.ts';
import { createLog } from '../../lambdas/runtime/log.ts';
import { createMetrics } from '../../lambdas/runtime/metrics.ts';
import { createVendors } from '../../lambdas/vendors/registry.ts';
import { createVerifyCallback } from '../../lambdas/vendors/verify-callback.ts';
import { openApiDocument } from '../../openapi/document.ts';
import { CountingTokens } from '../fakes/counting-tokens.ts';
import { ManualClock } from '../fakes/manual-clock.ts';
import { MemoryAccessStore } from '../fakes/memory-access-store.ts';
import { MemoryAuditStore } from '../fakes/memory-audit-store.ts';
import { MemoryDoorbell } from '../fakes/memory-doorbell.ts';
import { MemoryEvidenceStore } from '../fakes/memory-evidence-store.ts';
import { MemoryFileStore } from '../fakes/memory-file-store.ts';
import { MemoryJobIndex } from '../fakes/memory-job-index.ts';
import { MemoryJobStore } from '../fakes/memory-job-store.ts';
import { MemoryLaneStore } from '../fakes/memory-lane-store.ts';
import { MemoryOwnerStore } from '../fakes/memory-owner-store.ts';
import { MemoryUploadStore } from '../fakes/memory-upload-store.ts';
import { ToldVendor } from '../fakes/told-vendor.ts';
import { deployedFeatures } from '../fixtures/http-gateway.ts';
import { noon } from '../fixtures/stored-job.ts';
import { moveIn } from './canaries.ts';
import { watched, type Effect } from './effects.ts';

export const signingSecret = { current: 'the-signing-secret-of-this-deployment' };
export const webhookSecret = 'whsec_dGhlIHdlYmhvb2sgc2VjcmV0IG9mIHRoZSB2ZW5kb3I=';
const vendorApiKey = 'the-api-key-of-our-account';

interface GrantedKey {
  readonly secret: string;
  readonly tenant: string;
  readonly scopes: readonly Scope[];
}

const everyScope: readonly Scope[] = ['jobs', 'operator', 'tokens', 'act-for-user'];

export const grantedKeys: readonly GrantedKey[] = [
  { secret: 'sl_test_server-of-acme', tenant: 'acme', scopes: ['jobs', 'tokens', 'act-for-user'] },
  { secret: 'sl_test_reader-of-acme', tenant: 'acme', scopes: ['jobs'] },
  { secret: 'sl_test_operator-of-acme', tenant: 'acme', scopes: ['operator'] },
  { secret: 'sl_test_everything-of-evil', tenant: 'evil', scopes: everyScope },
];
export const revokedKey = 'sl_test_revoked-of-acme';

/** What no answer and no log line may hold, whoever asks. */
export const secrets: readonly string[] = [
  signingSecret.current,
  webhookSecret,
  vendorApiKey,
  revokedKey,
  ...grantedKeys.map(({ secret }) => secret),
];

const keyIdOf = (secret: string): string => `key_${secretSha256(secret).slice(0, 8)}`;

const openapi = openApiDocument();

export interface TargetAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string | undefined;
}

/** Every HTTP function over memory stores that refuse what AWS refuses, with jobs of several owners in them. */
export class Target {
  readonly clock = new ManualClock(noon + 60_000);
  readonly effects: Effect[] = [];
  readonly logged: string[] = [];
  readonly jobs = new MemoryJobStore();
  readonly lanes = new MemoryLaneStore({ default: 2, slow: 1 });
  readonly files = new MemoryFileStore();
  readonly uploads = new MemoryUploadStore();
  readonly evidence = new MemoryEvidenceStore();
  readonly doorbell = new MemoryDoorbell();
  readonly access = new MemoryAccessStore();
  /** So low that what one target is sent comes upon both. */
  readonly limits = { activeJobs: 3, submitsPerMinute: 3 };
  readonly secret = { read: async () => signingSecret, refresh: async () => signingSecret };
  readonly clientTokens = createClientTokens({ secret: this.secret, clock: this.clock });
  readonly log = createLog({
    environment: 'test',
    function: 'test',
    clock: this.clock,
    writeLine: (line) => void this.logged.push(line),
  });
  readonly #world = this.#makeWorld();
  readonly #routes = this.#makeRoutes();
  readonly #handlers = new Map<string, ReturnType<typeof httpHandler>>();

  private constructor() {
    this.jobs.whenSiblingsAreErased((id) => this.evidence.erase(id));
  }

  static async open(photo: Uint8Array): Promise<Target> {
    const target = new Target();
    for (const { secret, tenant, scopes } of grantedKeys) await target.#grant(secret, tenant, scopes);
    await target.#grant(revokedKey, 'acme', everyScope);
    await target.access.revokeKey(keyIdOf(revokedKey), noon);
    await moveIn(target, photo);
    return target;
  }

  async send(event: APIGatewayProxyEventV2): Promise<TargetAnswer> {
    const { statusCode = 0, headers = {}, body } = await this.#handlerOf(event.routeKey)(event, {} as Context);
    return { status: statusCode, headers: headers as Record<string, string>, text: body };
  }

  /** Every job, file, lane and ring as it is now, by a name that tells whose it is. */
  snapshot(): ReadonlyMap<string, string> {
    const things = new Map<string, string>(this.jobs.all().map((job) => [`${job.owner} job ${job.id}`, textOf(job)]));
    for (const key of this.files.keys) things.set(`${key.split('/').slice(1, 3).join('/')} file ${key}`, '');
    things.set('lanes', JSON.stringify(['default', 'slow'].map((lane) => this.lanes.get(lane))));
    return things;
  }

  get world() {
    return this.#world;
  }

  async #grant(secret: string, tenant: string, scopes: readonly Scope[]): Promise<void> {
    const key = {
      id: keyIdOf(secret),
      tenant,
      name: 'a key',
      scopes,
      createdAtMs: 0,
      lastUsedAtMs: this.clock.now(),
    };
    await this.access.createKey(secretSha256(secret), key);
  }

  #handlerOf(routeKey: string): ReturnType<typeof httpHandler> {
    const known = this.#handlers.get(routeKey);
    if (known !== undefined) return known;
    const handler = httpHandler(this.#routes(routeKey), this);
    this.#handlers.set(routeKey, handler);
    return handler;
  }

  #makeWorld() {
    const { clock, effects } = this;
    const notice = (call: string) => (about: unknown) => void effects.push({ call, about });
    const signDownload = async (key: string, { expiresInSeconds }: { readonly expiresInSeconds: number }) => ({
      url: `https://pictures.test/${key}`,
      expiresAtMs: clock.now() + expiresInSeconds * 1_000,
    });
    const signUpload = async (key: string, { expiresInSeconds }: { readonly expiresInSeconds: number }) => ({
      url: 'https://pictures.test/',
      fields: { key },
      expiresAtMs: clock.now() + expiresInSeconds * 1_000,
    });
    return {
      clock,
      waiting: clock,
      tokens: new CountingTokens('made'),
      jobs: watched('jobs', this.jobs, effects),
      index: watched('index', new MemoryJobIndex(this.jobs), effects),
      lanes: watched('lanes', this.lanes, effects),
      owners: watched('owners', new MemoryOwnerStore(), effects),
      files: Object.assign(watched('files', this.files, effects), { signDownload, signUpload }),
      uploads: watched('uploads', this.uploads, effects),
      doorbell: watched('doorbell', this.doorbell, effects),
      evidence: watched('evidence', this.evidence, effects),
      audit: watched('audit', new MemoryAuditStore(), effects),
      access: watched('access', this.access, effects),
      bus: { publish: async (announcement: { readonly job: Job }) => notice('bus.publish')(announcement.job.id) },
      feed: { send: notice('feed.send'), flush: async () => undefined },
      notices: { note: () => undefined },
      vendors: { named: (name: string) => this.#vendors.get(name) },
      catalogue: createCatalogue(deployedFeatures, () => 1),
      limits: this.limits,
      retentionMs: 30 * 86_400_000,
      prices: () => ({ amount: 0.04, currency: 'USD' }),
      callbackUrl: async () => undefined,
    };
  }

  readonly #vendors = new Map<string, Vendor>(
    ['studio', 'studio-blind'].map((name) => [name, this.#makeVendor(name, name === 'studio')]),
  );

  /** It knows no job, and refuses to be asked for one whose id would lead to another address. */
  #makeVendor(name: string, signs: boolean): Vendor {
    const { clock } = this;
    const secret = { apiKey: vendorApiKey, ...(signs ? { webhookSecret } : {}) };
    const secretOf = () => ({ read: async () => secret, refresh: async () => secret });
    const settings = { adapter: 'jobs-api', baseUrl: 'https://studio.test', webhooks: true, secretArn: 'arn' };
    const real = createVendors({ [name]: { ...settings, dedupe: 'none' } }, { clock, waiting: clock, secretOf });
    const vendor = new ToldVendor(name);
    vendor.reader = real.named(name);
    const ask = vendor.ask.bind(vendor);
    vendor.ask = async (id) => {
      const path = `/jobs/${encodeURIComponent(id)}`;
      if (new URL(path, 'https://studio.test').pathname !== path) throw new Error('The vendor was asked elsewhere.');
      return await ask(id);
    };
    return vendor;
  }

  #makeRoutes(): (routeKey: string) => Route {
    const world = this.#world;
    const { clock, log, clientTokens } = this;
    const { access } = world;
    const authenticator = createAuthenticator({ access, tokens: [clientTokens], clock, log });
    const metrics = createMetrics({ environment: 'test', clock, writeLine: () => undefined });
    const cursors = createCursors(this.secret);
    const publicUrl = 'https://api.test';
    const ticketSettings = { authenticator, access, clock, tokens: world.tokens, socketUrl: 'wss://sockets.test' };
    const features = describeFeatures(world.catalogue);
    const view = { vendors: world.vendors, prices: world.prices };
    return (routeKey) => {
      const path = routeKey.split(' ')[1] ?? '';
      if (path.startsWith('/api/v1/vendor-events')) {
        return receiveVendorEventRoute({ world, isOurs: createVerifyCallback(this.secret) });
      }
      if (path.startsWith('/api/v1/operator/lanes')) {
        return operateLanesRoute({ authenticator, world, ceilings: { default: 8, slow: 2 } });
      }
      if (path.startsWith('/api/v1/operator')) {
        return operateJobsRoute({ authenticator, cursors, world, view, lanes: ['default', 'slow'] });
      }
      if (routeKey.startsWith('DELETE ')) return eraseJobsRoute({ authenticator, world });
      switch (routeKey) {
        case 'POST /api/v1/jobs':
          return submitJobRoute({ authenticator, world, metrics, publicUrl });
        case 'GET /api/v1/jobs':
          return listJobsRoute({ authenticator, world, cursors });
        case 'POST /api/v1/jobs/{id}/cancel':
          return cancelJobRoute({ authenticator, world });
        case 'POST /api/v1/uploads':
          return createUploadRoute({ authenticator, world });
        case 'POST /api/v1/client-tokens':
          return createClientTokenRoute({
            authenticator,
            tokens: clientTokens,
            features: new Set(['upscale', 'stylize']),
          });
        case 'POST /api/v1/socket-tickets':
          return createSocketTicketRoute(ticketSettings);
        case 'GET /api/v1/features':
        case 'GET /api/v1/openapi.json':
        case 'GET /api/v1/health':
          return describeApiRoute({ environment: 'test', publicUrl, features, openapi });
        default:
          return readJobRoute({ authenticator, world });
      }
    };
  }
}

const texts = new WeakMap<Job, string>();

/** A stored job is replaced and never changed, so its text is made once. */
function textOf(job: Job): string {
  const text = texts.get(job) ?? JSON.stringify(job);
  texts.set(job, text);
  return text;
}
