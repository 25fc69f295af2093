import { describe, expect, it } from 'vitest';
import { readStartVariables } from '../../../local/start-variables.ts';

describe('the variables of npm start', () => {
  it('have defaults, for what is set to nothing too', () => {
    const usual = { HOST: '127.0.0.1', PORT: 4100, STUDIO_PORT: 4190, DATA_DIR: '.slowlane' };
    expect(readStartVariables({})).toEqual(usual);
    expect(readStartVariables({ HOST: '', PORT: '', PUBLIC_URL: '', LOCAL_RECONCILE_SECONDS: '' })).toEqual(usual);
  });

  it('are taken as they are set', () => {
    const set = { PORT: '0', PUBLIC_URL: 'http://192.168.1.20:4100', LOCAL_RECONCILE_SECONDS: '0.5', PATH: '/bin' };
    expect(readStartVariables(set)).toMatchObject({
      PORT: 0,
      PUBLIC_URL: 'http://192.168.1.20:4100',
      LOCAL_RECONCILE_SECONDS: 0.5,
    });
  });

  it.each([
    ['PORT', '80x', 'PORT is "80x", but takes a port from 1 to 65535, or 0 for any free one.'],
    ['STUDIO_PORT', '70000', 'STUDIO_PORT is "70000", but takes a port from 1 to 65535, or 0 for any free one.'],
    ['LOCAL_RECONCILE_SECONDS', '0', 'LOCAL_RECONCILE_SECONDS is "0", but takes a number of seconds above 0.'],
    ['PUBLIC_URL', 'localhost', 'PUBLIC_URL is "localhost", but takes what clients reach this machine by'],
  ])('refuse %s=%s in a sentence', (name, value, sentence) => {
    expect(() => readStartVariables({ [name]: value })).toThrow(sentence);
  });
});
