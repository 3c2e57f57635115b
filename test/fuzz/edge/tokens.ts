import { createHmac } from 'node:crypto';
import type { Random } from '../../support/random.ts';
import { ALGORITHMS, type Algorithm, type Keyring } from './keyring.ts';

/** When all of it happens, in seconds: tokens are good or bad by this clock. */
export const NOW = 1_900_000_000;

/** A token, and what must become of it; `reference` where another verifier has to say. */
export interface MadeToken {
  readonly kind: string;
  readonly token: string;
  readonly expected: 'taken' | 'refused' | 'reference';
}

const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url');

/** Claims that grant something; none at all is all that the listener serves. */
const GRANTS: readonly Readonly<Record<string, unknown>>[] = [
  ...[{}, { chain_query: {} }, { chain_query: { methods: ['eth_call'] } }],
  ...[{ chain_query: { methods: 'eth_call,eth_chainId', rate: 5 } }],
  { chain_query: { logsRange: '10b', logsResults: 7 } },
];
/** Not understood, so nobody is let in. */
const BAD_GRANTS: readonly unknown[] = [
  ...[
    null,
    'all',
    7,
    true,
    [],
    ['eth_call'],
    { everything: true },
    { rate: 0 },
    { rate: -1 },
    { rate: null },
  ],
  ...[{ methods: {} }, { methods: [1] }, { methods: '*' }, { methods: [] }, { logsRange: 'all' }],
  ...[{ logsResults: 1e30 }, { rate: { toString: 'x' } }, { constructor: 1 }, { rate: '9'.repeat(400) }],
];
const BAD_CLAIMS: readonly Readonly<Record<string, unknown>>[] = [
  ...[{ exp: NOW - 6 }, { exp: 0 }, { exp: -1 }, { exp: `${NOW + 600}` }, { exp: null }, { exp: undefined }],
  ...[{ exp: {} }, { exp: [NOW + 600] }, { nbf: NOW + 6 }, { nbf: 'x' }, { sub: undefined }],
  ...[{ sub: null }, { sub: 7 }, { sub: {} }, { sub: { toString: 1, valueOf: 1 } }, { sub: ['me'] }],
  ...[{ exp: NOW - 1e9 }, { iat: 'x' }],
];
/** Headers that no verifier who knows the key may go by. */
const BAD_HEADERS: readonly Readonly<Record<string, unknown>>[] = [
  ...[{ alg: 'none' }, { alg: 'None' }, { alg: '' }, { alg: null }, { alg: undefined }, { alg: ['HS256'] }],
  ...[{ alg: 'HS512' }, { alg: 'RS256' }, { alg: 'ES384' }, { alg: 'hs256' }, { alg: 'HS256 ' }],
  ...[{ crit: ['b64'], b64: false }, { crit: ['x'], x: 1 }, { crit: 'x' }, { crit: [] }, { alg: {} }],
];

function claimsOf(random: Random): Record<string, unknown> {
  const exp = NOW + random.pick([1, 60, 3_600, 10 ** 8]);
  return { sub: `who ${random.below(9)}`, exp, ...random.pick(GRANTS) };
}

/** A token as its issuer makes it. */
export function goodToken(
  random: Random,
  ring: Keyring,
  claims: Readonly<Record<string, unknown>> = {},
  header: Readonly<Record<string, unknown>> = {},
  alg: Algorithm = random.pick(ALGORITHMS),
): string {
  const kid = random.chance(0.5) ? { kid: alg } : {};
  const text = `${part({ alg, ...kid, ...header })}.${part({ ...claimsOf(random), ...claims })}`;
  return `${text}.${ring.sign(alg, text).toString('base64url')}`;
}

type Maker = (random: Random, ring: Keyring) => Omit<MadeToken, 'kind'>;
const refused = (token: string): Omit<MadeToken, 'kind'> => ({ token, expected: 'refused' });
const unsure = (token: string): Omit<MadeToken, 'kind'> => ({ token, expected: 'reference' });

/** Puts something somewhere into a text, or takes it out. */
function damaged(random: Random, text: string, pieces: readonly string[]): string {
  const at = random.below(text.length + 1);
  return text.slice(0, at) + random.pick(pieces) + text.slice(at + random.below(4));
}

const ODD_PIECES = [
  ...[
    '',
    '.',
    '..',
    '=',
    '==',
    ' ',
    '\t',
    '\n',
    '\0',
    '+',
    '/',
    '-',
    '_',
    'A',
    'é',
    '😀',
    '\ud800',
    '%2e',
    ',',
  ],
  ...['eyJ', 'e30', 'null', '"', '{', '\u00a0', '\ufeff', 'A'.repeat(300)],
];

const MAKERS: Readonly<Record<string, Maker>> = {
  good: (random, ring) => ({ token: goodToken(random, ring), expected: 'taken' }),
  'without a signature': (random, ring) => {
    const [head, body] = goodToken(random, ring).split('.');
    const none = part({ alg: random.pick(['none', 'None', 'NONE', 'nOnE']) });
    return refused(`${random.pick([head ?? '', none])}.${body}.`);
  },
  'of another algorithm': (random, ring) => refused(goodToken(random, ring, {}, random.pick(BAD_HEADERS))),
  'signed by one, named as another': (random, ring) => {
    const [alg, other] = random.pick(
      ALGORITHMS.flatMap((one) => ALGORITHMS.filter((two) => two !== one).map((two) => [one, two] as const)),
    );
    return refused(goodToken(random, ring, {}, { alg: other, kid: other }, alg));
  },
  'a public key as the secret': (random, ring) => {
    const kid = random.chance(0.5) ? { kid: random.pick(ALGORITHMS) } : {};
    const text = `${part({ alg: 'HS256', ...kid })}.${part(claimsOf(random))}`;
    const signature = createHmac('sha256', random.pick(ring.publicForms)).update(text).digest('base64url');
    return refused(`${text}.${signature}`);
  },
  'with a key of its own': (random) => {
    const k = Buffer.from(random.bytes(32));
    const jwk = { kty: 'oct', k: k.toString('base64url') };
    const own = random.pick([
      { jwk },
      { jku: 'http://127.0.0.1:9/' },
      { kid: '../../dev/null' },
      { x5c: [] },
    ]);
    const text = `${part({ alg: 'HS256', ...own })}.${part(claimsOf(random))}`;
    return refused(`${text}.${createHmac('sha256', k).update(text).digest('base64url')}`);
  },
  'cut off': (random, ring) => {
    const token = goodToken(random, ring);
    return refused(token.slice(0, random.below(token.length - 1)));
  },
  'with parts of another': (random, ring) => {
    const [one, two] = [goodToken(random, ring), goodToken(random, ring, { sub: 'root' })].map((token) =>
      token.split('.'),
    );
    const from = random.pick([1, 2, 3, 4, 5, 6]);
    return unsure([0, 1, 2].map((at) => (((from >> at) & 1) === 1 ? one : two)?.[at] ?? '').join('.'));
  },
  'too long': (random, ring) =>
    refused(goodToken(random, ring, { pad: 'x'.repeat(random.between(4_096, 60_000)) })),
  'with bad claims': (random, ring) => refused(goodToken(random, ring, random.pick(BAD_CLAIMS))),
  'with a bad grant': (random, ring) =>
    refused(goodToken(random, ring, { chain_query: random.pick(BAD_GRANTS) })),
  'with claims that are none': (random, ring) => {
    const alg = random.pick(ALGORITHMS);
    const claims = random.pick(['null', '[]', '"x"', '7', '', '{', '{"sub":"me"}x', '[{"sub":"me"}]']);
    const text = `${part({ alg })}.${Buffer.from(claims).toString('base64url')}`;
    return refused(`${text}.${ring.sign(alg, text).toString('base64url')}`);
  },
  'with a header that is none': (random, ring) => {
    const header = random.pick(['null', '[]', '"HS256"', '7', '', '{', '{"alg":"HS256"', '\u0000', 'é']);
    const text = `${Buffer.from(header).toString('base64url')}.${part(claimsOf(random))}`;
    return refused(`${text}.${ring.sign('HS256', text).toString('base64url')}`);
  },
  'with an empty signature of its kind': (random, ring) => {
    const [head, body] = goodToken(random, ring).split('.');
    const zeros = Buffer.alloc(random.pick([1, 31, 32, 63, 64, 65, 132]), random.pick([0, 1, 255]));
    return refused(`${head}.${body}.${zeros.toString('base64url')}`);
  },
  'changed by a few characters': (random, ring) =>
    unsure(damaged(random, goodToken(random, ring), ODD_PIECES)),
  'written otherwise': (random, ring) => {
    const token = goodToken(random, ring);
    const ways: readonly ((text: string) => string)[] = [
      (text) => text.replaceAll('-', '+').replaceAll('_', '/'),
      (text) => text.split('.').join('=.'),
      (text) => `${text}=`,
      (text) => ` ${text}`,
      (text) => text.toUpperCase(),
      (text) => encodeURIComponent(`${text} `),
      (text) => `${text}.`,
      (text) => `${text}.${text}`,
      (text) => text.replaceAll('.', '。'),
    ];
    return unsure(random.pick(ways)(token));
  },
  noise: (random) =>
    refused(Buffer.from(random.bytes(random.below(200))).toString(random.pick(['latin1', 'base64', 'hex']))),
};

const KINDS = Object.entries(MAKERS);

/** One token, from good to noise. */
export function makeToken(random: Random, ring: Keyring): MadeToken {
  const [kind, make] = random.pick(KINDS);
  return { kind, ...make(random, ring) };
}

/** One API key, right or almost. */
export function makeApiKey(random: Random, ring: Keyring): MadeToken {
  const [one = '', two = ''] = random.chance(0.5) ? ring.keys : ring.keys.toReversed();
  const swapped = `${one.slice(0, 16)}${two.slice(16)}`;
  const token = random.weighted<string>([
    [2, () => one],
    [2, () => damaged(random, one, ODD_PIECES)],
    [1, () => swapped],
    [1, () => one.slice(0, random.below(one.length))],
    [1, () => random.pick([one.toUpperCase(), one.toLowerCase(), `${one}\n`, `${one}x`, `${one},${two}`])],
    [
      1,
      () => random.pick(['', 'cq_', `cq_${'0'.repeat(12)}_${'A'.repeat(43)}`, '__proto__', 'cq___proto___']),
    ],
  ]);
  return { kind: 'API key', token, expected: ring.keys.includes(token) ? 'taken' : 'refused' };
}
