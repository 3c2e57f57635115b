import type { Awaitable } from '../../primitives/hex.ts';
import { Authenticator } from './authenticator.ts';
import { OWNER, type Principal } from './grant.ts';
import { readKeys } from './key-file.ts';
import { TokenVerifier } from './tokens.ts';

/** The texts of the files that say who may ask; absent where there is no such file. */
export interface CredentialFiles {
  readonly keys?: string | undefined;
  readonly jwks?: string | undefined;
}

/** Lets those in who have a key or token; while none is configured, everybody who reaches the listener. */
export class Gate {
  #authenticator: Authenticator | undefined;

  private constructor(authenticator: Authenticator | undefined) {
    this.#authenticator = authenticator;
  }

  /** Opens a gate by what files say; throws `UsageError` for what cannot be understood. */
  static async open(files: CredentialFiles): Promise<Gate> {
    return new Gate(await authenticatorOf(files));
  }

  /** Goes by other files from now on; by the old ones if they cannot be understood. */
  async change(files: CredentialFiles): Promise<void> {
    this.#authenticator = await authenticatorOf(files);
  }

  /** Who shows a credential; undefined when they may not ask. */
  admit(credential: string | undefined): Awaitable<Principal | undefined> {
    return this.#authenticator === undefined ? OWNER : this.#authenticator.authenticate(credential);
  }

  /** The same for somebody who was let in earlier, by what they may do now. */
  again(principal: Principal): Principal | undefined {
    return this.#authenticator === undefined ? OWNER : this.#authenticator.again(principal);
  }
}

/** Whether the files can be understood; throws `UsageError` when not. */
export async function checkCredentialFiles(files: CredentialFiles): Promise<void> {
  await authenticatorOf(files);
}

async function authenticatorOf({ keys, jwks }: CredentialFiles): Promise<Authenticator | undefined> {
  if (keys === undefined && jwks === undefined) return undefined;
  const tokens = jwks === undefined ? undefined : await TokenVerifier.read(jwks);
  return new Authenticator(keys === undefined ? [] : readKeys(keys), tokens);
}
