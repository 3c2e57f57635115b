import { redactUrls } from '../../telemetry/redact.ts';

/** An upstream's address with its credentials apart. */
export interface Endpoint {
  readonly transport: 'http' | 'ws';
  /** What logs, metrics and errors call it: the URL without credentials. */
  readonly name: string;
  /** What is connected to; holds keys that are part of the path or query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Makes text that came from this upstream fit to be shown: servers do echo keys in their errors. */
  scrub(text: string): string;
}

const MAX_SHOWN = 300;
/** Shorter words are too common to be a key, and replacing them would garble messages. */
const SHORTEST_SECRET = 6;

/** Takes an http(s) or ws(s) URL apart. */
export function parseEndpoint(text: string): Endpoint {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const transport = /^wss?:$/.test(url?.protocol ?? '') ? 'ws' : 'http';
  if (url === undefined || !/^(?:https?|wss?):$/.test(url.protocol)) {
    throw new TypeError('an upstream is an http, https, ws or wss URL');
  }
  const [user, password] = [decodeURIComponent(url.username), decodeURIComponent(url.password)];
  const headers: Record<string, string> = {};
  const basic = Buffer.from(`${user}:${password}`).toString('base64');
  if (user !== '' || password !== '') {
    // fetch refuses a URL with credentials in it.
    headers['authorization'] = `Basic ${basic}`;
    url.username = '';
    url.password = '';
  }
  const name = redactUrls(url.href).replace(/\/$/, '');
  const shown = new Set(name.split(/[/?]/));
  const inUrl = [...url.pathname.split('/'), ...url.searchParams.values()];
  const secrets = [user, password, basic, ...inUrl].filter(
    (part) => part.length >= SHORTEST_SECRET && !shown.has(part),
  );
  return {
    transport,
    name,
    url: url.href,
    headers,
    scrub(said) {
      const hidden = secrets.reduce((line, secret) => line.replaceAll(secret, '***'), said);
      return redactUrls(hidden).slice(0, MAX_SHOWN);
    },
  };
}

/** Several at once, no two of one name: keys are not part of names, and two accounts at one provider are two upstreams. */
export function parseEndpoints(urls: readonly string[]): readonly Endpoint[] {
  const seen = new Map<string, number>();
  return urls.map((url) => {
    const endpoint = parseEndpoint(url);
    const count = (seen.get(endpoint.name) ?? 0) + 1;
    seen.set(endpoint.name, count);
    return count === 1 ? endpoint : { ...endpoint, name: `${endpoint.name}#${count}` };
  });
}
