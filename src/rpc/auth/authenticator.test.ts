import { expect, it } from 'vitest';
import { formatApiKey } from './api-key.ts';
import { credentialOf } from './authenticator.ts';
import { Gate } from './gate.ts';
import { addKey, removeKey } from './key-file.ts';

const created = new Date(0);

it.each([
  [{}, '/', undefined],
  [{ authorization: 'Bearer abc' }, '/', 'abc'],
  [{ authorization: 'bearer  abc' }, '/', 'abc'],
  [{ authorization: 'Basic abc' }, '/', ''],
  [{ 'x-api-key': 'abc' }, '/', 'abc'],
  [{}, '/cq_abc', 'cq_abc'],
  [{}, '/v1/base/cq_abc/?x=1', 'cq_abc'],
  [{}, '/rpc', undefined],
  [{ authorization: 'Bearer abc', 'x-api-key': 'abc' }, '/', 'abc'],
  [{ authorization: 'Bearer abc', 'x-api-key': 'def' }, '/', undefined],
  [{ authorization: 'Basic abc', 'x-api-key': 'def' }, '/', undefined],
  [{ 'x-api-key': ['abc', 'def'] }, '/', undefined],
  [{ authorization: ['Bearer abc'], 'x-api-key': ['abc'] }, '/', 'abc'],
  [{ authorization: ['Bearer abc', 'Bearer abc'] }, '/', undefined],
  [{ authorization: ['Bearer abc', 'Bearer def'], 'x-api-key': 'abc' }, '/', undefined],
  [{ 'x-api-key': 'cq_abc' }, '/cq_def', undefined],
])('%j of %s shows %j', (headers, url, credential) => {
  expect(credentialOf(headers, url)).toBe(credential);
});

it('lets in who has a key, until it is revoked, and nobody else', async () => {
  const one = addKey('', { name: 'one', created, methods: 'eth_call' });
  const two = addKey(one.text, { name: 'two', created });
  const gate = await Gate.open({ keys: two.text });
  const principal = await gate.admit(formatApiKey(one.key));
  expect(principal).toEqual({ id: `key:${one.key.id}`, grant: { methods: ['eth_call'] } });
  const wrong = formatApiKey({ ...one.key, secret: two.key.secret });
  for (const credential of [undefined, '', 'cq_', wrong, `${formatApiKey(two.key)}x`]) {
    expect(await gate.admit(credential)).toBeUndefined();
  }
  await gate.change({ keys: removeKey(two.text, one.key.id) });
  expect(await gate.admit(formatApiKey(one.key))).toBeUndefined();
  expect(await gate.admit(formatApiKey(two.key))).toBeDefined();
  expect(principal && gate.again(principal)).toBeUndefined();
});

it('lets nobody in when all keys are revoked, and everybody where there is no file', async () => {
  const owner = { id: 'owner', grant: {} };
  expect(await (await Gate.open({ keys: '[]\n' })).admit(undefined)).toBeUndefined();
  expect(await (await Gate.open({})).admit(undefined)).toEqual(owner);
});

it('goes by the old keys where the new ones cannot be understood', async () => {
  const { text, key } = addKey('', { name: 'one', created });
  const gate = await Gate.open({ keys: text });
  await expect(gate.change({ keys: '{' })).rejects.toThrow('not YAML');
  expect(await gate.admit(formatApiKey(key))).toBeDefined();
});
