import { homedir } from 'node:os';
import { join } from 'node:path';

type Environment = Readonly<Record<string, string | undefined>>;

/** Where the copy of a chain is kept when nobody says where: a folder of the user, as the system has it. */
export function defaultDataFolder(
  chain: string,
  env: Environment,
  platform: string = process.platform,
  home: string = homedir(),
): string {
  return join(dataHome(env, platform, home), 'chain-query', chain);
}

function dataHome(env: Environment, platform: string, home: string): string {
  const { XDG_DATA_HOME: xdg, LOCALAPPDATA: local } = env;
  // The specification has relative ones ignored.
  if (xdg?.startsWith('/') === true) return xdg;
  if (platform === 'win32') return local ?? join(home, 'AppData', 'Local');
  if (platform === 'darwin') return join(home, 'Library', 'Application Support');
  return join(home, '.local', 'share');
}
