import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

/** An API key in its two parts: which one it is, and what proves it. */
export interface ApiKey {
  readonly id: string;
  readonly secret: string;
}

const ID_BYTES = 6;
const SECRET_BYTES = 32;
const FORM = /^cq_([\da-f]{12})_([\w-]{43})$/;

/** Makes a key that nobody can guess. */
export function createApiKey(): ApiKey {
  return {
    id: randomBytes(ID_BYTES).toString('hex'),
    secret: randomBytes(SECRET_BYTES).toString('base64url'),
  };
}

/** The one text that a client is given. The prefix lets scanners of repositories find one that leaked. */
export function formatApiKey({ id, secret }: ApiKey): string {
  return `cq_${id}_${secret}`;
}

/** Reads a key; undefined for what is none. */
export function parseApiKey(text: string): ApiKey | undefined {
  const [, id, secret] = FORM.exec(text) ?? [];
  return id === undefined || secret === undefined ? undefined : { id, secret };
}

/** What is kept of a secret. It has 256 random bits, so there is nothing to try out, and a fast hash will do. */
export function hashSecret(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** Whether a secret is the one of a hash, in the same time whatever they are. */
export function isSecretOf(hash: Uint8Array, secret: string): boolean {
  return timingSafeEqual(hash, hashSecret(secret));
}
