import { opGethBinary } from '../support/servers/paths.ts';
import { type Running, until } from '../support/servers/process.ts';
import { startProgram } from '../support/servers/serving.ts';

/** `chain-query dev`, with every listener on a port of its own. */
export interface DevNode extends AsyncDisposable {
  readonly running: Running;
  /** The public endpoint. */
  readonly url: string;
  readonly dedicatedUrl: string;
  /** The chain's own client. */
  readonly chainUrl: string;
  readonly flashblocksUrl: string;
}

const listeners = ['--public', '--dedicated', '--admin', '--chain-rpc'];

export async function startDevNode(): Promise<DevNode> {
  const places = listeners.flatMap((flag) => [flag, '127.0.0.1:0']);
  const running = startProgram(['dev', ...places, '--op-geth', opGethBinary()]);
  const died = running.exited.then((code) => {
    throw new Error(`dev ended with ${code}: ${running.output()}`);
  });
  died.catch(() => {});
  const ready = until('its guide', () => (running.output().includes('Ctrl-C') ? true : undefined));
  await Promise.race([ready, died]);
  const place = (pattern: RegExp): string => pattern.exec(running.output())?.[1] ?? '';
  return {
    running,
    url: place(/read +(http:\S+)/),
    dedicatedUrl: place(/(http:\S+) +the dedicated/),
    chainUrl: place(/send to +(http:\S+)/),
    flashblocksUrl: place(/flashblocks +(ws:\S+)/),
    [Symbol.asyncDispose]: async () => {
      await running.stop();
    },
  };
}
