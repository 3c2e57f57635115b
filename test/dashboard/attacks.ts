import { request } from 'node:http';
import type { Checks } from '../support/checks.ts';

interface Answer {
  readonly status: number;
  readonly text: string;
}

function send(
  url: string,
  { headers = {}, method = 'GET' }: { readonly headers?: Record<string, string>; readonly method?: string },
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(url, { method, headers, agent: false }, (answer) => {
      let text = '';
      answer.setEncoding('utf8').on('data', (part: string) => {
        text += part;
      });
      answer.on('end', () => resolve({ status: answer.statusCode ?? 0, text }));
    });
    asked.on('error', reject);
    asked.end(method === 'POST' ? '{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}' : undefined);
  });
}

const PAGES = 50;
const PAGES_ALLOWED = 32;

/** What other pages and many pages can do to the listener of a running node. */
export async function attack(url: string, checks: Checks): Promise<void> {
  const json = { 'content-type': 'application/json' };
  const { port } = new URL(url);
  const refused = async (
    what: string,
    path: string,
    headers: Record<string, string>,
    method = 'GET',
  ): Promise<void> => {
    const { status } = await send(url + path, { headers, method });
    checks.check(`refused: ${what} ${path}`, status === 403, status);
  };
  for (const path of ['/', '/dashboard/state', '/dashboard/events', '/metrics'])
    await refused('a name that was pointed here', path, { host: `evil.example:${port}` });
  await refused('a name that was pointed here', '/rpc/public', { ...json, host: 'evil.example' }, 'POST');
  await refused(
    'a page of another origin',
    '/rpc/public',
    { ...json, origin: 'https://evil.example' },
    'POST',
  );
  await refused(
    'a page of another port',
    '/rpc/dedicated',
    { ...json, origin: 'http://127.0.0.1:1' },
    'POST',
  );
  await refused('a page of another port', '/dashboard/state', { origin: 'http://127.0.0.1:1' });
  await refused('an image of another site', '/dashboard/events', {
    'sec-fetch-site': 'cross-site',
    'sec-fetch-mode': 'no-cors',
  });
  const upgrade = {
    connection: 'Upgrade',
    upgrade: 'websocket',
    'sec-websocket-version': '13',
    'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==',
  };
  await refused('a WebSocket of another origin', '/rpc/dedicated', {
    ...upgrade,
    origin: 'https://evil.example',
  });
  for (const path of ['/rpc/admin', '/rpc/__proto__', '/rpc/', '/../package.json', '/assets/../index.html'])
    checks.check(
      `there is no ${path}`,
      (await send(url + path, { headers: json, method: 'POST' })).status !== 200,
    );
  const own = await send(`${url}/rpc/public`, { headers: { ...json, origin: url }, method: 'POST' });
  checks.check('the page itself may ask', own.status === 200 && own.text.includes('"0x385"'), own);
  await openMany(url, checks);
}

async function openMany(url: string, checks: Checks): Promise<void> {
  const stop = new AbortController();
  const open = (): Promise<number> =>
    fetch(`${url}/dashboard/events`, { signal: stop.signal }).then(({ status }) => status);
  const statuses = await Promise.all(Array.from({ length: PAGES }, open));
  const taken = statuses.filter((status) => status === 200).length;
  checks.check(
    `of ${PAGES} dashboards, as many as are allowed are taken and the others are told so`,
    taken > 0 && taken <= PAGES_ALLOWED && statuses.every((status) => status === 200 || status === 503),
    statuses,
  );
  checks.check('health is answered beside them', (await fetch(`${url}/readyz`)).status === 200);
  stop.abort();
}
