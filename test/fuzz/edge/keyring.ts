import {
  createECDH,
  createHmac,
  createPrivateKey,
  createPublicKey,
  type KeyObject,
  sign as signBytes,
} from 'node:crypto';
import type { JWK } from 'jose';
import { formatApiKey } from '../../../src/rpc/auth/api-key.ts';
import { addKey } from '../../../src/rpc/auth/key-file.ts';
import { Random } from '../../support/random.ts';

export type Algorithm = 'HS256' | 'ES256' | 'EdDSA';
export const ALGORITHMS: readonly Algorithm[] = ['HS256', 'ES256', 'EdDSA'];

/** The beginning of an Ed25519 key in PKCS #8, before its 32 bytes. */
const ED25519_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Every credential of a run: what a node is given, and what lets somebody in. */
export interface Keyring {
  /** The text of a file of keys, and the keys: one for all methods, one for a few. */
  readonly keyFile: string;
  readonly keys: readonly string[];
  readonly jwks: { readonly keys: readonly JWK[] };
  /** Signs as somebody who has the key of an algorithm would. */
  sign(alg: Algorithm, data: string): Buffer;
  /** What is public of each key, in the forms somebody may take for a secret. */
  readonly publicForms: readonly Buffer[];
  /** What no output may show. */
  readonly secrets: readonly string[];
}

/** Makes keys by a seed: the same tokens again for the same seed, but for what ECDSA adds. */
export function makeKeyring(seed: number): Keyring {
  const random = new Random(seed, 0x6b6579);
  const hs = Buffer.from(random.bytes(32));
  const eddsa = createPrivateKey({
    ...{ key: Buffer.concat([ED25519_HEAD, random.bytes(32)]), format: 'der', type: 'pkcs8' },
  });
  const es = p256Key(Buffer.from(random.bytes(32)));
  const publicKeys = [es, eddsa].map((key) => createPublicKey(key));
  const [esJwk = {}, eddsaJwk = {}] = publicKeys.map((key) => key.export({ format: 'jwk' }));
  const created = new Date(0);
  const one = addKey('', { name: 'of all', created });
  const two = addKey(one.text, { name: 'of few', created, methods: 'eth_blockNumber' });
  const k = hs.toString('base64url');
  return {
    keyFile: two.text,
    keys: [formatApiKey(one.key), formatApiKey(two.key)],
    jwks: {
      keys: [
        { kty: 'oct', k, kid: 'HS256' },
        { ...esJwk, kid: 'ES256' },
        { ...eddsaJwk, kid: 'EdDSA', alg: 'EdDSA' },
      ],
    },
    sign(alg, data) {
      if (alg === 'HS256') return createHmac('sha256', hs).update(data).digest();
      if (alg === 'EdDSA') return signBytes(null, Buffer.from(data), eddsa);
      return signBytes('sha256', Buffer.from(data), { key: es, dsaEncoding: 'ieee-p1363' });
    },
    publicForms: [
      Buffer.alloc(0),
      ...publicKeys.flatMap((key) => [
        Buffer.from(JSON.stringify(key.export({ format: 'jwk' }))),
        Buffer.from(key.export({ format: 'pem', type: 'spki' })),
        key.export({ format: 'der', type: 'spki' }),
      ]),
    ],
    secrets: [k, ...[one, two].map(({ key }) => key.secret)],
  };
}

function p256Key(secret: Buffer): KeyObject {
  const pair = createECDH('prime256v1');
  pair.setPrivateKey(secret);
  const point = pair.getPublicKey();
  const [x, y] = [point.subarray(1, 33), point.subarray(33)].map((part) => part.toString('base64url'));
  const jwk = { kty: 'EC', crv: 'P-256', d: secret.toString('base64url'), x: x ?? '', y: y ?? '' };
  return createPrivateKey({ key: jwk, format: 'jwk' });
}
