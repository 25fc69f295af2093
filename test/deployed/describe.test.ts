import { expect, test } from 'vitest';
import * as z from 'zod';
import { anybody } from './api.ts';
import { featuresSchema } from './jobs.ts';
import { target } from './target.ts';

test('health says ok, and of which environment', async () => {
  const answer = await anybody.call('GET', '/api/v1/health');

  expect(answer.status).toBe(200);
  expect(answer.json()).toEqual({ status: 'ok', environment: expect.stringMatching(/^[a-z][a-z0-9-]*$/) });
  expect(answer.headers.get('request-id')).toMatch(/./);
});

test('features are listed with what they take, for everybody', async () => {
  const answer = await anybody.call('GET', '/api/v1/features');

  expect(answer.status).toBe(200);
  const { features } = featuresSchema.parse(answer.json());
  expect(new Set(features.map(({ name }) => name)).size).toBe(features.length);
});

test('the API describes itself, at its own address', async () => {
  const answer = await anybody.call('GET', '/api/v1/openapi.json');

  expect(answer.status).toBe(200);
  const document = z
    .looseObject({
      openapi: z.string().regex(/^3\.1\./),
      servers: z.array(z.object({ url: z.string() })),
      paths: z.record(z.string(), z.record(z.string(), z.unknown())),
    })
    .parse(answer.json());
  expect(document.servers).toEqual([{ url: target.url }]);
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(operations).toEqual(
    expect.arrayContaining([
      'POST /api/v1/jobs',
      'GET /api/v1/jobs',
      'GET /api/v1/jobs/{id}',
      'GET /api/v1/jobs/by-key',
      'GET /api/v1/jobs/{id}/result',
      'POST /api/v1/jobs/{id}/cancel',
      'POST /api/v1/uploads',
      'POST /api/v1/client-tokens',
      'POST /api/v1/socket-tickets',
    ]),
  );
});
