import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Hex, keccak256, numberToHex, toRlp } from 'viem';
import { headerHash, quantityBytes } from '../support/lies/header-hash.ts';
import { listRoot } from '../support/lies/trie-root.ts';

/** Rules of an OP-stack chain whose headers have few fields. */
export const madeConfig = {
  ...{ chainId: 4242, homesteadBlock: 0, eip150Block: 0, eip155Block: 0, eip158Block: 0, byzantiumBlock: 0 },
  ...{ constantinopleBlock: 0, petersburgBlock: 0, istanbulBlock: 0, berlinBlock: 0, londonBlock: 0 },
  ...{ mergeNetsplitBlock: 0, terminalTotalDifficulty: 0, bedrockBlock: 0, regolithTime: 0, optimism: {} },
};

const zero: Hex = `0x${'0'.repeat(64)}`;
const EMPTY_LIST: Hex = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347';
/** Far from any number that stands for nothing. */
const FIRST = 100;

type Json = Readonly<Record<string, unknown>>;

export interface MadeBlock extends Json {
  readonly number: Hex;
  readonly hash: Hex;
  readonly timestamp: Hex;
}

/** What a header says beside what follows from its place. */
interface Claims {
  readonly gasLimit: bigint;
  readonly gasUsed: bigint;
}

/** A block whose hash fits its header and its transactions. Whether they do what it claims is another matter. */
export function makeBlock(
  parent: MadeBlock | undefined,
  transactions: readonly Json[] = [],
  claims: Claims = { gasLimit: 30_000_000n, gasUsed: 0n },
): MadeBlock {
  const number = parent === undefined ? FIRST : Number(parent.number) + 1;
  const header = {
    ...{ parentHash: parent?.hash ?? zero, sha3Uncles: EMPTY_LIST, miner: `0x${'0'.repeat(40)}` },
    ...{ stateRoot: zero, transactionsRoot: listRoot(transactions.map(({ raw }) => raw as Hex)) },
    ...{ receiptsRoot: listRoot([]), logsBloom: `0x${'0'.repeat(512)}`, difficulty: '0x0' },
    ...{ number: numberToHex(number), gasLimit: numberToHex(claims.gasLimit) },
    ...{ gasUsed: numberToHex(claims.gasUsed), timestamp: numberToHex(1_700_000_000 + 2 * number) },
    ...{ extraData: '0x', mixHash: zero, nonce: `0x${'0'.repeat(16)}`, baseFeePerGas: '0x7' },
  } as const;
  const hash = headerHash(header);
  const place = { blockHash: hash, blockNumber: header.number };
  const listed = transactions.map(({ raw: _raw, ...tx }, at) => ({
    ...tx,
    ...place,
    transactionIndex: numberToHex(at),
  }));
  return { ...header, hash, size: '0x1', uncles: [], transactions: listed };
}

/** A deposit that creates a contract which loops (JUMPDEST PUSH1 0 JUMP) until it has used up its gas. */
export function loopingDeposit(gas: bigint): Json {
  const input = '0x5b600056';
  const from: Hex = `0x${'11'.repeat(20)}`;
  const raw: Hex = `0x7e${toRlp([zero, from, '0x', '0x', '0x', quantityBytes(gas), '0x', input]).slice(2)}`;
  return {
    ...{
      raw,
      hash: keccak256(raw),
      type: '0x7e',
      sourceHash: zero,
      from,
      to: null,
      mint: '0x0',
      value: '0x0',
    },
    ...{ gas: numberToHex(gas), isSystemTx: false, input, nonce: '0x0', gasPrice: '0x0' },
    ...{ v: '0x0', r: '0x0', s: '0x0' },
  };
}

/** What it answers: the truth, or a body for everything, or another head than it has. */
export type Manner = 'honest' | 'nulls' | 'absurd' | 'false number' | 'deep';

/** A server of a chain that is made up as it goes, and that behaves as it is told to. */
export class MadeUpstream implements AsyncDisposable {
  readonly #blocks: MadeBlock[] = [makeBlock(undefined)];
  readonly #server = createServer((request, response) => {
    void request.toArray().then((chunks) => {
      response.setHeader('content-type', 'application/json');
      response.end(this.#respond(Buffer.concat(chunks).toString('utf8')));
    });
  });
  manner: Manner = 'honest';

  static async start(): Promise<MadeUpstream> {
    const upstream = new MadeUpstream();
    await once(upstream.#server.listen(0, '127.0.0.1'), 'listening');
    return upstream;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get head(): MadeBlock {
    return this.#blocks.at(-1) as MadeBlock;
  }

  /** Puts a block on top of the head, or another in its place. */
  add(block: MadeBlock = makeBlock(this.head)): MadeBlock {
    const at = Number(block.number) - FIRST;
    this.#blocks.splice(at, this.#blocks.length, block);
    return block;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await once(this.#server.close(), 'close');
  }

  #respond(body: string): string {
    if (this.manner === 'deep') return `${'['.repeat(5_000_000)}${']'.repeat(5_000_000)}`;
    const asked = JSON.parse(body) as Call | Call[];
    return JSON.stringify(
      Array.isArray(asked) ? asked.map((call) => this.#answer(call)) : this.#answer(asked),
    );
  }

  #answer({ id, method, params }: Call): Json {
    if (this.manner === 'nulls') return { jsonrpc: '2.0', id, result: null };
    const result = this.#result(method, params);
    if (result !== undefined) return { jsonrpc: '2.0', id, result };
    return { jsonrpc: '2.0', id, error: { code: -32601, message: `the method ${method} does not exist` } };
  }

  #result(method: string, [first, second]: readonly unknown[]): unknown {
    switch (method) {
      case 'eth_chainId':
        return numberToHex(madeConfig.chainId);
      case 'eth_getBlockByHash':
        return shown(
          this.#blocks.find(({ hash }) => hash === first),
          second,
        );
      case 'eth_getBlockByNumber':
        if (first === 'latest') return this.#named(shown(this.head, second) as Json);
        if (first === 'safe' || first === 'finalized') return null;
        return shown(
          this.#blocks.find(({ number }) => number === first),
          second,
        );
      case 'eth_getBlockReceipts':
        return [];
      case 'eth_getBalance':
      case 'eth_getTransactionCount':
        return '0x0';
      case 'eth_getCode':
        return '0x';
      case 'eth_getStorageAt':
        return zero;
      default:
        return undefined;
    }
  }

  #named(head: Json): Json {
    if (this.manner === 'absurd')
      return { ...head, number: '0xffffffffffffffff', hash: `0x${'f'.repeat(64)}` };
    return this.manner === 'false number' ? { ...head, number: '0xfffffff' } : head;
  }
}

interface Call {
  readonly id: unknown;
  readonly method: string;
  readonly params: readonly unknown[];
}

function shown(block: MadeBlock | undefined, whole: unknown): Json | null {
  if (block === undefined) return null;
  const transactions = block['transactions'] as readonly Json[];
  return whole === true ? block : { ...block, transactions: transactions.map(({ hash }) => hash) };
}
