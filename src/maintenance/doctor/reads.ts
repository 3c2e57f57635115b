import { checkProof, type NativeExecutor, readHeader } from '../../executor/native-executor.ts';
import { fromHex, type Hex } from '../../primitives/hex.ts';
import {
  parseArray,
  parseBytes,
  parseHash,
  parseObject,
  parseQuantity,
  parseUint64,
  toQuantity,
} from '../../primitives/parse.ts';
import type { UpstreamHead } from '../../source/interface.ts';
import type { Upstream } from '../../source/pool/upstream.ts';
import { readHead, readObjects, shaped } from '../../source/reads/shape.ts';
import { failedWith, isTheirs, type Section, wordsOf } from './report.ts';

export interface ReadContext {
  readonly upstream: Upstream;
  readonly section: Section;
  readonly executor: NativeExecutor | undefined;
  readonly head: UpstreamHead;
  readonly verifyState: boolean;
  readonly signal: AbortSignal;
}

const ANY_ADDRESS: Hex = `0x${'0'.repeat(40)}`;
const ANY_SLOT: Hex = `0x${'0'.repeat(64)}`;
/** Blocks among which one with transactions is looked for. */
const SAMPLE = 16;
/** A copy is away for about as long when it is started again. */
const LEAST_STATE_SECONDS = 60;

/** Reads of blocks and state as following a chain makes them, each checked as it would be. */
export async function checkReads(context: ReadContext): Promise<void> {
  const { section, executor } = context;
  const sample = await section.attempt('blocks', () => chooseSample(context));
  if (sample === undefined) return;
  const block = await section.attempt('block by hash', () => checkBlock(context, sample));
  if (block === undefined) return;
  if (executor !== undefined) await checkReceipts(context, sample, executor, block.rlp);
  await checkState(context, sample);
  await checkDepth(context);
  await checkProofs(context, sample, block.stateRoot);
  await checkTrace(context, sample);
}

/** The fullest of the last blocks. */
async function chooseSample({ upstream, head, signal }: ReadContext): Promise<UpstreamHead> {
  const lowest = Math.max(0, head.number - SAMPLE + 1);
  const numbers = Array.from({ length: head.number - lowest + 1 }, (_, index) => lowest + index);
  const found = await headersAt(upstream, numbers, signal);
  const [fullest] = found.toSorted((a, b) => b.transactions - a.transactions);
  return fullest?.head ?? head;
}

interface SampleBlock {
  readonly rlp: Uint8Array;
  readonly stateRoot: Hex;
}

async function checkBlock(
  { upstream, section, executor, signal }: ReadContext,
  { number, hash }: UpstreamHead,
): Promise<SampleBlock> {
  const json = await upstream.request('eth_getBlockByHash', [hash, true], signal);
  const block = shaped(upstream, () => parseObject(json, 'block'));
  const count = shaped(upstream, () => parseArray(block['transactions'], 'transactions').length);
  if (executor === undefined) {
    const stateRoot = shaped(upstream, () => parseHash(block['stateRoot'], 'state root'));
    section.warn('block by hash', `block ${number} was read, not verified`, 'name its rules with --chain');
    return { rlp: new Uint8Array(), stateRoot };
  }
  const rlp = executor.blockFromJson(block);
  const header = readHeader(rlp);
  if (header.hash !== hash) {
    section.fail('block by hash', `asked for ${hash}, given ${header.hash}`, LIAR);
  } else section.ok('block by hash', `block ${number} verifies (transactions: ${count})`);
  return { rlp, stateRoot: header.stateRoot };
}

const LIAR = 'do not use this server: it gives what the chain does not say';

async function checkReceipts(
  { upstream, section, signal }: ReadContext,
  { number, hash }: UpstreamHead,
  executor: NativeExecutor,
  rlp: Uint8Array,
): Promise<void> {
  await section.attempt('receipts', async () => {
    try {
      const json = await upstream.request('eth_getBlockReceipts', [hash], signal);
      const receipts = shaped(upstream, () => readObjects(json, 'receipts'));
      const { logs } = executor.outcomeFromJson(rlp, receipts);
      section.ok('receipts', `those of block ${number} verify (logs: ${logs.length})`);
    } catch (error) {
      if (!failedWith(error, 'unsupported', 'refused')) throw error;
      section.warn(
        'receipts',
        `no eth_getBlockReceipts by hash: ${wordsOf(error)}`,
        'they are asked for one by one, which makes backfill slow: use a newer server',
      );
    }
  });
}

/** EIP-1898: state of one block and no other, however the server moves meanwhile. */
async function checkState({ upstream, section, signal }: ReadContext, { hash }: UpstreamHead): Promise<void> {
  const at = { blockHash: hash };
  await section.attempt(
    'state by block hash',
    async () => {
      const [nonce, balance, code, slot] = await Promise.all([
        upstream.request('eth_getTransactionCount', [ANY_ADDRESS, at], signal),
        upstream.request('eth_getBalance', [ANY_ADDRESS, at], signal),
        upstream.request('eth_getCode', [ANY_ADDRESS, at], signal),
        upstream.request('eth_getStorageAt', [ANY_ADDRESS, ANY_SLOT, at], signal),
      ]);
      shaped(upstream, () => {
        parseQuantity(nonce, 64, 'nonce');
        parseQuantity(balance, 256, 'balance');
        parseBytes(code, 'code');
        parseHash(slot, 'storage value');
      });
      section.ok('state by block hash', 'nonce, balance, code and storage');
    },
    { fix: 'use a server that reads state by block hash (EIP-1898): this one cannot be followed' },
  );
}

async function checkDepth({ upstream, section, head, signal }: ReadContext): Promise<void> {
  const hasState = async (number: number): Promise<boolean> => {
    const blockHash = await hashAt(upstream, number, signal);
    if (blockHash === undefined) return false;
    try {
      await upstream.request('eth_getBalance', [ANY_ADDRESS, { blockHash }], signal);
      return true;
    } catch (error) {
      if (failedWith(error, 'stateUnavailable', 'unknownBlock', 'refused', 'overloaded')) return false;
      throw error;
    }
  };
  const timeAt = async (number: number): Promise<number> => {
    const block = await upstream.request('eth_getBlockByNumber', [toQuantity(number), false], signal);
    return shaped(upstream, () => Number(parseUint64(parseObject(block, 'block')['timestamp'], 'timestamp')));
  };
  await section.attempt('depth of state', async () => {
    if (head.number <= 1)
      return section.ok('depth of state', `the chain has only ${head.number} blocks above its first`);
    if (await hasState(1)) return section.ok('depth of state', 'back to block 1: can be an --archive');
    const kept = await deepest(head.number - 1, (depth) => hasState(head.number - depth));
    if (kept === undefined) {
      return section.warn('depth of state', 'none, not even of its head', 'use a server that reads state');
    }
    const seconds = (await timeAt(head.number)) - (await timeAt(head.number - kept));
    const detail = `of the last ${kept} blocks, ${seconds} s`;
    if (seconds >= LEAST_STATE_SECONDS) return section.ok('depth of state', `${detail}; no archive`);
    return section.warn(
      'depth of state',
      detail,
      'a copy that was away for longer must re-anchor: use a server that keeps more states',
    );
  });
}

/** The largest depth, of those below `limit`, down to which something holds; undefined where it does not even at 0. */
async function deepest(
  limit: number,
  holds: (depth: number) => Promise<boolean>,
): Promise<number | undefined> {
  if (!(await holds(0))) return undefined;
  let [held, lost] = [0, limit];
  for (let step = 1; held + step < lost; step *= 2) {
    if (await holds(held + step)) held += step;
    else lost = held + step;
  }
  while (lost - held > 1) {
    const middle = Math.floor((held + lost) / 2);
    if (await holds(middle)) held = middle;
    else lost = middle;
  }
  return held;
}

async function checkProofs(
  { upstream, section, verifyState, signal }: ReadContext,
  { hash }: UpstreamHead,
  stateRoot: Hex,
): Promise<void> {
  try {
    const proof = await upstream.request(
      'eth_getProof',
      [ANY_ADDRESS, [ANY_SLOT], { blockHash: hash }],
      signal,
    );
    const checked = shaped(upstream, () => parseObject(proof, 'proof'));
    checkProof(stateRoot, fromHex(ANY_ADDRESS), [fromHex(ANY_SLOT)], checked);
    section.ok('eth_getProof', 'proves state: --verify-state can be used');
  } catch (error) {
    if (!isTheirs(error)) throw error;
    if (verifyState) {
      section.fail(
        'eth_getProof',
        wordsOf(error),
        'use a server that offers it, or leave --verify-state out',
      );
    } else section.ok('eth_getProof', `of no use, and only needed for --verify-state (${wordsOf(error)})`);
  }
}

async function checkTrace({ upstream, section, signal }: ReadContext, { hash }: UpstreamHead): Promise<void> {
  try {
    await upstream.request('debug_traceBlockByHash', [hash, { tracer: 'prestateTracer' }], signal);
    section.ok('prestate tracer', 'offered: state that a block needs comes in one answer');
  } catch (error) {
    if (!isTheirs(error)) throw error;
    section.ok('prestate tracer', `not offered, and not needed (${wordsOf(error)})`);
  }
}

/** The hash that an upstream has at a number; undefined when it has no such block. */
export async function hashAt(
  upstream: Upstream,
  number: number,
  signal: AbortSignal,
): Promise<Hex | undefined> {
  const block = await upstream.request('eth_getBlockByNumber', [toQuantity(number), false], signal);
  return block === null ? undefined : shaped(upstream, () => readHead(block).hash);
}

/** Headers with the hashes of their transactions. */
export async function headersAt(
  upstream: Upstream,
  numbers: readonly number[],
  signal: AbortSignal,
): Promise<readonly { readonly head: UpstreamHead; readonly transactions: number }[]> {
  const blocks = await Promise.all(
    numbers.map((number) => upstream.request('eth_getBlockByNumber', [toQuantity(number), false], signal)),
  );
  return shaped(upstream, () =>
    blocks
      .filter((block) => block !== null)
      .map((block) => ({
        head: readHead(block),
        transactions: parseArray((block as { transactions?: unknown }).transactions, 'transactions').length,
      })),
  );
}
