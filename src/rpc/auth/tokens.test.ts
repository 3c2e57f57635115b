import { exportJWK, generateKeyPair, type JWK, SignJWT, UnsecuredJWT } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { TokenVerifier } from './tokens.ts';

type SigningKey = Parameters<SignJWT['sign']>[0];
const secret = new Uint8Array(32).fill(7);
const keys = new Map<string, { readonly sign: SigningKey; readonly jwk: JWK }>();

beforeAll(async () => {
  for (const alg of ['ES256', 'EdDSA']) {
    const { publicKey, privateKey } = await generateKeyPair(alg);
    keys.set(alg, { sign: privateKey, jwk: await exportJWK(publicKey) });
  }
  keys.set('HS256', { sign: secret, jwk: { kty: 'oct', k: Buffer.from(secret).toString('base64url') } });
});

function token(alg: string, claims: Record<string, unknown> = {}, header: Record<string, unknown> = {}) {
  const signing = new SignJWT({ sub: 'me', exp: 2_000, ...claims }).setProtectedHeader({ alg, ...header });
  return signing.sign(keys.get(alg)?.sign ?? secret);
}

function verifier(jwks: readonly (JWK | undefined)[], now = 1_000) {
  return TokenVerifier.read(JSON.stringify({ keys: jwks }), () => now * 1000);
}

describe.each(['HS256', 'ES256', 'EdDSA'])('a token by %s', (alg) => {
  it('lets its holder in, with what it grants, once and again', async () => {
    const tokens = await verifier([keys.get(alg)?.jwk]);
    const text = await token(alg, { chain_query: { methods: ['eth_call'], logsRange: '10b' } });
    const grant = { methods: ['eth_call'], logsRange: { blocks: 10, ms: 0 } };
    const principal = await tokens.verify(text);
    expect(principal).toEqual({ id: 'jwt:me', grant, until: 2_005_000 });
    expect(tokens.verify(text)).toBe(principal);
    expect(principal && tokens.isValid(principal)).toBe(true);
  });

  it.each([
    ['over', { exp: 900 }],
    ['not begun', { nbf: 1_100 }],
    ['without an end', { exp: undefined }],
    ['without a subject', { sub: undefined }],
    ['with a grant that is not understood', { chain_query: { everything: true } }],
    ['with a grant that is none', { chain_query: 'all' }],
    ['with a grant of null', { chain_query: null }],
    ['with a subject that is no text', { sub: 7 }],
    ['with a subject that cannot be made one', { sub: { toString: 1, valueOf: 1 } }],
  ])('%s lets nobody in', async (_, claims) => {
    const tokens = await verifier([keys.get(alg)?.jwk]);
    expect(await tokens.verify(await token(alg, claims))).toBeUndefined();
  });

  it('signed with another key, or changed, lets nobody in', async () => {
    const others = ['HS256', 'ES256', 'EdDSA'].filter((other) => other !== alg);
    const tokens = await verifier(others.map((other) => keys.get(other)?.jwk));
    const text = await token(alg);
    expect(await tokens.verify(text)).toBeUndefined();
    const [head, body, signature] = text.split('.');
    const own = await verifier([keys.get(alg)?.jwk]);
    const other = Buffer.from(JSON.stringify({ sub: 'root', exp: 2_000 })).toString('base64url');
    expect(await own.verify(`${head}.${other}.${signature}`)).toBeUndefined();
    expect(await own.verify(`${head}.${body}.`)).toBeUndefined();
  });
});

it('ends with the time, also when it is remembered', async () => {
  let now = 1_000_000;
  const jwks = JSON.stringify({ keys: [keys.get('ES256')?.jwk] });
  const tokens = await TokenVerifier.read(jwks, () => now);
  const text = await token('ES256', { exp: 1_001 });
  expect(await tokens.verify(text)).toBeDefined();
  now = 1_007_000;
  expect(await tokens.verify(text)).toBeUndefined();
});

it('takes the key that a token names', async () => {
  const [es, hs] = [keys.get('ES256')?.jwk, keys.get('HS256')?.jwk];
  const tokens = await verifier([
    { ...es, kid: 'a' },
    { ...hs, kid: 'b' },
  ]);
  expect(await tokens.verify(await token('ES256', {}, { kid: 'a' }))).toBeDefined();
  expect(await tokens.verify(await token('ES256', {}, { kid: 'b' }))).toBeUndefined();
});

it('takes no token without a signature, no public key for a secret, and nothing that is no token', async () => {
  const jwk = keys.get('ES256')?.jwk;
  const tokens = await verifier([jwk]);
  const none = new UnsecuredJWT({ sub: 'me', exp: 2_000 }).encode();
  expect(await tokens.verify(none)).toBeUndefined();
  const confused = await new SignJWT({ sub: 'me', exp: 2_000 })
    .setProtectedHeader({ alg: 'HS256' })
    .sign(Buffer.from(JSON.stringify(jwk)));
  expect(await tokens.verify(confused)).toBeUndefined();
  for (const text of ['', '.', 'a.b.c', 'x'.repeat(5_000), '..', 'bnVsbA.e30.']) {
    expect(await tokens.verify(text)).toBeUndefined();
  }
});

it.each([
  ['s3cret', 'not JSON'],
  ['{}', 'expected a JSON Web Key Set with keys'],
  ['{"keys":[]}', 'expected a JSON Web Key Set with keys'],
  ['{"keys":[null]}', 'expected keys with fields'],
  ['{"keys":[{"kty":"RSA"}]}', 'key 1: expected one for HS256'],
  ['{"keys":[{"kty":"oct","k":"c2hvcnQ"}]}', 'key 1: a secret for HS256 has at least 32 bytes'],
  ['{"keys":[{"kty":"EC","crv":"P-256","x":"AA","y":"AA"}]}', 'key 1: cannot be read'],
])('refuses the key set %s', async (text, message) => {
  await expect(TokenVerifier.read(text)).rejects.toThrow(message);
});
