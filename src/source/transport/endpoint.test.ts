import { expect, it } from 'vitest';
import { parseEndpoint } from './endpoint.ts';

it('takes what a server says of its credentials out of it', () => {
  const { name, headers, scrub } = parseEndpoint(
    'https://someone:pa%40ssword@node/v2/key-in-path?key=key-in-query',
  );
  expect(name).toBe('https://node/v2/***?***');
  expect(headers).toEqual({ authorization: `Basic ${Buffer.from('someone:pa@ssword').toString('base64')}` });
  const said = `bad key key-in-path of someone with pa@ssword, ${headers['authorization']}, key-in-query`;
  expect(scrub(said)).toBe('bad key *** of *** with ***, Basic ***, ***');
});
