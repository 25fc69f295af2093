import { RetentionDays } from 'aws-cdk-lib/aws-logs';
import type { EnvironmentName, EnvironmentSettings } from './environments.ts';

const dayMs = 24 * 60 * 60 * 1000;

/** This is the file that a team edits: what each environment is deployed with. Every value is checked at synth. */
export function environmentSettings(
  studioUrl = 'http://127.0.0.1:4190',
): Readonly<Record<EnvironmentName, EnvironmentSettings>> {
  return {
    local: {
      accountConcurrencyQuota: 1000,
      lanes: { default: { cap: 2, ceiling: 8 } },
      vendors: {
        studio: { adapter: 'jobs-api', baseUrl: studioUrl, dedupe: 'replay', dedupeMs: dayMs, privateNetwork: true },
        'studio-blind': {
          adapter: 'jobs-api',
          baseUrl: `${studioUrl}/blind`,
          dedupe: 'none',
          webhooks: true,
          privateNetwork: true,
        },
      },
      features: {
        upscale: { vendor: 'studio', lane: 'default', maxQueueSeconds: 3600, maxRunSeconds: 600 },
        stylize: { vendor: 'studio-blind', lane: 'default', maxQueueSeconds: 3600, maxRunSeconds: 600 },
      },
      retention: { jobDays: 30, evidenceDays: 400, auditDays: 365, logDays: RetentionDays.ONE_WEEK },
      limits: { activeJobs: 100, submitsPerMinute: 60, sockets: 10 },
      alarms: 'none',
      corsOrigins: ['*'],
      issuers: [],
      throttle: { perSecond: 100, burst: 200 },
      socketAccessLogs: false,
      protectData: false,
      reconcileEveryMinutes: 1,
    },

    // Deploys into a fresh account: its quota of 10 leaves nothing to reserve, and its alarms wait for an address.
    dev: {
      accountConcurrencyQuota: 10,
      lanes: { default: { cap: 2, ceiling: 4 } },
      vendors: { images: imagesVendor },
      features: imageFeatures,
      retention: { jobDays: 7, evidenceDays: 60, auditDays: 30, logDays: RetentionDays.TWO_WEEKS },
      limits: { activeJobs: 100, submitsPerMinute: 60, sockets: 10 },
      alarms: 'none',
      corsOrigins: ['*'],
      issuers: [],
      throttle: { perSecond: 50, burst: 100 },
      socketAccessLogs: false,
      protectData: false,
      reconcileEveryMinutes: 1,
    },

    staging: {
      accountConcurrencyQuota: 1000,
      lanes: { default: { cap: 4, ceiling: 20 } },
      vendors: { images: imagesVendor },
      features: imageFeatures,
      retention: { jobDays: 14, evidenceDays: 90, auditDays: 90, logDays: RetentionDays.ONE_MONTH },
      limits: { activeJobs: 100, submitsPerMinute: 60, sockets: 10 },
      alarms: { emails: ['images-staging@example.com'] },
      corsOrigins: ['https://staging.example.com'],
      issuers: [],
      throttle: { perSecond: 200, burst: 400 },
      socketAccessLogs: false,
      protectData: false,
      reconcileEveryMinutes: 1,
    },

    prod: {
      accountConcurrencyQuota: 1000,
      lanes: { default: { cap: 10, ceiling: 50 } },
      vendors: { images: imagesVendor },
      features: imageFeatures,
      retention: { jobDays: 30, evidenceDays: 400, auditDays: 365, logDays: RetentionDays.THREE_MONTHS },
      limits: { activeJobs: 100, submitsPerMinute: 60, sockets: 10 },
      alarms: { emails: ['images-on-call@example.com'] },
      corsOrigins: ['https://app.example.com'],
      issuers: [],
      throttle: { perSecond: 1000, burst: 2000 },
      socketAccessLogs: false,
      protectData: true,
      reconcileEveryMinutes: 1,
    },
  };
}

/** A placeholder: put your vendor's address here, and what its documentation says of a key that it sees twice. */
const imagesVendor = {
  adapter: 'jobs-api',
  baseUrl: 'https://images.example.com',
  dedupe: 'none',
  webhooks: true,
} satisfies EnvironmentSettings['vendors'][string];

const imageFeatures = {
  upscale: { vendor: 'images', lane: 'default', maxQueueSeconds: 3600, maxRunSeconds: 600 },
  stylize: { vendor: 'images', lane: 'default', maxQueueSeconds: 3600, maxRunSeconds: 600 },
} satisfies EnvironmentSettings['features'];
