import { describe, expect, test } from 'vitest';
import {
  dispatchJobEnvironment,
  functionEnvironments,
  type FunctionName,
  readEnvironment,
  vendorSettings,
} from '../../lambdas/runtime/env.ts';
import { environmentNames } from '../../lib/environments.ts';
import { deployedVariables } from './deployed-variables.ts';
import { idPart, onlyResource, templatesOf } from './synthesized.ts';

const names = Object.keys(functionEnvironments) as FunctionName[];

function variablesOf(environment: (typeof environmentNames)[number], name: FunctionName): Record<string, string> {
  const id = idPart(name === 'dispatch-job' ? 'dispatch-job-default' : name);
  return deployedVariables(onlyResource(templatesOf(environment).gateway, 'AWS::Lambda::Function', id));
}

describe.each(environmentNames)('deployed to %s', (environment) => {
  test.each(names)('%s can read what it is given', (name) => {
    expect(readEnvironment(functionEnvironments[name], variablesOf(environment, name))).toMatchObject({});
  });
});

describe('a function reads', () => {
  const local = () => readEnvironment(dispatchJobEnvironment, variablesOf('local', 'dispatch-job'));

  test('its lanes, with the queue to ring and the first cap', () => {
    expect(local().LANES).toEqual({ default: { queueUrl: expect.stringMatching(/^https:/), cap: 2, ceiling: 8 } });
    expect(local().LANE).toBe('default');
  });

  test('its vendors, each with its own secret', () => {
    const { studio, 'studio-blind': blind } = local().VENDORS;
    expect(studio).toMatchObject({ adapter: 'jobs-api', baseUrl: 'http://127.0.0.1:4190', dedupe: 'replay' });
    expect(blind).toMatchObject({ baseUrl: 'http://127.0.0.1:4190/blind', dedupe: 'none', webhooks: true });
    expect(studio?.secretArn).not.toBe(blind?.secretArn);
  });

  test('its features, each with its bounds', () => {
    expect(local().FEATURES).toEqual({
      upscale: { vendor: 'studio', lane: 'default', maxQueueSeconds: 3600, maxRunSeconds: 600 },
      stylize: { vendor: 'studio-blind', lane: 'default', maxQueueSeconds: 3600, maxRunSeconds: 600 },
    });
  });
});

describe('a wrong environment', () => {
  const right = () => variablesOf('local', 'dispatch-job');
  const read = (changes: Record<string, string | undefined>) => () =>
    readEnvironment(dispatchJobEnvironment, { ...right(), ...changes });

  test('names every variable at once', () => {
    expect(read({ TABLE_NAME: undefined, LANE: 'Default', PUBLIC_URL: 'https://api.example.com/' })).toThrow(
      /TABLE_NAME: [^]*PUBLIC_URL: must not end with a slash[^]*LANE: must be/,
    );
  });

  test('names the place in a variable of JSON', () => {
    expect(read({ LANES: '{"default":{"queueUrl":"https://queue","cap":-1,"ceiling":8}}' })).toThrow(
      'LANES.default.cap: ',
    );
    expect(read({ LANES: '{"default":' })).toThrow('LANES: is not JSON');
  });

  test('never repeats what a variable holds', () => {
    expect(read({ VENDORS: '{"studio":{"apiKey":"hunter2"}}' })).toThrow(/^(?![^]*hunter2)[^]*VENDORS\.studio/);
  });
});

test('a vendor needs no more than where it is, who speaks to it, and what it does with a key that it sees twice', () => {
  const least = { adapter: 'jobs-api', baseUrl: 'https://images.example.com', dedupe: 'none' };
  expect(vendorSettings.parse(least)).toEqual(least);
});
