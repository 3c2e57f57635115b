import { runToEnd } from '../support/servers/process.ts';

/** What curl shows of an answer. */
export interface Shown {
  readonly status: number;
  /** By their names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: string;
}

const NONCE_OF_NOBODY = {
  jsonrpc: '2.0',
  id: 1,
  method: 'eth_getTransactionCount',
  params: [`0x${'0'.repeat(40)}`, 'latest'],
};

/** Posts JSON with curl, as a person would. */
export async function curl(
  url: string,
  options: {
    readonly headers?: readonly string[];
    readonly body?: unknown;
    readonly flags?: readonly string[];
  } = {},
): Promise<Shown> {
  const { headers = [], body = NONCE_OF_NOBODY, flags = [] } = options;
  const given = ['content-type: application/json', ...headers].flatMap((header) => ['-H', header]);
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const shown = await runToEnd('curl', [
    '-sS',
    '-i',
    '--max-time',
    '20',
    ...flags,
    ...given,
    '--data',
    text,
    url,
  ]);
  const [head = '', ...rest] = shown.split('\r\n\r\n');
  const [status = '', ...lines] = head.split('\r\n');
  const pairs = lines.map((line): [string, string] => {
    const [name = '', ...value] = line.split(':');
    return [name.toLowerCase(), value.join(':').trim()];
  });
  return { status: Number(status.split(' ')[1]), headers: new Map(pairs), body: rest.join('\r\n\r\n') };
}

/** A request with one call. */
export function call(method: string, ...params: readonly unknown[]): object {
  return { jsonrpc: '2.0', id: 1, method, params };
}

/** The error of an answer. */
export function errorIn(body: string): unknown {
  return (JSON.parse(body) as { error?: unknown }).error;
}
