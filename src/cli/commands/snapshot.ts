import type { CommandOptions } from '../../config/table.ts';
import { exportStore, restoreStore, type SnapshotModules } from '../../maintenance/snapshot/snapshot.ts';
import type { CommandContext } from '../dispatch.ts';
import { printJson } from '../print.ts';
import { withStages } from '../progress.ts';

/** `chain-query snapshot export|restore`: a store as a folder of files, and back. */
export async function run(options: CommandOptions<'snapshot'>, context: CommandContext): Promise<void> {
  const { verb, signal, stdout, stderr } = context;
  const label = verb === 'export' ? 'export' : 'restore';
  const watched = <T>(work: (modules: SnapshotModules) => Promise<T>): Promise<T> =>
    withStages({ label, stream: stderr }, (onProgress) =>
      work({
        signal,
        onBlocks: (done, total) => onProgress('blocks', done, total),
        onKeys: (done) => onProgress('keys', done, undefined),
      }),
    );
  if (verb === 'export') {
    const { manifest, written } = await watched((modules) => exportStore(options, modules));
    const { marks, segments } = manifest;
    const { number, hash } = marks.head;
    const { lowest, head } = marks;
    if (options.json) return printJson(stdout, { lowest, head, segments: segments.length, written });
    stdout.write(
      `exported blocks ${marks.lowest.number} to ${number} ${hash} in ${segments.length} segments, ${written} of them new\n`,
    );
    return;
  }
  const { marks, partial } = await watched((modules) => restoreStore(options, modules));
  const { number, hash } = marks.head;
  const { lowest, head } = marks;
  if (options.json) return printJson(stdout, { lowest, head, stateProven: !partial });
  stdout.write(`restored blocks ${marks.lowest.number} to ${number} ${hash}\n`);
  if (partial)
    stdout.write('state not proven: the copy is partial. chain-query verify executes its blocks\n');
}
