import type { CommandOptions } from '../../config/table.ts';
import { NativeExecutor } from '../../executor/native-executor.ts';
import { blockOptions } from '../../executor/options.ts';
import { parentHashOf } from '../../follow/blocks/header-links.ts';
import { rulesOfCopy } from '../../follow/rules/chain-rules.ts';
import type { StoreReader } from '../../store/interface.ts';
import { isBeingRestored } from '../../store/restoring.ts';
import { storeLoader } from '../../store/state-loader.ts';
import { SnapshotError } from './error.ts';
import { type Exported, exportSnapshot } from './export.ts';
import { SnapshotFolder } from './folder.ts';
import type { Manifest } from './manifest.ts';
import { openSource, openTarget } from './open.ts';
import { HeaderProver } from './prove.ts';
import { canRestore, manifestIn, type RestoreModules, restoreSnapshot } from './restore.ts';
import { readTexts } from './texts.ts';

type SnapshotOptions = CommandOptions<'snapshot'>;
/** What hears how far it has come, and can stop it. */
export type SnapshotModules = Pick<RestoreModules, 'signal' | 'onBlocks' | 'onKeys'>;

/** Writes a snapshot of a store into a folder, beside whoever writes to that store. */
export async function exportStore(options: SnapshotOptions, modules: SnapshotModules): Promise<Exported> {
  const source = await openSource(options);
  const { store } = source;
  try {
    if (await isBeingRestored(store))
      throw new SnapshotError('the store is not whole: its restore did not end');
    const rules = await rulesOfCopy(store, new SnapshotError('the store holds no chain'));
    const { chainId } = executorOf(rules, options, store);
    const folder = new SnapshotFolder(options.snapshot);
    return await exportSnapshot({ ...modules, store, folder, parentHashOf, chainId: String(chainId) });
  } finally {
    await source.close();
  }
}

/** Makes a store of a snapshot, or none: what is found wrong is not left to look like one. */
export async function restoreStore(options: SnapshotOptions, modules: SnapshotModules): Promise<Manifest> {
  const folder = new SnapshotFolder(options.snapshot);
  const manifest = await manifestIn(folder);
  const texts = await readTexts(manifest, folder);
  const said = { getMeta: (name: string) => texts.get(name), marks: () => manifest.marks };
  const rules = await rulesOfCopy(said, new SnapshotError('the snapshot holds no chain'));
  const isOwn = (store: StoreReader): Promise<boolean> => canRestore(store, manifest);
  const target = await openTarget(options, isOwn, modules.signal);
  try {
    const { store } = target;
    const executor = executorOf(rules, options, store);
    if (String(executor.chainId) !== manifest.chainId)
      throw new SnapshotError(
        `the snapshot says chain ${manifest.chainId}, its rules are of chain ${executor.chainId}`,
      );
    await restoreSnapshot(manifest, { ...modules, folder, store, prover: new HeaderProver(executor) });
  } catch (error) {
    // Whoever stopped it may go on; a snapshot that is wrong stays so.
    await (modules.signal.aborted ? target.leave() : target.discard());
    throw error;
  }
  await target.complete();
  return manifest;
}

function executorOf(rules: string, options: SnapshotOptions, store: StoreReader): NativeExecutor {
  return NativeExecutor.create(rules, blockOptions(options), { load: storeLoader(store) });
}
