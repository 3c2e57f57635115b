import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { parse } from 'yaml';
import { loadOptions } from '../../../src/config/load.ts';
import { UsageError } from '../../../src/config/usage-error.ts';
import { readKeys } from '../../../src/rpc/auth/key-file.ts';
import { TokenVerifier } from '../../../src/rpc/auth/tokens.ts';
import { redactUrls } from '../../../src/telemetry/redact.ts';
import { Random } from '../../support/random.ts';
import { tempDir } from '../../support/servers/process.ts';
import { type Cases, eachCase, type Judge } from './case.ts';
import type { Keyring } from './keyring.ts';

/** What reading one file may take, of a processor: other programs are no fault of the file. */
const SLOW_MS = 1_000;
const SECRET = 's3cretOfAnUpstream';

const CONFIGS = [
  `upstream:\n  - https://user:${SECRET}@node.example/v2/${SECRET}\n  - wss://node.example/?key=${SECRET}\nthreads: 2\n`,
  `# of a node\nupstream: https://user:${SECRET}@node.example\nprofile: { public: { logsRange: '2000b,1h', rate: 5 } }\nverifyState: on\npublic: off\n`,
  `{"upstream": ["https://user:${SECRET}@node.example"], "threads": 4, "history": "30d", "logLevel": "debug"}`,
  `sendTo: https://${SECRET}@node.example\nforward: [eth_a, eth_b]\ntrustedProxies: [10.0.0.0/8, "::1"]\nkeys: keys.yaml\n`,
];

/** What YAML and JSON are made of, and what breaks readers of them. */
const PIECES = [
  ...[
    '\n',
    '\r\n',
    '\t',
    ' ',
    '  ',
    ':',
    ': ',
    '- ',
    ',',
    '#',
    '? ',
    '| ',
    '>-\n',
    '"',
    "'",
    '\\',
    '\0',
    '\ufeff',
  ],
  ...[
    '&a ',
    '*a',
    '*b',
    '!!js/function ',
    '!!binary ',
    '!<x> ',
    '<<: *a\n',
    '---\n',
    '...\n',
    '%YAML 1.2\n---\n',
  ],
  ...[
    '{',
    '}',
    '[',
    ']',
    '[[',
    '{"a":',
    'null',
    '~',
    'true',
    '1e999',
    '-0',
    '.inf',
    '.nan',
    '0x10',
    '2001-01-01',
  ],
  ...[
    '__proto__: 1\n',
    'constructor: 1\n',
    'toString: 1\n',
    'é',
    '😀',
    '\ud800',
    '\u2028',
    '\x1b[31m',
    '\x7f',
  ],
  ...[
    'keys: null',
    '"keys":[null]',
    '"kty":"oct"',
    '"k":1',
    'id: 1',
    'methods: [1]',
    '? [a, b]\n: c\n',
    '@',
    '`',
  ],
];

/** Small texts that stand for a lot. */
const BOMBS: readonly ((size: number) => string)[] = [
  (size) => '['.repeat(size),
  (size) => '{"a":'.repeat(size),
  (size) => '['.repeat(size) + ']'.repeat(size),
  (size) => '- '.repeat(size),
  (size) => '? '.repeat(size),
  (size) => Array.from({ length: Math.min(size, 1_000) }, (_, depth) => `${' '.repeat(depth)}a:`).join('\n'),
  (size) => `a: &a [x]\n${Array.from({ length: size }, () => '- *a').join('\n')}`,
  (size) =>
    `a0: &a0 x\n${Array.from({ length: Math.min(size, 90) }, (_, n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}]`).join('\n')}`,
  (size) => `threads: ${'9'.repeat(size)}`,
  (size) => `upstream: ${'http://a,'.repeat(size)}`,
  (size) => `profile: { public: { logsRange: ${'1'.repeat(size)}x } }`,
  (size) => `threads: "${'\\x41'.repeat(size)}"`,
  (size) => Array.from({ length: size }, (_, n) => `k${n}: ${n}`).join('\n'),
  (size) => `x: ${'!'.repeat(size)}`,
  (size) => `${'#'.repeat(size)}\n`.repeat(4),
  (size) => ' '.repeat(size),
  (size) => `{"keys":[${'{},'.repeat(size)}{}]}`,
  (size) => `{"keys":[{"kty":"oct","k":"${'A'.repeat(size)}"}]}`,
];

function damaged(random: Random, text: string): string {
  let made = text;
  for (let left = random.between(1, 4); left > 0; left--) {
    const at = random.below(made.length + 1);
    const end = Math.min(made.length, at + random.below(12));
    made = random.weighted<string>([
      [4, () => made.slice(0, at) + random.pick(PIECES) + made.slice(random.chance(0.5) ? at : end)],
      [1, () => made.slice(0, at)],
      [1, () => made.slice(0, at) + made.slice(end)],
      [1, () => made.slice(0, at) + made.slice(random.below(made.length + 1))],
      [1, () => made.slice(0, at) + String.fromCharCode(random.below(256)) + made.slice(at + 1)],
      [1, () => made + random.pick(['', '\n']) + made],
    ]);
  }
  return made;
}

const ODD_VALUES: readonly unknown[] = [
  ...[null, true, 0, -1, 1.5, 1e300, '', 'x', [], {}, [null], [[]], { a: null }, ['x', 1], 'x'.repeat(5_000)],
  ...['é', '\0', '0'.repeat(12), `sha256:${'0'.repeat(64)}`, 'P-256', 'oct', 'Ed25519', 'AA', '='.repeat(43)],
];

/** A value with one thing in it that is another, gone, or there twice. */
function changed(random: Random, value: unknown): unknown {
  if (typeof value !== 'object' || value === null || random.chance(0.15)) return random.pick(ODD_VALUES);
  if (Array.isArray(value)) {
    if (value.length === 0) return [random.pick(ODD_VALUES)];
    const at = random.below(value.length);
    if (random.chance(0.2)) return [...value, ...value];
    if (random.chance(0.1)) return value.toSpliced(at, 1);
    return value.with(at, changed(random, value[at]));
  }
  const entries = Object.entries(value);
  const [name = 'x', inner] = entries[random.below(entries.length)] ?? [];
  if (random.chance(0.1)) return Object.fromEntries(entries.filter(([other]) => other !== name));
  if (random.chance(0.1))
    return {
      ...value,
      [random.pick(['methods', 'alg', 'use', 'key_ops', 'ext', 'd'])]: random.pick(ODD_VALUES),
    };
  return { ...value, [name]: changed(random, inner) };
}

function makeText(random: Random, good: readonly string[]): string {
  return random.weighted<string>([
    [1, () => random.pick(good)],
    [20, () => damaged(random, random.pick(good))],
    [10, () => JSON.stringify(changed(random, parse(random.pick(good))))],
    [2, () => random.pick(BOMBS)(random.pick([3, 50, 1_000, 5_000]))],
    [1, () => random.list(random.below(30), () => random.pick(PIECES)).join('')],
    [1, () => Buffer.from(random.bytes(random.below(300))).toString('latin1')],
  ]);
}

/** Files of options, keys and key sets from good to noise: options or a `UsageError`, soon, and none that shows a secret. */
export async function fuzzFiles(cases: Cases, ring: Keyring, judge: Judge): Promise<void> {
  await using dir = await tempDir('fuzz');
  const file = join(dir.path, 'config.yaml');
  const jwks = JSON.stringify(ring.jwks);
  const readers: readonly (readonly [string, readonly string[], (text: string) => unknown])[] = [
    [
      'config',
      CONFIGS,
      (text) => {
        writeFileSync(file, text);
        return loadOptions('serve', { args: ['--data', 'd', '--config', file], env: {} });
      },
    ],
    ['keys', [ring.keyFile, `# ours\n${ring.keyFile}`, '[]\n', ''], readKeys],
    ['jwks', [jwks, JSON.stringify(ring.jwks, undefined, 2)], (text) => TokenVerifier.read(text)],
  ];
  const taken: Record<string, number> = {};
  let slowest = 0;
  await eachCase(cases, 1, judge, async (index) => {
    const random = new Random(cases.seed, index);
    const [name, good, read] = random.pick(readers);
    const text = makeText(random, good);
    const started = process.cpuUsage();
    const fault = await faultOf(read, text, () => (taken[name] = (taken[name] ?? 0) + 1));
    const { user, system } = process.cpuUsage(started);
    const took = (user + system) / 1_000;
    slowest = Math.max(slowest, took);
    const what = fault ?? (took > SLOW_MS ? `took ${took.toFixed(0)} ms` : undefined);
    return what === undefined ? undefined : `${what}: ${name} ${JSON.stringify(text.slice(0, 400))}`;
  });
  console.log(
    `files: ${cases.count}, understood ${JSON.stringify(taken)}, ${slowest.toFixed(0)} ms at most for one`,
  );
}

async function faultOf(
  read: (text: string) => unknown,
  text: string,
  onTaken: () => void,
): Promise<string | undefined> {
  try {
    await read(text);
  } catch (error) {
    if (!(error instanceof UsageError)) return `not a UsageError but ${inspect(error)}`;
    // As the command line shows it.
    return redactUrls(inspect(error)).includes(SECRET) ? `a secret in ${error.message}` : undefined;
  }
  onTaken();
  return undefined;
}
