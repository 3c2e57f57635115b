import { InvalidProofError } from '../../executor/errors.ts';
import { checkProof, type HeaderInfo, readHeader } from '../../executor/native-executor.ts';
import type { ProofRequest } from '../../executor/tries/state-tries.ts';
import { partsAt } from '../../head/block-answers.ts';
import { parseBlockSelector } from '../../primitives/block-selector.ts';
import { InvalidParamsError, StateUnavailableError } from '../../primitives/errors.ts';
import { fromHex, type Hex } from '../../primitives/hex.ts';
import { Pace } from '../../primitives/pace.ts';
import { parseAddress, parseArray, parseString } from '../../primitives/parse.ts';
import { MethodError } from '../errors.ts';
import type { Method, MethodContext, RawJson } from '../method.ts';
import { anySlot } from '../param-schemas.ts';
import {
  addressParam,
  addressSchema,
  blockParam,
  bytesSchema,
  hashSchema,
  quantitySchema,
} from '../schemas.ts';
import { parseSlot } from './storage-key.ts';

const MAX_SLOTS = 1_024;
const nodesSchema = { type: 'array', items: bytesSchema } as const;

export const ethGetProof: Method = {
  name: 'eth_getProof',
  summary: 'An account and some of its slots, with proofs against the state root of a block (EIP-1186).',
  rules: ['B2', 'B5', 'B12'],
  cost: 20,
  source: 'served here where the state is complete, else asked of an upstream and checked',
  params: [
    addressParam,
    {
      name: 'slots',
      required: true,
      description: 'Each at most 32 bytes of hex.',
      schema: { type: 'array', maxItems: MAX_SLOTS, items: anySlot },
    },
    blockParam,
  ],
  result: {
    name: 'proof',
    description:
      'From the state where that is complete and has no more than `--trie-keys` keys, else from an upstream and checked here before it is passed on. A pre-confirmed block has no state root, and no proofs.',
    schema: {
      type: 'object',
      required: ['address', 'accountProof', 'balance', 'codeHash', 'nonce', 'storageHash', 'storageProof'],
      properties: {
        address: addressSchema,
        accountProof: nodesSchema,
        balance: quantitySchema,
        codeHash: hashSchema,
        nonce: quantitySchema,
        storageHash: hashSchema,
        storageProof: {
          type: 'array',
          items: {
            type: 'object',
            properties: { key: { type: 'string' }, value: quantitySchema, proof: nodesSchema },
          },
        },
      },
    },
  },
  async handle(params, context) {
    const address = parseAddress(params[0], 'invalid argument 0');
    const given = parseArray(params[1], 'invalid argument 1').map((key) =>
      parseString(key, 'invalid argument 1'),
    );
    if (given.length > MAX_SLOTS) throw new InvalidParamsError(`too many slots, at most ${MAX_SLOTS}`);
    const slots = given.map(parseSlot);
    const keys = given.map((key, at) => keyText(key, slots[at]));
    const block = await provenBlock(params[2], context);
    const request = { address, slots, keys };
    const own = await context.settings.services.prover.prove(block, request, context);
    return own ?? (await askedProof(block, request, context));
  },
};

/** The block that a selector names, by a header that its hash proves. */
async function provenBlock(selector: unknown, { snapshot }: MethodContext): Promise<HeaderInfo> {
  const parsed = parseBlockSelector(selector, 'invalid argument 2');
  const parts = (await partsAt(snapshot, parsed)) ?? snapshot.notFound(parsed);
  if (!parts.isSealed) throw new StateUnavailableError('a pre-confirmed block has no state root');
  return readHeader(await parts.header());
}

/** A key as geth writes it: in full where it was given in full (the last zero in front aside), else as a quantity. */
function keyText(given: string, slot: Hex = '0x'): string {
  return given.replace(/^0x/i, '').length >= 63 ? slot : `0x${BigInt(slot).toString(16)}`;
}

/** What an upstream proves, once it holds against the header. */
async function askedProof(
  block: HeaderInfo,
  { address, slots, keys }: ProofRequest,
  context: MethodContext,
): Promise<RawJson> {
  const params = [address, slots, { blockHash: block.hash }];
  const { passOn } = context.settings.services;
  context.budget.takeValues(slots.length + 1);
  const answer = await passOn(
    { kind: 'request', method: 'eth_getProof', params, keys: slots.length },
    context,
  );
  if (answer.kind === 'error') throw new StateUnavailableError('no upstream gave a proof');
  // Each is as long as a few megabytes make it: several that come at once must not be one turn.
  const pace = new Pace();
  await pace.rest();
  if (context.isOver) throw new MethodError({ code: 'CANCELLED' });
  check(block, { address, slots }, answer.json);
  await pace.rest();
  context.namesUpstream();
  return render(address, keys, JSON.parse(answer.json) as UpstreamProof);
}

function check(
  { stateRoot }: HeaderInfo,
  { address, slots }: Pick<ProofRequest, 'address' | 'slots'>,
  proof: string,
): void {
  try {
    checkProof(stateRoot, fromHex(address), slots.map(fromHex), proof);
  } catch (error) {
    if (!(error instanceof InvalidProofError)) throw error;
    throw new StateUnavailableError('the proof of an upstream does not hold');
  }
}

function render(address: Hex, keys: readonly string[], proof: UpstreamProof): RawJson {
  const { balance, nonce, codeHash, storageHash, accountProof, storageProof } = proof;
  return JSON.stringify({
    ...{ address, accountProof, balance: quantity(balance), codeHash, nonce: quantity(nonce), storageHash },
    storageProof: storageProof.map(({ value, proof: nodes }, at) => ({
      key: keys[at],
      value: quantity(value),
      proof: nodes,
    })),
  });
}

/** As it is once it has been checked. */
interface UpstreamProof {
  readonly balance: Hex;
  readonly nonce: Hex;
  readonly codeHash: Hex;
  readonly storageHash: Hex;
  readonly accountProof: readonly Hex[];
  readonly storageProof: readonly { readonly value: Hex; readonly proof: readonly Hex[] }[];
}

function quantity(value: Hex): Hex {
  return `0x${BigInt(value).toString(16)}`;
}
