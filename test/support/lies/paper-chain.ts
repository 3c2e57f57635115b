import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Hex, keccak256, numberToHex, toRlp } from 'viem';

type Json = Readonly<Record<string, unknown>>;

/** The fields of a header in the order in which they are hashed, through Prague. */
const FIELDS = [
  ...['parentHash', 'sha3Uncles', 'miner', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom'],
  ...['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp', 'extraData', 'mixHash', 'nonce'],
  ...[
    'baseFeePerGas',
    'withdrawalsRoot',
    'blobGasUsed',
    'excessBlobGas',
    'parentBeaconBlockRoot',
    'requestsHash',
  ],
] as const;
const QUANTITIES: ReadonlySet<string> = new Set([
  ...[
    'difficulty',
    'number',
    'gasLimit',
    'gasUsed',
    'timestamp',
    'baseFeePerGas',
    'blobGasUsed',
    'excessBlobGas',
  ],
]);

/** The hash of a header as a node gives it in JSON. */
export function hashOfHeader(header: Json): Hex {
  const encoded = FIELDS.map((field): Hex => {
    const value = header[field] as Hex;
    if (!QUANTITIES.has(field)) return value;
    return BigInt(value) === 0n
      ? '0x'
      : numberToHex(BigInt(value), { size: Math.ceil((value.length - 2) / 2) });
  });
  return keccak256(toRlp(encoded));
}

/** An upstream with thousands of empty blocks in a moment: their hashes and links are real, and nobody executed them. */
export interface PaperChain extends AsyncDisposable {
  readonly url: string;
  readonly head: { readonly number: number; readonly hash: Hex };
  readonly hashes: ReadonlySet<Hex>;
  /** Adds blocks. */
  grow(blocks: number): void;
}

/** Begins on top of a block that a node gave as JSON; what is below, that node answers for. */
export async function startPaperChain(base: Json, below: string, blocks: number): Promise<PaperChain> {
  const chain: Json[] = [];
  const byHash = new Map<unknown, Json>();
  const grow = (count: number): void => {
    for (let left = count; left > 0; left -= 1) {
      const parent = chain.at(-1) ?? base;
      const next = {
        ...base,
        parentHash: parent['hash'],
        number: numberToHex(Number(parent['number']) + 1),
        timestamp: numberToHex(Number(parent['timestamp']) + 1),
        extraData: '0x7061706572',
        transactions: [],
        withdrawals: [],
      };
      const block = { ...next, hash: hashOfHeader(next) };
      chain.push(block);
      byHash.set(block.hash, block);
    }
  };
  grow(blocks);
  const first = Number(base['number']) + 1;
  const head = (): Json => chain.at(-1) ?? base;
  const answer = async (call: Json): Promise<Json> => {
    const { id, method } = call;
    const [param] = (call['params'] ?? []) as readonly unknown[];
    const at = param === 'latest' ? head() : (chain[Number(param) - first] ?? undefined);
    if (method === 'eth_getBlockByNumber' && at !== undefined) return { jsonrpc: '2.0', id, result: at };
    if (method === 'eth_getBlockByHash' && byHash.has(param)) {
      return { jsonrpc: '2.0', id, result: byHash.get(param) };
    }
    if (method === 'eth_getBlockReceipts' && byHash.has(param)) return { jsonrpc: '2.0', id, result: [] };
    const response = await fetch(below, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(call),
    });
    return (await response.json()) as Json;
  };
  const respond = async (message: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body: unknown = JSON.parse(Buffer.concat(await message.toArray()).toString('utf8'));
    const answers = Array.isArray(body) ? await Promise.all(body.map(answer)) : await answer(body as Json);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answers));
  };
  const server = createServer((message, response) => {
    respond(message, response).catch((error: unknown) => response.writeHead(502).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get head() {
      return { number: Number(head()['number']), hash: head()['hash'] as Hex };
    },
    get hashes() {
      return new Set([...byHash.keys()] as Hex[]);
    },
    grow,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
