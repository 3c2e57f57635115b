import { YAMLSeq } from 'yaml';
import { UsageError } from '../../config/usage-error.ts';
import { plainValue, readYaml } from '../../config/yaml.ts';
import { type ApiKey, createApiKey, hashSecret } from './api-key.ts';
import { GRANT_NAMES, type Grant, parseGrant } from './grant.ts';

/** One key as it is kept: nothing in it lets anybody in. */
export interface KeyRecord {
  readonly id: string;
  /** Whose it is, for whoever reads the file. */
  readonly name: string;
  readonly hash: Uint8Array;
  readonly created: string;
  readonly grant: Grant;
}

/** Keys of one file. Each is looked up by its id, so many cost nothing; a file that is larger is a mistake. */
const MAX_KEYS = 100_000;
const HASH = /^sha256:([\da-f]{64})$/;
const FIELDS: readonly string[] = ['id', 'name', 'hash', 'created', ...GRANT_NAMES];

/** Reads the text of a file of keys: a YAML list, `chain-query keys` writes it. */
export function readKeys(text: string): readonly KeyRecord[] {
  const list: unknown = plainValue(readYaml(text)) ?? [];
  if (!Array.isArray(list)) throw new UsageError('expected a list of keys');
  if (list.length > MAX_KEYS) throw new UsageError(`expected at most ${MAX_KEYS} keys`);
  const records = list.map(readKey);
  const ids = new Set(records.map(({ id }) => id));
  if (ids.size !== records.length) throw new UsageError('two keys have the same id');
  return records;
}

/** Adds a new key to the text of a file; the key itself is not in it, and cannot be had again. */
export function addKey(
  text: string,
  {
    name,
    created,
    ...grant
  }: { readonly name: string; readonly created: Date } & Readonly<Record<string, unknown>>,
): { readonly text: string; readonly key: ApiKey } {
  readKeys(text);
  parseGrant(grant);
  const key = createApiKey();
  const document = readYaml(text);
  const hash = `sha256:${hashSecret(key.secret).toString('hex')}`;
  const entry = document.createNode({ id: key.id, name, hash, created: created.toISOString(), ...grant });
  if (document.contents === null) document.contents = new YAMLSeq(document.schema) as never;
  document.add(entry);
  return { text: document.toString(), key };
}

/** Takes the key with this id off the text of a file. */
export function removeKey(text: string, id: string): string {
  const index = readKeys(text).findIndex((record) => record.id === id);
  if (index === -1) throw new UsageError('there is no key with this id');
  const document = readYaml(text);
  document.delete(index);
  return document.toString();
}

function readKey(value: unknown, index: number): KeyRecord {
  try {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new UsageError('expected fields');
    const fields = value as Readonly<Record<string, unknown>>;
    if (!Object.keys(fields).every((name) => FIELDS.includes(name))) throw new UsageError('unknown field');
    const { id, name, hash, created, ...grant } = fields;
    const hex = typeof hash === 'string' ? HASH.exec(hash)?.[1] : undefined;
    if (typeof id !== 'string' || !/^[\da-f]{12}$/.test(id))
      throw new UsageError('id must be 12 hex digits in quotes');
    if (typeof name !== 'string') throw new UsageError('name must be a string');
    if (typeof created !== 'string') throw new UsageError('created must be a string');
    if (hex === undefined) throw new UsageError('hash must be sha256: and 64 hex digits');
    return { id, name, hash: Buffer.from(hex, 'hex'), created, grant: parseGrant(grant) };
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    throw new UsageError(`key ${index + 1}: ${error.message}`);
  }
}
