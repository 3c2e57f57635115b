import { describe, expect, it } from 'vitest';
import { formatApiKey, isSecretOf, parseApiKey } from './api-key.ts';
import { addKey, readKeys, removeKey } from './key-file.ts';

const created = new Date(0);

describe('a file of keys', () => {
  it('holds what recognises a key, and never the key', () => {
    const { text, key } = addKey('', { name: 'indexer', created });
    expect(text).not.toContain(key.secret);
    const [record] = readKeys(text);
    expect(record).toMatchObject({ id: key.id, name: 'indexer', created: created.toISOString(), grant: {} });
    expect(isSecretOf(record?.hash ?? new Uint8Array(32), key.secret)).toBe(true);
    expect(parseApiKey(formatApiKey(key))).toEqual(key);
  });

  it('keeps what people wrote into it', () => {
    const first = addKey('# ours\n', { name: 'one', created });
    const second = addKey(first.text, { name: 'two', created, logsRange: '5000b', methods: ['eth_call'] });
    expect(second.text).toContain('# ours');
    expect(readKeys(second.text).map(({ grant }) => grant)).toEqual([
      {},
      { logsRange: { blocks: 5000, ms: 0 }, methods: ['eth_call'] },
    ]);
    const rest = removeKey(second.text, first.key.id);
    expect(rest).toContain('# ours');
    expect(readKeys(rest).map(({ name }) => name)).toEqual(['two']);
    expect(readKeys(removeKey(rest, second.key.id))).toEqual([]);
  });

  it('gives ids back as texts, also where they look like numbers', () => {
    for (let i = 0; i < 300; i++) {
      const { text, key } = addKey('', { name: 'n', created });
      expect(readKeys(text)[0]?.id).toBe(key.id);
    }
  });

  const [id, hash] = ['00112233aabb', `sha256:${'0'.repeat(64)}`];
  const entry = { id, name: 'n', hash, created: 'now' };
  it.each([
    ['{', 'not YAML: missing char in line 1'],
    ['- &a x\n- *a', 'must not use aliases'],
    ['- id: a\n  id: b', 'not YAML: duplicate key in line 2'],
    ['- [a, b]: c', 'not YAML: non string key in line 1'],
    ['a: 1', 'expected a list of keys'],
    ['- 1', 'key 1: expected fields'],
    [JSON.stringify([entry, entry]), 'two keys have the same id'],
    [JSON.stringify([{ ...entry, id: 5 }]), 'key 1: id must be 12 hex digits in quotes'],
    [JSON.stringify([{ ...entry, hash: 's3cret' }]), 'key 1: hash must be sha256: and 64 hex digits'],
    [JSON.stringify([{ ...entry, method: 'eth_call' }]), 'key 1: unknown field'],
    [JSON.stringify([{ ...entry, rate: 'much' }]), 'key 1: expected a whole number'],
    [JSON.stringify([{ ...entry, methods: { any: true } }]), 'key 1: methods must be a string or a number'],
  ])('refuses %j', (text, message) => {
    expect(() => readKeys(text)).toThrow(message);
  });

  it('refuses to revoke what is not there', () => {
    expect(() => removeKey('', id)).toThrow('there is no key with this id');
  });
});
