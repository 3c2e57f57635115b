import type { Awaitable } from '../../primitives/hex.ts';
import { type ApiKey, hashSecret, isSecretOf, parseApiKey } from './api-key.ts';
import type { Principal } from './grant.ts';
import type { KeyRecord } from './key-file.ts';
import type { TokenVerifier } from './tokens.ts';

interface KnownKey {
  readonly hash: Uint8Array;
  readonly principal: Principal;
}

/** Compared with when there is no such key, so that it takes as long. */
const NO_HASH = hashSecret('');

/** Knows who may ask: by API keys and by tokens. */
export class Authenticator {
  readonly #keys: ReadonlyMap<string, KnownKey>;
  readonly #byPrincipal: ReadonlyMap<string, Principal>;
  readonly #tokens: TokenVerifier | undefined;

  constructor(keys: readonly KeyRecord[], tokens: TokenVerifier | undefined) {
    this.#keys = new Map(
      keys.map(({ id, hash, grant }) => [id, { hash, principal: { id: `key:${id}`, grant } }]),
    );
    this.#byPrincipal = new Map([...this.#keys.values()].map(({ principal }) => [principal.id, principal]));
    this.#tokens = tokens;
  }

  /** Who shows a credential; undefined when it lets nobody in. */
  authenticate(credential: string | undefined): Awaitable<Principal | undefined> {
    if (credential === undefined) return undefined;
    const key = parseApiKey(credential);
    return key === undefined ? this.#tokens?.verify(credential) : this.#holderOf(key);
  }

  /** What somebody who was let in earlier may do now; undefined when nothing any more. */
  again(principal: Principal): Principal | undefined {
    return this.#byPrincipal.get(principal.id) ?? (this.#tokens?.isValid(principal) ? principal : undefined);
  }

  #holderOf({ id, secret }: ApiKey): Principal | undefined {
    const known = this.#keys.get(id);
    const isRight = isSecretOf(known?.hash ?? NO_HASH, secret);
    return isRight ? known?.principal : undefined;
  }
}

type HeaderValue = string | readonly string[] | undefined;

interface CredentialHeaders {
  readonly authorization?: HeaderValue;
  readonly 'x-api-key'?: HeaderValue;
}

/** The credential of a request: of its headers, or a key in its path. Two that differ are none, and so is a header that came twice. */
export function credentialOf(
  { authorization, 'x-api-key': apiKey }: CredentialHeaders,
  url = '/',
): string | undefined {
  const [bearers, keys] = [[authorization ?? []].flat(), [apiKey ?? []].flat()];
  if (bearers.length > 1 || keys.length > 1) return undefined;
  const bearer = bearers.map((header) => /^Bearer +(\S+)$/i.exec(header)?.[1] ?? '');
  const inPath = /^\/(?:[\w-]+\/)*(cq_[\w-]+)\/?(?:\?|$)/.exec(url)?.[1];
  const [first, ...others] = [...bearer, ...keys, ...(inPath === undefined ? [] : [inPath])];
  return others.every((other) => other === first) ? first : undefined;
}
