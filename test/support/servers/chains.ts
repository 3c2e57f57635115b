import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Hex, keccak256, toHex } from 'viem';
import { Stillness, startStillProxy } from '../proxies/still.ts';
import type { ChainTraits } from '../workload/draft.ts';
import { devChainId, owner } from '../workload/token.ts';
import type { NonceReader, WorkloadBlock } from '../workload/workload.ts';
import { startAnvil } from './anvil.ts';
import { boundTo, orReport, quiet } from './geth.ts';
import { baseTimeDeposit } from './op-deposits.ts';
import { opChainId, opFunder } from './op-genesis.ts';
import { startOpGeth } from './op-geth.ts';
import { type BlockInputs, OpSequencer, type SequencedBlock } from './op-sequencer.ts';
import { gethBinary } from './paths.ts';
import { runToEnd, start, tempDir, until } from './process.ts';
import { type Answer, type Call, request, sendBatch } from './rpc-client.ts';

/** A chain that a workload runs on, as an ordinary upstream serves it: recent state, and no debug methods unless asked for. */
export interface WorkloadChain extends AsyncDisposable {
  readonly name: ChainName;
  readonly url: string;
  readonly ws: string;
  readonly traits: ChainTraits;
  readonly readNonces: NonceReader;
  /** Puts these into a block, or into several if the chain likes; done when they are mined. */
  mine(block: WorkloadBlock): Promise<void>;
  /** A genesis file that has the rules of this chain. */
  readonly rulesFile: string;
  /** The same with the fork that was asked for, which that file does not have. */
  readonly rulesOfFork?: object | undefined;
  /** What our node must be told to follow it. */
  readonly serveOptions?: readonly string[];
  /**
   * Puts other blocks in the place of the last `depth`, and one more on top. `next` is asked for what goes into each.
   * Only where the test decides what is canonical.
   */
  reorg?(depth: number, next: () => Promise<WorkloadBlock>): Promise<void>;
  /** Where questions must not be under way while a block is mined: has them wait for each other. */
  readonly still?: Stillness;
  /** The milliseconds that a block says beside its timestamp, where blocks do. */
  readonly millisecondsOf?: (number: number) => number;
}

/** How a chain is to be. */
export interface ChainForm {
  /** As on a chain with a block every 200 ms: several share one timestamp where the client permits it, or say their milliseconds. */
  readonly fast?: boolean;
  /** Whether the upstream tells what blocks did to the state. */
  readonly debug?: boolean;
  /** Seconds after the start, a fork begins that `rulesFile` does not have. */
  readonly forkAfter?: number;
}

const BLOCKS_PER_SECOND = 5;

export const chainNames = ['geth', 'anvil', 'op-geth'] as const;
export type ChainName = (typeof chainNames)[number];

const noncesFrom =
  (url: string, block: () => unknown = () => 'latest'): NonceReader =>
  async (addresses) => {
    const at = block();
    const answers = await sendBatch(
      url,
      addresses.map((address) => ({ method: 'eth_getTransactionCount', params: [address, at] })),
    );
    return answers.map((answer) => {
      if ('error' in answer) throw new Error(`no nonce: ${answer.error.message}`);
      return Number(answer.result);
    });
  };

/** What a server takes in one body; anvil refuses more than 2 MiB. A transaction with its blobs may be a megabyte. */
const MAX_BATCH_CHARS = 1_000_000;

async function submit(url: string, transactions: readonly Hex[]): Promise<readonly Hex[]> {
  const batches: Call[][] = [];
  let room = 0;
  for (const raw of transactions) {
    if (raw.length > room) {
      batches.push([]);
      room = MAX_BATCH_CHARS;
    }
    batches.at(-1)?.push({ method: 'eth_sendRawTransaction', params: [raw] });
    room -= raw.length;
  }
  const answers: Answer[] = [];
  // One after another: nonces count.
  for (const batch of batches) answers.push(...(await sendBatch(url, batch)));
  return answers.map((answer, at) => {
    if ('error' in answer)
      throw new Error(`${answer.error.message}: ${transactions[at]?.slice(0, 400)}`, {
        cause: answer.error,
      });
    return answer.result as Hex;
  });
}

async function waitMined(url: string, hashes: readonly Hex[]): Promise<void> {
  let waiting = hashes;
  await until(`${hashes.length} transactions to be mined`, async () => {
    if (waiting.length === 0) return true;
    const answers = await sendBatch(
      url,
      waiting.map((hash) => ({ method: 'eth_getTransactionReceipt', params: [hash] })),
    );
    waiting = waiting.filter((_, at) => {
      const answer = answers[at];
      return answer === undefined || 'error' in answer || answer.result === null;
    });
    return waiting.length === 0 ? true : undefined;
  });
}

/** Begins a development chain that goes over to Osaka at a time. Gives its genesis; the one written does not have that fork. */
async function initForking(
  dir: string,
  rules: string,
  rulesFile: string,
  osakaTime: number,
): Promise<object> {
  const { config, alloc, ...rest } = JSON.parse(rules) as { config: { osakaTime?: number }; alloc?: object };
  const { osakaTime: _, ...before } = config;
  const funded = { ...alloc, [owner.address]: { balance: `0x${'f'.repeat(30)}` } };
  const file = join(dir, 'genesis.json');
  const genesis = { ...rest, config: { ...config, osakaTime }, alloc: funded };
  await writeFile(file, JSON.stringify(genesis));
  await writeFile(rulesFile, JSON.stringify({ ...genesis, config: before }));
  await runToEnd(gethBinary(), ['--datadir', dir, 'init', file]);
  return genesis;
}

async function startGethChain({ debug = false, forkAfter }: ChainForm): Promise<WorkloadChain> {
  const api = debug ? 'eth,net,web3,debug' : 'eth,net,web3';
  const dir = await tempDir('geth-chain');
  const rulesFile = join(dir.path, 'rules.json');
  const dumped = await runToEnd(gethBinary(), ['--dev', 'dumpgenesis']);
  const rules = dumped.split('\n').find((line) => line.startsWith('{')) ?? '';
  if (forkAfter === undefined) await writeFile(rulesFile, rules);
  const forkTime = Math.floor(Date.now() / 1_000) + (forkAfter ?? 0);
  const rulesOfFork =
    forkAfter === undefined ? undefined : await initForking(dir.path, rules, rulesFile, forkTime);
  const running = start(gethBinary(), [
    ...['--dev', '--datadir', dir.path],
    ...quiet,
    ...['--http', '--http.addr', '127.0.0.1', '--http.port', '0', '--http.api', api],
    ...['--ws', '--ws.addr', '127.0.0.1', '--ws.port', '0', '--ws.api', api],
  ]);
  const url = await orReport(running, boundTo(running, false));
  const ws = await orReport(
    running,
    until(
      "geth's websocket port",
      () => /WebSocket enabled\s+url=(ws:\S+:[1-9]\d*)/.exec(running.output())?.[1],
    ),
  );
  await until('geth --dev to answer', () => request(url, 'eth_blockNumber').catch(() => undefined));
  return {
    name: 'geth',
    url,
    ws,
    rulesFile,
    rulesOfFork,
    traits: {
      ...{ chainId: devChainId, funder: owner },
      // Sidecars have another form from the fork on.
      ...{ blobs: forkAfter === undefined, requests: true, deposits: false, unprotected: false },
    },
    readNonces: noncesFrom(url),
    mine: async ({ transactions }) => waitMined(url, await submit(url, transactions)),
    async [Symbol.asyncDispose]() {
      await running.stop();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/** Also what a call gets that names no limit: our own cap, so that GAS reads the same. */
const anvilGasLimit = 50_000_000;

/** Anvil has no genesis file to give; these are the rules it was started with. */
const anvilRules = {
  config: {
    chainId: 31337,
    ...Object.fromEntries(
      'homestead eip150 eip155 eip158 byzantium constantinople petersburg istanbul muirGlacier berlin london'
        .split(' ')
        .map((fork) => [`${fork}Block`, 0]),
    ),
    ...{ terminalTotalDifficulty: 0, shanghaiTime: 0, cancunTime: 0, pragueTime: 0 },
    blobSchedule: {
      cancun: { target: 3, max: 6, baseFeeUpdateFraction: 3338477 },
      prague: { target: 6, max: 9, baseFeeUpdateFraction: 5007716 },
    },
  },
  ...{ difficulty: '0x0', gasLimit: `0x${anvilGasLimit.toString(16)}`, alloc: {} },
};

async function startAnvilChain({ fast = false }: ChainForm): Promise<WorkloadChain> {
  const dir = await tempDir('anvil-chain');
  const rulesFile = join(dir.path, 'rules.json');
  await writeFile(rulesFile, JSON.stringify(anvilRules));
  const anvil = await startAnvil([
    '--no-mining',
    '--hardfork',
    'prague',
    '--order',
    'fifo',
    '--gas-limit',
    String(anvilGasLimit),
  ]);
  const { url } = anvil;
  const still = new Stillness();
  const proxy = await startStillProxy(url.replace('http', 'ws'), still);
  let mined = 0;
  return {
    name: 'anvil',
    url,
    ws: proxy.url,
    still,
    rulesFile,
    // With blobs in a block, the transactions root in its header counts their sidecars in.
    serveOptions: ['--odd-transactions-roots'],
    traits: {
      ...{ chainId: 31337, funder: opFunder },
      ...{ blobs: true, requests: true, deposits: false, unprotected: false },
    },
    readNonces: noncesFrom(url),
    async mine({ transactions }) {
      const hashes = await submit(url, transactions);
      // Anvil permits blocks with the timestamp of their parent.
      const seconds = mined++ % BLOCKS_PER_SECOND === 0 ? 1 : 0;
      if (fast) await request(url, 'anvil_setBlockTimestampInterval', [seconds]);
      await still.mine(() => request(url, 'evm_mine'));
      await waitMined(url, hashes);
    },
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]();
      await anvil.stop();
      await dir[Symbol.asyncDispose]();
    },
  };
}

/** Rules of the OP stack as they were before its newest fork. */
async function writeOlderRules(genesisFile: string): Promise<string> {
  const { config, ...genesis } = JSON.parse(await readFile(genesisFile, 'utf8')) as { config: object };
  const { jovianTime: _, ...before } = config as { jovianTime?: number };
  const file = `${genesisFile}.older`;
  await writeFile(file, JSON.stringify({ ...genesis, config: before }));
  return file;
}

async function startOpGethChain(form: ChainForm): Promise<WorkloadChain> {
  const { fast = false, debug = false, forkAfter } = form;
  const node = await startOpGeth({ debug });
  const sequencer = await OpSequencer.on(node);
  const { url } = node;
  // While a branch grows, its tip is not what the node calls latest.
  let tip: unknown = 'latest';
  const check = async (hash: Hex, { transactions }: WorkloadBlock): Promise<void> => {
    const mined = await request<{ transactions: readonly Hex[] }>(url, 'eth_getBlockByHash', [hash, false]);
    const lost = transactions.find((raw) => !mined.transactions.includes(keccak256(raw)));
    if (lost !== undefined) throw new Error(`left out: ${lost.slice(0, 400)}`);
  };
  const millisecondsOf = (number: number): number =>
    (1_000 / BLOCKS_PER_SECOND) * (number % BLOCKS_PER_SECOND);
  // op-geth refuses a block with the timestamp of its parent: the next possible one is a second later.
  const inputs = (block: WorkloadBlock, parent: SequencedBlock): BlockInputs => {
    if (!fast) return block;
    const number = parent.number + 1;
    const deposit = baseTimeDeposit(millisecondsOf(number), keccak256(toHex(`base time ${number}`)));
    return { ...block, deposits: [deposit, ...block.deposits], timestamp: parent.timestamp + 1 };
  };
  return {
    name: 'op-geth',
    ...(fast && { millisecondsOf }),
    url,
    ws: node.ws,
    // It has been in force from the start: our node finds out when it refuses a block, as op-geth has no eth_config.
    rulesFile: forkAfter === undefined ? node.genesisFile : await writeOlderRules(node.genesisFile),
    ...(forkAfter !== undefined && { serveOptions: ['--refused-after', '2s'] }),
    traits: {
      ...{ chainId: opChainId, funder: opFunder },
      ...{ blobs: false, requests: false, deposits: true, unprotected: true },
    },
    readNonces: noncesFrom(url, () => tip),
    async mine(block) {
      const { number, hash } = await sequencer.seal(inputs(block, sequencer.head));
      if (number % 4 === 0) await sequencer.setSafe(Math.max(0, number - 8));
      if (number % 8 === 0) await sequencer.setFinalized(Math.max(0, number - 40));
      await check(hash, block);
    },
    async reorg(depth, next) {
      try {
        await sequencer.reorg(depth, async (_, parent) => {
          tip = { blockHash: parent.hash };
          return inputs(await next(), parent);
        });
      } finally {
        tip = 'latest';
      }
    },
    [Symbol.asyncDispose]: node.stop,
  };
}

const starters: Readonly<Record<ChainName, (form: ChainForm) => Promise<WorkloadChain>>> = {
  geth: startGethChain,
  anvil: startAnvilChain,
  'op-geth': startOpGethChain,
};

export function startChain(name: ChainName, form: ChainForm = {}): Promise<WorkloadChain> {
  return starters[name](form);
}
