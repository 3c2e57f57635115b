import { createHash } from 'node:crypto';
import { type CryptoKey, errors, importJWK, type JWK, type JWTHeaderParameters, jwtVerify } from 'jose';
import { LRUCache } from 'lru-cache';
import { UsageError } from '../../config/usage-error.ts';
import { type Principal, parseGrant } from './grant.ts';

type VerifyingKey = {
  readonly alg: Algorithm;
  readonly kid: string | undefined;
  readonly key: CryptoKey | Uint8Array;
};
type Algorithm = 'HS256' | 'ES256' | 'EdDSA';

const MAX_KEYS = 64;
/** Of a token, as text. Larger ones are refused before anything is computed. */
const MAX_TOKEN_CHARS = 4_096;
/** Tokens whose signature is known to be right: most clients send the same one again and again. */
const REMEMBERED = 10_000;
/** How far clocks may be apart. */
const CLOCK_TOLERANCE_S = 5;
/** The claim that carries what the holder may do. */
const GRANT_CLAIM = 'chain_query';
/** An HS256 secret that is shorter can be found by trying. */
const MIN_SECRET_BYTES = 32;

/** Verifies JSON Web Tokens (HS256, ES256, EdDSA) by the keys of a JSON Web Key Set. */
export class TokenVerifier {
  readonly #keys: readonly VerifyingKey[];
  readonly #now: () => number;
  /** By their hash, so that no token lies about in memory. */
  readonly #known = new LRUCache<string, Principal>({ max: REMEMBERED });
  /** All that this set of keys has let in. */
  readonly #issued = new WeakSet<Principal>();

  private constructor(keys: readonly VerifyingKey[], now: () => number) {
    this.#keys = keys;
    this.#now = now;
  }

  /** Reads the text of a key set. A key that cannot be used is an error: whoever put it there relies on it. */
  static async read(text: string, now: () => number = Date.now): Promise<TokenVerifier> {
    const keys = await Promise.all(keySetOf(text).map(verifyingKey));
    return new TokenVerifier(keys, now);
  }

  /** Who holds a token; undefined when it is not valid now. Known ones are answered at once. */
  verify(token: string): Principal | undefined | Promise<Principal | undefined> {
    if (token.length > MAX_TOKEN_CHARS) return undefined;
    const name = createHash('sha256').update(token).digest('base64');
    const known = this.#known.get(name);
    if (known === undefined) return this.#verify(token, name);
    return this.isValid(known) ? known : undefined;
  }

  /** Whether somebody whom a token let in may go on. */
  isValid(principal: Principal): boolean {
    return this.#issued.has(principal) && this.#now() < (principal.until ?? 0);
  }

  async #verify(token: string, name: string): Promise<Principal | undefined> {
    const candidates = this.#candidates(token);
    for (const { key, alg } of candidates) {
      try {
        const { payload } = await jwtVerify(token, key, {
          algorithms: [alg],
          requiredClaims: ['sub', 'exp'],
          clockTolerance: CLOCK_TOLERANCE_S,
          currentDate: new Date(this.#now()),
        });
        const { sub, exp = 0, [GRANT_CLAIM]: claim = {} } = payload;
        // jose looks whether there is a subject, not what it is.
        if (typeof sub !== 'string') return undefined;
        // Only what is left out grants all; null is not understood.
        if (typeof claim !== 'object' || claim === null || Array.isArray(claim)) return undefined;
        const grant = parseGrant(claim as Readonly<Record<string, unknown>>);
        const until = (exp + CLOCK_TOLERANCE_S) * 1000;
        const principal: Principal = { id: `jwt:${sub}`, grant, until };
        this.#known.set(name, principal);
        this.#issued.add(principal);
        return principal;
      } catch (error) {
        // Whatever is wrong with a token, it lets nobody in; another key may fit it.
        if (!(error instanceof errors.JOSEError || error instanceof UsageError)) throw error;
      }
    }
    return undefined;
  }

  /** The keys that a token may be signed with: those of its algorithm, and of its name where it has one. */
  #candidates(token: string): readonly VerifyingKey[] {
    const header = headerOf(token);
    return this.#keys.filter(
      ({ alg, kid }) =>
        alg === header?.alg && (header.kid === undefined || kid === undefined || kid === header.kid),
    );
  }
}

function headerOf(token: string): Partial<JWTHeaderParameters> | undefined {
  const [part = ''] = token.split('.', 1);
  try {
    const header: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'));
    return typeof header === 'object' && header !== null ? header : undefined;
  } catch {
    return undefined;
  }
}

function keySetOf(text: string): readonly JWK[] {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    // Without what V8 quotes of it.
    throw new UsageError('not JSON');
  }
  const keys = typeof parsed === 'object' && parsed !== null && 'keys' in parsed ? parsed.keys : undefined;
  if (!Array.isArray(keys) || keys.length === 0)
    throw new UsageError('expected a JSON Web Key Set with keys');
  if (!keys.every((key: unknown) => typeof key === 'object' && key !== null))
    throw new UsageError('expected keys with fields');
  if (keys.length > MAX_KEYS) throw new UsageError(`expected at most ${MAX_KEYS} keys`);
  return keys;
}

async function verifyingKey(jwk: JWK, index: number): Promise<VerifyingKey> {
  const alg = algorithmOf(jwk);
  if (alg === undefined) {
    throw new UsageError(
      `key ${index + 1}: expected one for HS256 (oct), ES256 (EC, P-256) or EdDSA (OKP, Ed25519)`,
    );
  }
  // The algorithm goes by the kind of key, never by what a token says: else a public key would pass as an HS256 secret.
  let key: CryptoKey | Uint8Array;
  try {
    key = await importJWK(publicPart(jwk), alg);
  } catch {
    throw new UsageError(`key ${index + 1}: cannot be read`);
  }
  if (key instanceof Uint8Array && key.length < MIN_SECRET_BYTES) {
    throw new UsageError(`key ${index + 1}: a secret for HS256 has at least ${MIN_SECRET_BYTES} bytes`);
  }
  return { alg, kid: jwk.kid, key };
}

function algorithmOf({ kty, crv, alg }: JWK): Algorithm | undefined {
  const found =
    kty === 'oct'
      ? 'HS256'
      : kty === 'EC' && crv === 'P-256'
        ? 'ES256'
        : kty === 'OKP' && crv === 'Ed25519'
          ? 'EdDSA'
          : undefined;
  return alg === undefined || alg === found ? found : undefined;
}

/** A private key in the set is for signing, which nothing here does. */
function publicPart({ d: _private, ...jwk }: JWK): JWK {
  return jwk;
}
