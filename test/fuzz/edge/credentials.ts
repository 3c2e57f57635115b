import { importJWK, type JWTPayload, jwtVerify } from 'jose';
import { credentialOf } from '../../../src/rpc/auth/authenticator.ts';
import { Gate } from '../../../src/rpc/auth/gate.ts';
import { TokenVerifier } from '../../../src/rpc/auth/tokens.ts';
import { Random } from '../../support/random.ts';
import { type Cases, eachCase, type Judge } from './case.ts';
import { ALGORITHMS, type Keyring } from './keyring.ts';
import { type MadeToken, makeApiKey, makeToken, NOW } from './tokens.ts';

const MAX_TOKEN_CHARS = 4_096;
const CLOCK_TOLERANCE_S = 5;

/** Whether a straight use of jose takes a token by one of the keys, each for its own algorithm alone. */
async function referenceOf({ jwks }: Keyring): Promise<(token: string) => Promise<boolean>> {
  const keys = await Promise.all(
    jwks.keys.map(async (jwk) => {
      const alg = ALGORITHMS.find((name) => name === jwk.kid);
      if (alg === undefined) throw new Error('a key without its algorithm');
      return { alg, key: await importJWK(jwk, alg) };
    }),
  );
  const payloadOf = async (token: string): Promise<JWTPayload | undefined> => {
    for (const { alg, key } of keys) {
      try {
        const rules = { requiredClaims: ['sub', 'exp'], clockTolerance: CLOCK_TOLERANCE_S };
        const currentDate = new Date(NOW * 1_000);
        return (await jwtVerify(token, key, { algorithms: [alg], ...rules, currentDate })).payload;
      } catch {
        // Whatever is wrong with it: it is not taken by this key.
      }
    }
    return undefined;
  };
  return async (token) => {
    const payload = await payloadOf(token);
    return payload !== undefined && typeof payload.sub === 'string' && token.length <= MAX_TOKEN_CHARS;
  };
}

/** Credentials from good to noise, straight to who judges them: nobody is let in whom another verifier would not, or who has no key. */
export async function fuzzCredentials(cases: Cases, ring: Keyring, judge: Judge): Promise<void> {
  const tokens = await TokenVerifier.read(JSON.stringify(ring.jwks), () => NOW * 1_000);
  const gate = await Gate.open({ keys: ring.keyFile });
  const reference = await referenceOf(ring);
  let taken = 0;
  const started = performance.now();
  await eachCase(cases, 1, judge, async (index) => {
    const random = new Random(cases.seed, index);
    const made = random.chance(0.25) ? makeApiKey(random, ring) : makeToken(random, ring);
    const fault =
      made.kind === 'API key'
        ? await faultOfKey(gate, ring, made)
        : await faultOfToken(tokens, made, () => reference(made.token));
    if (made.expected === 'taken') taken++;
    return fault === undefined ? undefined : `${fault}: ${made.kind} ${JSON.stringify(made.token)}`;
  });
  const ms = (performance.now() - started) / cases.count;
  console.log(`credentials: ${cases.count}, ${taken} of them good, ${ms.toFixed(2)} ms each`);
}

async function faultOfToken(
  tokens: TokenVerifier,
  { token, expected }: MadeToken,
  reference: () => Promise<boolean>,
): Promise<string | undefined> {
  const principal = await tokens.verify(token);
  const isTaken = principal !== undefined;
  const byReference = await reference();
  if (isTaken && !byReference) return 'taken, and jose would refuse it';
  if (expected !== 'reference' && isTaken !== (expected === 'taken')) return `not ${expected}`;
  // A key that the token names is the only one that may fit it, so fewer may be taken; never others.
  if (!isTaken) return undefined;
  if (!principal.id.startsWith('jwt:')) return `taken for ${principal.id}`;
  return (await tokens.verify(token)) === principal ? undefined : 'not taken a second time';
}

/** An API key in every place where one may be given; what stands around it there is not part of it. */
async function faultOfKey(
  gate: Gate,
  ring: Keyring,
  { token, expected }: MadeToken,
): Promise<string | undefined> {
  const places: readonly (readonly [string, string | undefined, string])[] = [
    ['authorization', credentialOf({ authorization: `Bearer ${token}` }), token.replace(/^ +/, '')],
    ['x-api-key', credentialOf({ 'x-api-key': token }), token],
    ['the path', credentialOf({}, `/v1/${token}`), lastSegment(token)],
    ['two headers', credentialOf({ authorization: `Bearer ${token}`, 'x-api-key': token }), token],
  ];
  for (const [place, credential, key] of places) {
    const isTaken = (await gate.admit(credential)) !== undefined;
    if (isTaken && !ring.keys.includes(key)) return `taken in ${place}`;
    if (!isTaken && expected === 'taken') return `refused in ${place}`;
  }
  return undefined;
}

function lastSegment(path: string): string {
  const [beforeQuery = ''] = path.split('?');
  return beforeQuery.replace(/\/$/, '').split('/').at(-1) ?? '';
}
