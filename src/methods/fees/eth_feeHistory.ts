import type { BlockFees } from '../../executor/chain-facts.ts';
import { partsAt } from '../../head/block-answers.ts';
import type { FeeSample } from '../../head/fees.ts';
import type { Snapshot } from '../../head/snapshot.ts';
import { type BlockSelector, parseBlockBound } from '../../primitives/block-selector.ts';
import { InvalidParamsError } from '../../primitives/errors.ts';
import { Pace } from '../../primitives/pace.ts';
import { parseArray, toQuantity } from '../../primitives/parse.ts';
import { MethodError } from '../errors.ts';
import type { Method, MethodContext } from '../method.ts';
import { anyBound } from '../param-schemas.ts';
import { quantitySchema } from '../schemas.ts';

const MAX_PERCENTILES = 100;
const MAX_UINT64 = 0xffff_ffff_ffff_ffffn;
/** Hex or decimal, leading zeros or not. */
const COUNT = '^(0[xX]0*[0-9a-fA-F]{1,16}|0*[0-9]{1,19})?$';
/** The largest number of 64 bits that a JSON number is for JavaScript. */
const MAX_COUNT = 2 ** 64 - 2 ** 11;
const ratioSchema = { type: 'number', minimum: 0 } as const;

export const ethFeeHistory: Method = {
  name: 'eth_feeHistory',
  summary: 'Fees of a range of blocks, how full they were, and what their transactions tipped.',
  rules: ['B6', 'B12'],
  cost: 5,
  params: [
    {
      name: 'count',
      required: true,
      description: 'How many blocks, as a quantity or a number; no more than `--fee-history-blocks` count.',
      schema: {
        anyOf: [
          { type: 'string', pattern: COUNT },
          { type: 'integer', minimum: 0, maximum: MAX_COUNT },
        ],
      },
    },
    {
      name: 'newest',
      required: true,
      description: 'The last of them: hex number or tag.',
      schema: anyBound,
    },
    {
      name: 'percentiles',
      required: false,
      description: 'Ascending, from 0 to 100: of the gas of each block, by tip.',
      schema: {
        type: 'array',
        maxItems: MAX_PERCENTILES,
        items: { type: 'number', minimum: 0, maximum: 100 },
      },
    },
  ],
  result: {
    name: 'history',
    description:
      'Lists by block, the oldest first; those of base fees have one entry more, of the next block. `reward` of a block without transactions is zero.',
    schema: {
      type: 'object',
      required: ['oldestBlock', 'gasUsedRatio'],
      properties: {
        oldestBlock: quantitySchema,
        reward: { type: 'array', items: { type: 'array', items: quantitySchema } },
        baseFeePerGas: { type: 'array', items: quantitySchema },
        gasUsedRatio: { oneOf: [{ type: 'null' }, { type: 'array', items: ratioSchema }] },
        baseFeePerBlobGas: { type: 'array', items: quantitySchema },
        blobGasUsedRatio: { type: 'array', items: ratioSchema },
      },
    },
  },
  async handle(params, context) {
    const count = parseCount(params[0]);
    const newest = parseBlockBound(params[1], 'invalid argument 1');
    const percentiles = readPercentiles(params[2]);
    if (count === 0) return EMPTY;
    checkPercentiles(percentiles);
    const { snapshot, settings } = context;
    const last = await lastBlock(newest, snapshot);
    const wanted = Math.min(count, settings.maxFeeHistoryBlocks, last + 1);
    return render(await readBlocks(context, last, wanted, percentiles), last, percentiles.length > 0);
  },
};

/** As geth says that there is nothing. */
const EMPTY = '{"oldestBlock":"0x0","gasUsedRatio":null}';

/** A number of blocks in hex or decimal, or as a JSON number. */
function parseCount(value: unknown): number {
  const text = typeof value === 'number' ? String(value) : value;
  const isHex = typeof text === 'string' && /^0x[0-9a-f]+$/i.test(text);
  if (text === '') return 0;
  if (typeof text !== 'string' || !(isHex || /^[0-9]+$/.test(text)) || BigInt(text) > MAX_UINT64) {
    throw new InvalidParamsError('invalid argument 0: invalid hex or decimal integer');
  }
  // More than any chain has is no more than all.
  return Number(BigInt(text));
}

function readPercentiles(value: unknown): readonly number[] {
  if (value === undefined || value === null) return [];
  return parseArray(value, 'invalid argument 2').map((one) => {
    if (typeof one === 'number') return one;
    throw new InvalidParamsError('invalid argument 2: expected a list of numbers');
  });
}

function checkPercentiles(percentiles: readonly number[]): void {
  const refuse = (why: string): never => {
    throw new MethodError({ code: 'CALL_FAILED', reason: `invalid reward percentile: ${why}` });
  };
  if (percentiles.length > MAX_PERCENTILES) refuse(`over the query limit ${MAX_PERCENTILES}`);
  for (const [index, percentile] of percentiles.entries()) {
    if (!(percentile >= 0 && percentile <= 100)) refuse(percentile.toFixed(6));
    const before = percentiles[index - 1];
    if (before !== undefined && percentile <= before) {
      refuse(`#${index - 1}:${before.toFixed(6)} >= #${index}:${percentile.toFixed(6)}`);
    }
  }
}

/** The number of the last block that is wanted. */
async function lastBlock(selector: BlockSelector, snapshot: Snapshot): Promise<number> {
  const { head } = snapshot;
  if (selector.kind === 'number' && selector.number > head.number) {
    const reason = `request beyond head block: requested ${BigInt(selector.hex)}, head ${head.number}`;
    throw new MethodError({ code: 'CALL_FAILED', reason });
  }
  const parts = await partsAt(snapshot, selector);
  return parts?.number ?? snapshot.notFound(selector);
}

/** The fees of a block, and what was paid at each percentile as JSON. */
interface ReadBlock {
  readonly fees: BlockFees;
  readonly rewards: string;
}

/** The newest first; fewer where no more are held. What is long about it is done here, where others get their turn. */
async function readBlocks(
  { snapshot, settings, signal }: MethodContext,
  last: number,
  wanted: number,
  percentiles: readonly number[],
): Promise<readonly ReadBlock[]> {
  const { fees } = settings.services;
  const blocks: ReadBlock[] = [];
  const pace = new Pace();
  const withTips = percentiles.length > 0;
  for (let number = last; number > last - wanted; number--) {
    const only = withTips ? undefined : await fees.fees(snapshot, number);
    const sample = withTips ? await fees.sample(snapshot, number) : only && { fees: only, tips: [] };
    if (sample === undefined) break;
    const rewards = withTips ? JSON.stringify(rewardsOf(sample, percentiles)) : '';
    blocks.push({ fees: sample.fees, rewards });
    if (pace.spend(8 + sample.tips.length + percentiles.length)) {
      await pace.rest();
      if (signal.aborted) throw new MethodError({ code: 'CANCELLED' });
    }
  }
  return blocks;
}

function render(newestFirst: readonly ReadBlock[], last: number, withTips: boolean): string {
  const read = newestFirst.toReversed();
  const blocks = read.map(({ fees }) => fees);
  const newest = blocks.at(-1);
  const oldestBlock = toQuantity(last - blocks.length + 1);
  const rewards = withTips ? `"reward":[${read.map((block) => block.rewards).join()}],` : '';
  const rest = JSON.stringify({
    baseFeePerGas: [...blocks.map(({ baseFee }) => baseFee), newest?.nextBaseFee].map((fee) =>
      toQuantity(fee ?? 0n),
    ),
    gasUsedRatio: blocks.map(({ gasUsed, gasLimit }) => gasUsed / gasLimit),
    baseFeePerBlobGas: [...blocks.map(({ blobs }) => blobs?.fee), newest?.blobs?.nextFee].map((fee) =>
      toQuantity(fee ?? 0n),
    ),
    blobGasUsedRatio: blocks.map(blobRatio),
  });
  return `{"oldestBlock":"${oldestBlock}",${rewards}${rest.slice(1)}`;
}

function blobRatio({ blobs }: BlockFees): number {
  return blobs === undefined || blobs.maxGas === 0 ? 0 : blobs.gasUsed / blobs.maxGas;
}

/** For each percentile of the block's gas the tip that was paid there. */
function rewardsOf({ fees, tips }: FeeSample, percentiles: readonly number[]): readonly string[] {
  let at = 0;
  let gas = tips[0]?.gasUsed ?? 0;
  return percentiles.map((percentile) => {
    const threshold = Math.trunc((fees.gasUsed * percentile) / 100);
    while (gas < threshold && at < tips.length - 1) {
      at++;
      gas += tips[at]?.gasUsed ?? 0;
    }
    return toQuantity(tips[at]?.tip ?? 0n);
  });
}
