/** Names that never reach a log, at any of the places where clients and options carry them. */
const SECRET_NAMES = ['authorization', 'cookie', 'x-api-key', 'apiKey', 'password', 'secret', 'jwt', 'token'];

/** Paths for pino's `redact`: each name at the top, one and two levels down. */
export const REDACTED_PATHS: readonly string[] = SECRET_NAMES.flatMap((name) => [
  `["${name}"]`,
  `*["${name}"]`,
  `*.*["${name}"]`,
]);

/**
 * Scheme, user and password, and the rest. A line of the log is searched as it is written: a backslash there begins an
 * escape, which is no part of a URL. Passwords may have quotes in them, hosts and paths are quoted by them.
 */
const URL_IN_TEXT = /\b(?!file:)([a-z][a-z0-9+.-]{0,30}:\/\/)([^\s"\\/?#]*@)?([^\s"'<>\\]*)/gi;
const PUBLIC_PATH_WORD = /^(?:v\d+|rpc|ws|http|api|json-?rpc|eth|ethereum|optimism|base|mainnet|sepolia)?$/i;
const REDACTED = '***';

/** Hides what a URL may carry as a credential: user and password, query values, and path segments that look like keys. */
export function redactUrls(text: string): string {
  return text.replace(URL_IN_TEXT, (_, scheme: string, user: string | undefined, rest: string) => {
    const [beforeQuery = '', query] = rest.split(/\?(.*)/s);
    const [authority = '', ...segments] = beforeQuery.split('/');
    const host = user === undefined ? authority : `${REDACTED}@${authority}`;
    const path = segments.map((segment) => (PUBLIC_PATH_WORD.test(segment) ? segment : REDACTED));
    return `${scheme}${[host, ...path].join('/')}${query === undefined ? '' : `?${REDACTED}`}`;
  });
}
