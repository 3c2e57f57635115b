import { readFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { leastUndoBlocks } from '../primitives/undo-window.ts';
import type { CqlPlace } from './store-place.ts';
import type { CommandOptions } from './table.ts';

type FleetOptions = Pick<
  CommandOptions<'serve'>,
  'store' | 'storeCredentials' | 'storeLease' | 'storeGrace' | 'undoWindow'
>;

/** A store in CQL, and how its writer and its readers behave. */
interface CqlOptions extends CqlPlace {
  readonly credentials: { readonly username: string; readonly password: string } | undefined;
  readonly holder: string;
  readonly leaseMs: number;
  readonly graceMs: number;
  readonly viewMs: number;
  readonly undoWindow: number;
}

/** How the store in CQL is reached and behaves, as configured. */
export async function cqlOptions(options: FleetOptions): Promise<CqlOptions> {
  const { store, storeCredentials, storeGrace } = options;
  if (store === undefined) throw new Error('--store is missing');
  return {
    ...store,
    credentials: storeCredentials === undefined ? undefined : await readCredentials(storeCredentials),
    holder: `${hostname()}-${process.pid}`,
    leaseMs: options.storeLease,
    graceMs: storeGrace,
    // Clearly less: what was begun before may take a while.
    viewMs: storeGrace / 2,
    undoWindow: leastUndoBlocks(options.undoWindow),
  };
}

async function readCredentials(file: string): Promise<{ username: string; password: string }> {
  const [username = '', password = ''] = (await readFile(file, 'utf8')).split(/\r?\n/);
  if (username === '' || password === '')
    throw new Error('--store-credentials: expected a user on the first line and a password on the second');
  return { username, password };
}
