import { readFileSync, unwatchFile, watchFile } from 'node:fs';
import type { CommandOptions } from '../config/table.ts';
import { UsageError } from '../config/usage-error.ts';
import { type CredentialFiles, checkCredentialFiles } from '../rpc/auth/gate.ts';
import { isLoopbackHost } from '../rpc/limits/access.ts';
import type { Logger } from '../telemetry/logger.ts';

type CredentialOptions = Pick<CommandOptions<'serve'>, 'keys' | 'jwks' | 'dedicated'>;

/** How often files are looked at. Not by events of the file system: those of mounted secrets do not come. */
const LOOK_MS = 1_000;

/** Reads who may use the dedicated listener; without keys, it must not be reached from elsewhere (B9). */
export async function readCredentials(options: CredentialOptions): Promise<CredentialFiles> {
  const { keys, jwks, dedicated } = options;
  if (keys === undefined && jwks === undefined && dedicated !== 'off' && !isLoopbackHost(dedicated.host)) {
    throw new UsageError(
      `the dedicated listener serves without keys on loopback alone: name them with --keys or --jwks, or change --dedicated`,
    );
  }
  return read(options);
}

/** Reads the files again when they change. One that cannot be understood changes nothing, and is said in the log. */
export function watchCredentials(
  options: CredentialOptions,
  { logger, onChange }: { readonly logger: Logger; readonly onChange: (files: CredentialFiles) => void },
): Disposable {
  const files = [options.keys, options.jwks].filter((file) => file !== undefined);
  const onLook = (): void => {
    read(options).then(
      (changed) => {
        onChange(changed);
        logger.info('keys were read again');
      },
      (error: unknown) => logger.error({ err: error }, 'keys cannot be read: the old ones are valid on'),
    );
  };
  for (const file of files) watchFile(file, { interval: LOOK_MS, persistent: false }, onLook);
  return {
    [Symbol.dispose]: () => {
      for (const file of files) unwatchFile(file, onLook);
    },
  };
}

async function read({ keys, jwks }: CredentialOptions): Promise<CredentialFiles> {
  const files: CredentialFiles = { keys: keys && textOf('keys', keys), jwks: jwks && textOf('jwks', jwks) };
  for (const [name, file] of [
    ['keys', keys],
    ['jwks', jwks],
  ] as const) {
    if (file === undefined) continue;
    await checkCredentialFiles({ [name]: files[name] }).catch((error: unknown) => {
      throw error instanceof UsageError ? new UsageError(`--${name} ${file}: ${error.message}`) : error;
    });
  }
  return files;
}

function textOf(name: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    throw new UsageError(`--${name} ${file} cannot be read: ${String(cause)}`, { cause });
  }
}
