import { type Hex, zeroHash } from 'viem';
import { headerHash } from '../lies/header-hash.ts';
import { listRoot } from '../lies/trie-root.ts';
import { beaconRoot, type Payload } from '../servers/op-sequencer.ts';
import type { BuiltFlashblock, FlashblockMessage } from './builder.ts';

/**
 * What builders say of a block that is not sealed: all of it; no state root, and the hash of the header with that zero
 * root (op-rbuilder); neither root nor hash (subblocks).
 */
export const forms = ['real', 'zeroRoot', 'allZero'] as const;

export type Form = (typeof forms)[number];

/** The form of this name, or each of them for `all`. */
export function formsNamed(name: string): readonly Form[] {
  const named = forms.filter((form) => name === 'all' || form === name);
  if (named.length === 0) throw new Error(`--form is one of ${forms.join(', ')}, all`);
  return named;
}

/** A flashblock as a builder of this form publishes it. */
export function inForm({ message, payload }: BuiltFlashblock, form: Form): FlashblockMessage {
  switch (form) {
    case 'real':
      return message;
    case 'zeroRoot': {
      const hashes = { state_root: zeroHash, block_hash: hashWithoutRoot(payload) };
      return { ...message, diff: { ...message.diff, ...hashes } };
    }
    case 'allZero': {
      const hashes = { state_root: zeroHash, block_hash: zeroHash, withdrawals_root: zeroHash };
      return { ...message, diff: { ...message.diff, ...hashes } };
    }
  }
}

const emptyUncles: Hex = '0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347';
/** SHA-256 of nothing: no requests. */
const emptyRequests: Hex = '0xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855';

function hashWithoutRoot(payload: Payload): Hex {
  const header = headerOf(payload);
  if (headerHash(header) !== payload.blockHash) throw new Error('op-geth hashes another header');
  return headerHash({ ...header, stateRoot: zeroHash });
}

/** The header of a payload, with the names that JSON-RPC has for its fields. */
export function headerOf(payload: Payload): Readonly<Record<string, unknown>> {
  const { stateRoot, receiptsRoot, logsBloom, gasLimit, gasUsed, extraData, baseFeePerGas } = payload;
  return {
    ...{ parentHash: payload.parentHash, sha3Uncles: emptyUncles, miner: payload['feeRecipient'] },
    ...{ stateRoot, transactionsRoot: listRoot(payload.transactions), receiptsRoot, logsBloom },
    ...{ difficulty: '0x0', number: payload.blockNumber, gasLimit, gasUsed, timestamp: payload.timestamp },
    ...{ extraData, mixHash: payload['prevRandao'], nonce: '0x0000000000000000', baseFeePerGas },
    ...{
      withdrawalsRoot: payload.withdrawalsRoot,
      blobGasUsed: payload['blobGasUsed'],
      excessBlobGas: '0x0',
    },
    ...{ parentBeaconBlockRoot: beaconRoot(Number(payload.timestamp)), requestsHash: emptyRequests },
  };
}
