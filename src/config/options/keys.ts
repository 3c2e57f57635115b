import { count, methodNames, path, span } from '../parsers.ts';
import type { Command, OptionSpec } from '../spec.ts';
import { UsageError } from '../usage-error.ts';

const KEYS = ['keys'] as const satisfies readonly Command[];
const SERVE_AND_KEYS = ['serve', 'keys'] as const satisfies readonly Command[];
const MANY = { min: 1, max: 1_000_000_000 };

/** Accepts a name for a person to read: short, and safe to print. */
function keyName(text: string): string {
  if (/^[\w][\w .@:-]{0,63}$/.test(text)) return text;
  throw new UsageError('expected a name of up to 64 letters, digits, spaces and . @ : - _');
}

/** Who may use the dedicated listener, and what each may do. */
export const KEY_OPTIONS = {
  keys: {
    group: 'Keys',
    commands: SERVE_AND_KEYS,
    value: 'FILE',
    parse: path,
    required: KEYS,
    brief: 'File of API keys, made by chain-query keys',
    doc: 'File with the hashes of API keys for the dedicated listener, made by `chain-query keys`. Read again when it changes.',
  },
  jwks: {
    group: 'Keys',
    commands: ['serve'],
    value: 'FILE',
    parse: path,
    doc: 'JSON Web Key Set whose tokens (HS256, ES256, EdDSA) the dedicated listener takes. Read again when it changes.',
  },
  keyName: {
    group: 'Keys',
    commands: KEYS,
    value: 'NAME',
    parse: keyName,
    brief: 'Whose key it is (add)',
    doc: 'Whose key it is, for whoever reads the file.',
  },
  keyId: {
    group: 'Keys',
    commands: KEYS,
    value: 'ID',
    parse: path,
    brief: 'The key to revoke, as list shows it (revoke)',
    doc: 'The key to revoke: the second part of its text, which `keys list` shows.',
  },
  keyMethods: {
    group: 'Keys',
    commands: KEYS,
    value: 'METHOD',
    parse: methodNames,
    repeatable: true,
    brief: 'The only methods of a new key (add)',
    doc: 'The only methods that a new key serves. Left out, all of the listener.',
  },
  keyRate: {
    group: 'Keys',
    commands: KEYS,
    value: 'N',
    parse: count(MANY),
    brief: 'Units of cost a second of a new key (add)',
    doc: 'Units of cost a second of a new key.',
  },
  keyLogsRange: {
    group: 'Keys',
    commands: KEYS,
    value: 'SPAN',
    parse: span(MANY),
    doc: 'Largest toBlock − fromBlock with a new key, as logsRange of a profile.',
  },
  keyLogsResults: {
    group: 'Keys',
    commands: KEYS,
    value: 'N',
    parse: count(MANY),
    doc: 'Logs in one answer with a new key.',
  },
} as const satisfies Record<string, OptionSpec>;
