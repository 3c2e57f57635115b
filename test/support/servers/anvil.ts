import { anvilBinary } from './paths.ts';
import { start, until } from './process.ts';

export interface Anvil extends AsyncDisposable {
  readonly url: string;
  stop(): Promise<void>;
}

/** A development chain of Foundry's; a peer to measure against, not an oracle. */
export async function startAnvil(args: readonly string[] = []): Promise<Anvil> {
  const running = start(anvilBinary(), ['--host', '127.0.0.1', '--port', '0', ...args]);
  try {
    const endpoint = await until('anvil to listen', () => /Listening on (\S+)/.exec(running.output())?.[1]);
    return { url: `http://${endpoint}`, stop: running.stop, [Symbol.asyncDispose]: running.stop };
  } catch (error) {
    await running.stop();
    throw error;
  }
}
