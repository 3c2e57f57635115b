import type { Outcome } from '../../../src/chain/outcome.ts';
import { NativeExecutor } from '../../../src/executor/native-executor.ts';
import { GENESIS_META } from '../../../src/follow/rules/genesis.ts';
import type { Pin } from '../../../src/store/interface.ts';
import { openLmdbStore } from '../../../src/store/lmdb/index.ts';
import { executeOfficialChain, HEAD, loadFrom, officialGenesis, roomyOptions } from '../serve/executor.ts';
import { emptyDiff, refOf } from '../store/contract-chain.ts';

/** A copy of the official chain that began at its anchor and was followed from there, with history below; what it had to pin. */
export async function makePartialCopy(
  path: string,
  { lowest, anchor }: { readonly lowest: number; readonly anchor: number },
): Promise<readonly Pin[]> {
  const outcomes = await executeOfficialChain();
  const outcome = (number: number): Outcome => outcomes[number] as Outcome;
  const store = await openLmdbStore({ path, mapSizeBytes: 2 ** 30, unsafeNoSync: true });
  const truth = loadFrom(outcomes);
  const { config, text } = officialGenesis();
  const pins: Pin[] = [];
  try {
    await store.setMeta(GENESIS_META, text);
    const first = { ...outcome(anchor), diff: emptyDiff, diffBytes: new Uint8Array(16) };
    await store.append([first], { partial: true });
    const executor = NativeExecutor.create(config, roomyOptions, { load: () => [] });
    executor.open(outcome(anchor).header);
    for (let number = anchor + 1; number <= HEAD; number++) {
      const needed: Pin[] = [];
      const executed = await executor.execute(outcome(number).block, async (keys, asOf) => {
        const values = await truth(keys, asOf, undefined);
        const known = store.loadState(keys, asOf);
        for (const [index, key] of keys.entries()) {
          const value = values[index];
          if (value !== undefined && known[index] === undefined) needed.push({ key, value });
        }
        return values;
      });
      pins.push(...needed);
      await store.append([executed], { pins: needed });
    }
    await store.prepend(outcomes.slice(lowest, anchor));
    await store.mark({ safe: refOf(outcome(anchor + 5)), finalized: refOf(outcome(anchor + 3)) });
  } finally {
    await store.close();
  }
  return pins;
}
