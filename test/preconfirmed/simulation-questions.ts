import { type Hex, keccak256, toFunctionSelector, toRlp, zeroHash } from 'viem';
import type { Corpus } from '../differential/corpus.ts';
import { asFields, type Fields } from '../differential/request-shape.ts';
import { simulatedCall, tellsTransfers } from '../differential/simulations/requests.ts';
import type { Random } from '../support/random.ts';
import { secondsPerBlock } from '../support/servers/op-sequencer.ts';
import type { Answer } from '../support/servers/rpc-client.ts';
import { type Question, type Reading, stateQuestion } from './question.ts';

/** All of these chains' blocks come under the newest rules. */
const newest = { selector: undefined, number: Number.MAX_SAFE_INTEGER };
const KEEPS_HASHES = new RegExp(toFunctionSelector('hashes(uint256)'));
const quantity = (value: number): Hex => `0x${value.toString(16)}`;

/** Some calls in some blocks; each block says its time, which is otherwise 12 s later in op-geth. */
export async function simulationQuestion(
  reading: Reading,
  random: Random,
  corpus: Corpus,
): Promise<Question> {
  const { tag, moment } = reading;
  const validation = random.chance(0.3);
  const blocks: Fields[] = [];
  const above = tag === 'pending' ? moment.stack.length : 0;
  let time = moment.head.timestamp + secondsPerBlock * above;
  for (let left = random.between(1, 3); left > 0; left -= 1) {
    time += random.pick([1, 2, 2, 12]);
    const calls: unknown[] = [];
    let stateOverrides = {};
    for (let more = random.between(1, 2); more > 0; more -= 1) {
      const made = await simulatedCall(random, corpus, newest, validation);
      // The block below may have no hash yet, and what it costs to keep one depends on it.
      if (tag === 'pending' && KEEPS_HASHES.test(JSON.stringify(made.call))) continue;
      calls.push(made.call);
      stateOverrides = { ...stateOverrides, ...made.accounts };
    }
    const blockOverrides = {
      time: quantity(time),
      ...(random.chance(0.2) ? { feeRecipient: random.pick(corpus.addresses) } : {}),
      ...(random.chance(0.2) ? { prevRandao: random.hex(32) } : {}),
      // op-geth finds no parameters of the base fee in a simulated block, and crashes.
      ...((validation && blocks.length > 0) || random.chance(0.1)
        ? { baseFeePerGas: quantity(random.below(100)) }
        : {}),
    };
    blocks.push({ blockOverrides, stateOverrides, calls });
  }
  const asked = {
    ...{ blockStateCalls: blocks, validation },
    ...{
      traceTransfers: random.chance(0.4) && tellsTransfers(blocks),
      returnFullTransactions: random.chance(0.4),
    },
  };
  const payload: unknown = JSON.parse(JSON.stringify(asked));
  return stateQuestion('call', 'eth_simulateV1', reading, (block) => [payload, block]);
}

/** Bytes of a number in RLP. */
function encodedLength(value: number): number {
  return value < 0x80 ? 1 : 1 + Math.ceil(value.toString(16).length / 2);
}

/**
 * A simulated block of op-geth as ours is: it leaves out the parameters of the base fee, which a header has from Holocene on, and counts the
 * data of calls, which ours sends nowhere. Where not all of the state is known, ours has no roots of it.
 */
function asOurs(block: Fields, own: Fields): Fields {
  const counted = Number(block['blobGasUsed']);
  const parameters = (String(own['extraData']).length - 2) / 2;
  const isPlain = block['extraData'] === '0x' && own['blobGasUsed'] === '0x0';
  if (own['stateRoot'] !== zeroHash || !isPlain) return block;
  return {
    ...block,
    ...{ stateRoot: zeroHash, withdrawalsRoot: zeroHash, blobGasUsed: '0x0', extraData: own['extraData'] },
    size: quantity(Number(block['size']) + parameters - encodedLength(counted) + 1),
  };
}

/** The fields of a header, in their order; the first are there in all of them. */
const HEADER: readonly string[] = [
  ...['parentHash', 'sha3Uncles', 'miner', 'stateRoot', 'transactionsRoot', 'receiptsRoot', 'logsBloom'],
  ...['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp', 'extraData', 'mixHash', 'nonce'],
  ...['baseFeePerGas', 'withdrawalsRoot', 'blobGasUsed', 'excessBlobGas', 'parentBeaconBlockRoot'],
  'requestsHash',
];
const NUMBERS: ReadonlySet<string> = new Set([
  ...['difficulty', 'number', 'gasLimit', 'gasUsed', 'timestamp', 'baseFeePerGas', 'blobGasUsed'],
  'excessBlobGas',
]);

/** The hash that a block has by what it says of itself. */
function hashOf(block: Fields): Hex {
  const fields = HEADER.filter((name) => block[name] !== undefined);
  const bytes = fields.map((name): Hex => {
    const value = String(block[name]) as Hex;
    if (!NUMBERS.has(name)) return value;
    const digits = BigInt(value) === 0n ? '' : BigInt(value).toString(16);
    return `0x${digits.length % 2 === 0 ? '' : '0'}${digits}`;
  });
  return keccak256(toRlp(bytes));
}

/** Simulated blocks of op-geth as ours are, with the hashes that this gives them: where a block is named it must be by its own. */
export function unrooted(expected: Answer, ours: Answer): Answer {
  if ('error' in expected || 'error' in ours) return expected;
  if (!Array.isArray(expected.result) || !Array.isArray(ours.result)) return expected;
  const own = ours.result.map((block) => asFields(block) ?? {});
  // All of them are the parameters of the block that they begin at.
  if (new Set(own.map((block) => block['extraData'])).size !== 1) return expected;
  if (own.some((block) => block['hash'] !== hashOf(block))) return expected;
  const renamed = new Map<string, string>();
  const [first] = expected.result as readonly Fields[];
  // A pre-confirmed block may have no hash yet.
  if (own[0]?.['parentHash'] === zeroHash) renamed.set(String(first?.['parentHash']), zeroHash);
  const blocks = expected.result.map((block: Fields, at) => {
    renamed.set(String(block['hash']), String(own[at]?.['hash']));
    return asOurs(block, own[at] ?? {});
  });
  const text = JSON.stringify(blocks).replaceAll(/0x[0-9a-f]{64}/g, (hash) => renamed.get(hash) ?? hash);
  return { result: JSON.parse(text) };
}
