import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadOptions } from '../../../src/config/load.ts';
import type { CommandOptions } from '../../../src/config/table.ts';
import type { ImportModules } from '../../../src/maintenance/import/import.ts';
import { createLogger } from '../../../src/telemetry/logger.ts';
import { officialChain } from '../servers/paths.ts';

/** A folder that a test works in. */
export interface WorkDir extends AsyncDisposable {
  readonly path: string;
  /** Where its store is. */
  readonly data: string;
}

/** Makes a folder that goes away at the end of its scope. */
export async function workDir(): Promise<WorkDir> {
  const path = await mkdtemp(join(tmpdir(), 'chain-query-ingest-'));
  return {
    path,
    data: join(path, 'data'),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

/** What a command gets besides its options, when nobody watches. */
export function quietModules(changes: Partial<ImportModules> = {}): ImportModules {
  const { signal } = new AbortController();
  return { logger: createLogger('silent'), signal, onProgress: () => {}, ...changes };
}

const SMALL = ['--store-map-size', '1GiB', '--log-level', 'silent'] as const;

/** Options of an import of the official chain, as the command line gives them. */
export function importOptions(dir: WorkDir, ...args: string[]): CommandOptions<'import'> {
  const given = new Set(args);
  const files = (['genesis', 'blocks'] as const).flatMap((name) =>
    given.has(`--${name}`) ? [] : [`--${name}`, officialChain[name]],
  );
  return loadOptions('import', { args: ['--data', dir.data, ...files, ...SMALL, ...args], env: {} });
}

/** Options of a verification of the same store. */
export function verifyOptions(dir: WorkDir): CommandOptions<'verify'> {
  return loadOptions('verify', { args: ['--data', dir.data, ...SMALL], env: {} });
}
