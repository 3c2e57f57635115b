/** How to reach and enter a NATS cluster. */
export interface NatsServers {
  /** `host:port` of each server. */
  readonly hosts: readonly string[];
  readonly tls: boolean;
  readonly login: NatsLogin | undefined;
}

/** What a URL holds before its `@`: user and password, or a token. */
export type NatsLogin = { readonly user: string; readonly pass: string } | { readonly token: string };

const DEFAULT_PORT = '4222';
const SCHEMES: Readonly<Record<string, { readonly tls: boolean }>> = {
  'nats:': { tls: false },
  'tls:': { tls: true },
};

/**
 * Reads the URLs of a cluster's servers: `nats://` or `tls://`, `user:password@` or `token@`, all of them alike. What it says of
 * a bad one never repeats the URL, which may hold a credential.
 */
export function parseServers(urls: readonly string[]): NatsServers {
  const servers = urls.map((url, index) => parseServer(url, `NATS server ${index + 1}`));
  const [first] = servers;
  if (first === undefined) throw new Error('no NATS server is named');
  for (const { tls } of servers) {
    if (tls !== first.tls) throw new Error('NATS servers of one cluster are all nats:// or all tls://');
  }
  const logins = servers.flatMap(({ login }) => login ?? []);
  const [login] = logins;
  for (const other of logins) {
    if (JSON.stringify(other) !== JSON.stringify(login)) {
      throw new Error('NATS servers of one cluster take the same user and password, or token');
    }
  }
  return { hosts: servers.map(({ host }) => host), tls: first.tls, login };
}

interface NatsServer {
  readonly host: string;
  readonly tls: boolean;
  readonly login: NatsLogin | undefined;
}

function parseServer(text: string, name: string): NatsServer {
  const url = URL.parse(text);
  const scheme = url === null ? undefined : SCHEMES[url.protocol];
  if (url === null || scheme === undefined || url.hostname === '') {
    throw new Error(`${name} is not a URL of the form nats://host:port or tls://host:port`);
  }
  if (!['', '/'].includes(url.pathname) || url.search !== '' || url.hash !== '') {
    throw new Error(`${name} has more in its URL than a host and a port`);
  }
  return {
    host: `${url.hostname}:${url.port || DEFAULT_PORT}`,
    tls: scheme.tls,
    login: loginOf(url, name),
  };
}

function loginOf({ username, password }: URL, name: string): NatsLogin | undefined {
  if (username === '' && password === '') return undefined;
  try {
    const user = decodeURIComponent(username);
    return password === '' ? { token: user } : { user, pass: decodeURIComponent(password) };
  } catch {
    // The reason would repeat what it could not read.
    throw new Error(`${name} has a user, password or token that is not percent-encoded`);
  }
}
