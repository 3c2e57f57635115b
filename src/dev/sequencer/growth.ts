import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { DevChain } from '../chain.ts';
import { runSequencer } from './sequencer.ts';
import type { FlashblockStream } from './stream.ts';

/** A chain that grows. */
export interface Growth extends AsyncDisposable {
  /** Aborted, with the reason, when it cannot go on. */
  readonly failed: AbortSignal;
}

const END_MS = 500;

/** Has a chain grow, and tells the stream of it, until it is disposed of. */
export function grow(chain: DevChain, stream: FlashblockStream): Growth {
  const failure = new AbortController();
  const stopping = new AbortController();
  chain.failed.addEventListener('abort', () => failure.abort(chain.failed.reason), {
    signal: stopping.signal,
  });
  const running = runSequencer(chain, (message) => stream.publish(message), stopping.signal).catch(
    async (error: unknown) => {
      // Requests fail a moment before the end of the client is known, which says more.
      await pause(END_MS, undefined, { signal: failure.signal }).catch(() => {});
      failure.abort(error);
    },
  );
  return {
    failed: failure.signal,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await running;
    },
  };
}

/** A folder that is gone when it is disposed of, or the process ends. */
export function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'chain-query-dev-'));
  const remove = (): void => rmSync(path, { recursive: true, force: true, maxRetries: 5 });
  process.once('exit', remove);
  return {
    path,
    [Symbol.dispose]() {
      process.removeListener('exit', remove);
      remove();
    },
  };
}
