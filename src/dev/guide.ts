import type { DevChain } from './chain.ts';
import { ACCOUNTS, CHAIN_ID, COUNTER, SIGNED_INCREMENT } from './client/genesis.ts';

/** Where things are. */
export interface Places {
  readonly version: string;
  readonly chain: Pick<DevChain, 'client' | 'url' | 'genesisFile'>;
  readonly stream: string;
  /** Of our node; a listener that is off is absent. */
  readonly addresses: { readonly public?: string; readonly dedicated?: string; readonly admin?: string };
}

/** What is there, and three lines to paste that show a pre-confirmed answer. */
export function renderGuide({ version, chain, stream, addresses }: Places): string {
  const place = (name: string, address: string | undefined, what: string): readonly string[] =>
    address === undefined ? [] : [`  ${name.padEnd(12)}http://${address}  ${what}`];
  const reading = addresses.public ?? addresses.dedicated;
  return `${[
    `Chain Query ${version}: a local chain, pre-confirmed every 200 ms, a block every 2 s.`,
    '',
    ...place('read', addresses.public, 'the public endpoint: it sends transactions, too'),
    ...place('', addresses.dedicated, 'the dedicated one: eth_getBlockReceipts too'),
    ...place('', addresses.admin, '/readyz, /metrics'),
    ...(addresses.admin === undefined ? [] : [`  dashboard   http://${addresses.admin}/`]),
    `  send to     ${chain.url}  or to the chain itself: ${chain.client}, chain id ${CHAIN_ID}`,
    `  flashblocks ${stream}`,
    `  rules       ${chain.genesisFile}  for \`--chain\` of a second node, or of doctor`,
    `  a contract  ${COUNTER.address}  count() ${COUNTER.count}, increment() ${COUNTER.increment}`,
    '',
    '  Two accounts. THEIR KEYS ARE PUBLIC: never send them anything of value on another chain.',
    ...ACCOUNTS.map(({ address, key }) => `  ${address}  ${key}`),
    '',
    ...(reading === undefined ? [] : tour(`http://${reading}`)),
    'Ctrl-C stops all of it and deletes its data.',
  ].join('\n')}\n`;
}

/** Reads the counter, sends a transaction, reads again before there is a block with it. */
function tour(url: string): readonly string[] {
  const count = (id: number, block: string): object =>
    request(id, 'eth_call', [{ to: COUNTER.address, data: COUNTER.count }, block]);
  return [
    'Paste these three together. The counter is 0; then it is 1 in `pending`, and still 0 in `latest`:',
    '',
    curl('-s', url, count(1, 'pending')),
    curl('-s', url, request(2, 'eth_sendRawTransaction', [SIGNED_INCREMENT])),
    `sleep 0.3; ${curl('-si', url, [count(3, 'pending'), count(4, 'latest')])}`,
    '',
  ];
}

function request(id: number, method: string, params: readonly unknown[]): object {
  return { jsonrpc: '2.0', id, method, params };
}

function curl(flags: string, url: string, body: object): string {
  return `curl ${flags} -w '\\n' ${url} -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;
}
