import type { BlockRef } from '../../chain/outcome.ts';
import { keyText, type StateKey } from '../../chain/state-key.ts';
import { InvalidProofError } from '../../executor/errors.ts';
import { codeHashOf } from '../../executor/missing.ts';
import { checkProof, keccak256, readHeader } from '../../executor/native-executor.ts';
import { StateUnavailableError } from '../../primitives/errors.ts';
import { type Hex, toHex } from '../../primitives/hex.ts';
import type { ChainSource, ReadOptions, UpstreamAnswer } from '../../source/interface.ts';
import { headerAt } from '../../store/canonical-header.ts';
import type { Store } from '../../store/interface.ts';
import { askUntilValid } from '../blocks/ask-until-valid.ts';
import { type StateReader, toUpstreamValue, type UpstreamValue } from './reader.ts';

export interface ProvenReaderModules {
  readonly source: Pick<ChainSource, 'state' | 'proof' | 'report'>;
  readonly store: Pick<Store, 'canonicalHash' | 'header' | 'loadState'>;
}

type StateOfAccount = Extract<StateKey, { kind: 'account' | 'slot' }>;

interface Place extends BlockRef {
  readonly stateRoot: Hex;
  readonly options: ReadOptions | undefined;
}

/** Takes only what a Merkle proof ties to the state root of a block that is held here, and names who lied. */
export function provenReader(modules: ProvenReaderModules): StateReader {
  return async (keys, at, options) => {
    const { stateRoot } = readHeader(await headerAt(modules.store, at.number));
    const place: Place = { ...at, stateRoot, options };
    const ofAccounts = keys.filter((key) => key.kind === 'account' || key.kind === 'slot');
    const groups = Map.groupBy(ofAccounts, ({ address }) => toHex(address)).values();
    const others = keys.filter((key) => key.kind === 'blockHash' || key.kind === 'code');
    const [reads, ...proven] = await Promise.all([
      modules.source.state(others, at.hash, options),
      ...[...groups].map((group) => proveAccount(modules, group, place)),
    ]);
    const fetched = new Map(proven.flatMap((values) => [...values]));
    for (const [index, read] of reads.entries()) {
      const key = others[index];
      if (key !== undefined) fetched.set(keyText(key), toUpstreamValue(read));
    }
    return keys.map((key) => fetched.get(keyText(key)) ?? { value: undefined, upstream: undefined });
  };
}

/** One account and some of its slots, by one proof. */
async function proveAccount(
  modules: ProvenReaderModules,
  keys: readonly StateOfAccount[],
  place: Place,
): Promise<Map<string, UpstreamValue>> {
  const { source } = modules;
  const address = keys[0]?.address ?? new Uint8Array();
  const slots = keys.filter((key) => key.kind === 'slot').map(({ slot }) => slot);
  return askUntilValid(source, {
    item: place.hash,
    ask: () => source.proof(address, slots, place.hash, place.options),
    read: async ({ value, upstream }) => {
      const [account, ...values] = checkProof(place.stateRoot, address, slots, value);
      const fetched = new Map<string, UpstreamValue>(
        slots.map((slot, index) => [
          keyText({ kind: 'slot', address, slot }),
          { value: values[index], upstream },
        ]),
      );
      if (keys.some(({ kind }) => kind === 'account')) {
        const code = await provenCode(modules, { address, account }, place);
        fetched.set(keyText({ kind: 'account', address }), { value: account, upstream, ...code });
      }
      return fetched;
    },
  });
}

/** The code of an account that is proven: its hash is the proof. */
async function provenCode(
  { source, store }: ProvenReaderModules,
  { address, account }: { readonly address: Uint8Array; readonly account: Uint8Array | undefined },
  place: Place,
): Promise<Pick<UpstreamValue, 'code'>> {
  const hash = codeHashOf(account);
  if (hash === undefined) return {};
  const [held] = await store.loadState([{ kind: 'code', hash }], place.number);
  if (held !== undefined) return { code: { hash, bytes: held } };
  const code = await askUntilValid(source, {
    item: place.hash,
    ask: () => readCode(source, address, place),
    read: ({ value: bytes }) => {
      if (Buffer.compare(keccak256(bytes), hash) === 0) return { hash, bytes };
      throw new InvalidProofError(`code: that of ${toHex(address)} does not hash to ${toHex(hash)}`);
    },
  });
  return { code };
}

async function readCode(
  source: ProvenReaderModules['source'],
  address: Uint8Array,
  place: Place,
): Promise<UpstreamAnswer<Uint8Array>> {
  const [read] = await source.state([{ kind: 'account', address }], place.hash, place.options);
  if (read?.kind === 'account') return { value: read.account.code, upstream: read.upstream };
  throw new StateUnavailableError(`no upstream has the account ${toHex(address)}`);
}
