import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { type Profile, type ProfileOptions, profilesOf } from '../config/profiles.ts';
import type { CommandOptions } from '../config/table.ts';
import { UsageError } from '../config/usage-error.ts';
import { type CredentialFiles, checkCredentialFiles } from '../rpc/auth/gate.ts';
import { isLoopbackHost } from '../rpc/limits/access.ts';
import type { Credentials, TlsFiles } from '../serving/messages.ts';
import type { Logger } from '../telemetry/logger.ts';

type CredentialOptions = Pick<CommandOptions<'serve'>, 'keys' | 'jwks'> & ProfileOptions;

/** How often files are looked at. Not by events of the file system: those of mounted secrets do not come. */
const LOOK_MS = 1_000;

/** Reads who may use the listeners that ask for keys; without any, they must not be reached from elsewhere (B9). */
export async function readCredentials(options: CredentialOptions): Promise<Credentials> {
  if (options.keys === undefined && options.jwks === undefined) {
    for (const profile of profilesOf(options)) if (profile.auth === 'keys') expectOwn(profile);
  }
  return read(options);
}

/** While nobody needs a key, only those on this machine may ask, and no page that their browser shows. */
function expectOwn({ name, listen, origins }: Profile): void {
  if (listen === 'off') return;
  const option = name === 'dedicated' ? '--dedicated' : `--profile ${name}.listen`;
  if (!isLoopbackHost(listen.host)) {
    throw new UsageError(
      `the ${name} listener serves without keys on loopback alone: name them with --keys or --jwks, or change ${option}`,
    );
  }
  if (origins === 'any') {
    throw new UsageError(
      `the ${name} listener has no keys: --profile ${name}.origins=any would let every page use it`,
    );
  }
}

/** Reads the files again when they change. One that cannot be understood changes nothing, and is said in the log. */
export function watchCredentials(
  options: CredentialOptions,
  { logger, onChange }: { readonly logger: Logger; readonly onChange: (changed: Credentials) => void },
): { readonly look: () => void } & Disposable {
  const certificates = profilesOf(options).flatMap(({ tlsCert, tlsKey }) => [tlsCert, tlsKey]);
  const files = [options.keys, options.jwks, ...certificates].filter((file) => file !== undefined);
  const look = (): void => {
    read(options).then(
      (changed) => {
        onChange(changed);
        logger.info('keys and certificates were read again');
      },
      (error: unknown) =>
        logger.error({ err: error }, 'keys or certificates cannot be read: the old ones are valid on'),
    );
  };
  for (const file of files) watchFile(file, { interval: LOOK_MS, persistent: false }, look);
  return {
    look,
    [Symbol.dispose]: () => {
      for (const file of files) unwatchFile(file, look);
    },
  };
}

async function read(options: CredentialOptions): Promise<Credentials> {
  const { keys, jwks } = options;
  const files: CredentialFiles = {
    keys: keys && textOf('--keys', keys),
    jwks: jwks && textOf('--jwks', jwks),
  };
  for (const [name, file] of [
    ['keys', keys],
    ['jwks', jwks],
  ] as const) {
    if (file === undefined) continue;
    await checkCredentialFiles({ [name]: files[name] }).catch((error: unknown) => {
      throw error instanceof UsageError ? new UsageError(`--${name} ${file}: ${error.message}`) : error;
    });
  }
  return { files, tls: readCertificates(options) };
}

function readCertificates(options: ProfileOptions): TlsFiles {
  const tls: Record<string, TlsFiles[string]> = {};
  for (const { name, tlsCert, tlsKey } of profilesOf(options)) {
    if (tlsCert === undefined || tlsKey === undefined) continue;
    const pair = {
      cert: textOf(`--profile ${name}.tlsCert`, tlsCert),
      key: textOf(`--profile ${name}.tlsKey`, tlsKey),
    };
    try {
      createSecureContext(pair);
    } catch (cause) {
      // What OpenSSL says is about their form, and quotes neither.
      throw new UsageError(
        `--profile ${name}: the certificate and its key cannot be used: ${String(cause)}`,
        { cause },
      );
    }
    tls[name] = pair;
  }
  return tls;
}

function textOf(option: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new UsageError(`${option} ${file} cannot be read: ${String(cause)}`, { cause });
  }
}
