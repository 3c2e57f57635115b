/** Names that never reach a log, at any of the places where clients and options carry them. */
const SECRET_NAMES = ['authorization', 'cookie', 'x-api-key', 'apiKey', 'password', 'secret', 'jwt', 'token'];

/** Paths for pino's `redact`: each name at the top, one and two levels down. */
export const REDACTED_PATHS: readonly string[] = SECRET_NAMES.flatMap((name) => [
  `["${name}"]`,
  `*["${name}"]`,
  `*.*["${name}"]`,
]);

const URL_IN_TEXT = /\b([a-z][a-z0-9+.-]*:\/\/)([^\s"'<>]+)/gi;
const PUBLIC_PATH_WORD = /^(?:v\d+|rpc|ws|http|api|json-?rpc|eth|ethereum|optimism|base|mainnet|sepolia)?$/i;
const REDACTED = '***';

/** Hides what a URL may carry as a credential: user and password, query values, and path segments that look like keys. */
export function redactUrls(text: string): string {
  return text.replace(URL_IN_TEXT, (_, scheme: string, rest: string) => {
    const [beforeQuery = '', query] = rest.split(/\?(.*)/s);
    const [authority = '', ...segments] = beforeQuery.split('/');
    const host = authority.includes('@')
      ? `${REDACTED}@${authority.slice(authority.lastIndexOf('@') + 1)}`
      : authority;
    const path = segments.map((segment) => (PUBLIC_PATH_WORD.test(segment) ? segment : REDACTED));
    return `${scheme}${[host, ...path].join('/')}${query === undefined ? '' : `?${REDACTED}`}`;
  });
}
