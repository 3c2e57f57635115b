import { existsSync, readFileSync } from 'node:fs';
import { settingsOf } from '../../config/load.ts';
import type { CommandOptions } from '../../config/table.ts';
import { UsageError } from '../../config/usage-error.ts';
import { formatApiKey } from '../../rpc/auth/api-key.ts';
import { addKey, readKeys, removeKey } from '../../rpc/auth/key-file.ts';
import type { CommandContext } from '../dispatch.ts';
import { printJson } from '../print.ts';
import { writeWhole } from '../whole-file.ts';

/** For the owner alone, although hashes let nobody in. */
const OWNER_ONLY = 0o600;

/** `chain-query keys add|list|revoke`: the file that `serve --keys` reads. */
export async function run(options: CommandOptions<'keys'>, context: CommandContext): Promise<void> {
  const { verb, stdout } = context;
  const text = existsSync(options.keys) ? readFileSync(options.keys, 'utf8') : '';
  const { json } = options;
  if (verb === 'list') {
    if (json)
      printJson(stdout, {
        keys: readKeys(text).map(({ id, name, created, grant }) => ({ id, name, created, grant })),
      });
    else stdout.write(list(text));
  } else if (verb === 'revoke') {
    revoke(text, options);
    if (json) printJson(stdout, { revoked: options.keyId });
  } else {
    const key = add(text, options, context);
    if (json) printJson(stdout, { name: options.keyName, key });
    else stdout.write(`${key}\n`);
  }
}

/** Writes a new key's hash, and gives the key, which is shown this once. */
function add(text: string, { keys, keyName }: CommandOptions<'keys'>, { sources }: CommandContext): string {
  if (keyName === undefined)
    throw new UsageError('--key-name NAME is missing', {
      hints: ['run: chain-query keys add --keys FILE --key-name NAME'],
    });
  const settings = settingsOf('keys', sources);
  const said = {
    methods: settings.get('keyMethods')?.text.split(','),
    rate: settings.get('keyRate')?.text,
    logsRange: settings.get('keyLogsRange')?.text,
    logsResults: settings.get('keyLogsResults')?.text,
  };
  const grant = Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined));
  const added = addKey(text, { name: keyName, created: new Date(), ...grant });
  writeWhole(keys, added.text, OWNER_ONLY);
  return formatApiKey(added.key);
}

function revoke(text: string, { keys, keyId }: CommandOptions<'keys'>): void {
  if (keyId === undefined)
    throw new UsageError('--key-id ID is missing', {
      hints: ['chain-query keys list --keys FILE shows the ids'],
    });
  writeWhole(keys, removeKey(text, keyId), OWNER_ONLY);
}

function list(text: string): string {
  const rows = readKeys(text).map(({ id, created, name, grant }) => {
    const may = Object.entries(grant).map(([what, value]) => `${what} ${JSON.stringify(value)}`);
    return [id, created, name, ...may].join('  ');
  });
  return rows.map((row) => `${row}\n`).join('');
}
