import { rawBlockOf, rawHeaderOf, rawReceiptsOf, rawTransactionOf } from '../../head/block-answers.ts';
import { HeadError } from '../../head/errors.ts';
import type { Snapshot } from '../../head/snapshot.ts';
import { andThen } from '../../primitives/awaitable.ts';
import { type BlockSelector, formatSelector, parseBlockSelector } from '../../primitives/block-selector.ts';
import type { Awaitable } from '../../primitives/hex.ts';
import { parseHashArgument } from '../../primitives/parse.ts';
import type { Method, ResultDoc } from '../method.ts';
import { bytesSchema, requiredBlockParam, transactionHashParam } from '../schemas.ts';

const bytes = (description: string): ResultDoc => ({ name: 'bytes', description, schema: bytesSchema });

export const debugGetRawHeader = getRaw({
  name: 'debug_getRawHeader',
  summary: 'The header of a block as RLP. Its hash is that of the block.',
  result: bytes('RLP. Of a pre-confirmed block it is as far as it is known.'),
  read: (snapshot, selector) => andThen(rawHeaderOf(snapshot, selector), quoted),
});

export const debugGetRawBlock = getRaw({
  name: 'debug_getRawBlock',
  summary: 'A block as RLP.',
  result: bytes('RLP. Of a pre-confirmed block it is as far as it is known.'),
  read: (snapshot, selector) => andThen(rawBlockOf(snapshot, selector), quoted),
});

export const debugGetRawReceipts = getRaw({
  name: 'debug_getRawReceipts',
  summary: 'The receipts of a block, each as the root of its header commits to it.',
  result: {
    name: 'receipts',
    description: 'Each in the form of EIP-2718.',
    schema: { type: 'array', items: bytesSchema },
  },
  read: (snapshot, selector) =>
    andThen(rawReceiptsOf(snapshot, selector), (receipts) => receipts && JSON.stringify(receipts)),
});

export const debugGetRawTransaction: Method = {
  name: 'debug_getRawTransaction',
  summary: 'A transaction, pre-confirmed or confirmed, as it was sent.',
  rules: ['B6', 'B9', 'B12'],
  dedicatedOnly: true,
  params: [transactionHashParam],
  result: bytes('In the form of EIP-2718; empty where there is none with this hash.'),
  handle(params, { snapshot }) {
    const hash = parseHashArgument(params[0], 'invalid argument 0');
    return andThen(rawTransactionOf(snapshot, hash), (raw) => `"${raw ?? '0x'}"`);
  },
};

interface Raw extends Pick<Method, 'name' | 'summary' | 'result'> {
  /** Its JSON, or undefined for a block that is not known. */
  read(snapshot: Snapshot, selector: BlockSelector): Awaitable<string | undefined>;
}

function getRaw({ name, summary, result, read }: Raw): Method {
  return {
    ...{ name, summary, result },
    rules: ['B5', 'B6', 'B9', 'B12'],
    cost: 2,
    dedicatedOnly: true,
    params: [requiredBlockParam],
    handle(params, { snapshot }) {
      const selector = parseBlockSelector(params[0], 'invalid argument 0');
      return andThen(read(snapshot, selector), (json) => {
        if (json === undefined)
          throw new HeadError({ code: 'BLOCK_NOT_FOUND', block: formatSelector(selector) });
        return json;
      });
    },
  };
}

function quoted(hex: string | undefined): string | undefined {
  return hex && `"${hex}"`;
}
