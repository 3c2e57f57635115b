import { opGethBinary } from '../servers/paths.ts';
import { type Running, until } from '../servers/process.ts';
import { startProgram } from '../servers/serving.ts';

/** Where the one node listens that all tests of this suite ask. */
export interface DevPlaces {
  /** The public endpoint. */
  readonly url: string;
  readonly dedicatedUrl: string;
  /** Health and metrics. */
  readonly adminUrl: string;
  /** The chain's own client. */
  readonly chainUrl: string;
  readonly flashblocksUrl: string;
}

const listeners = ['--public', '--dedicated', '--admin', '--chain-rpc'];

/** `chain-query dev`, with every listener on a port of its own. */
export async function startDevNode(): Promise<{ readonly running: Running; readonly places: DevPlaces }> {
  const any = listeners.flatMap((flag) => [flag, '127.0.0.1:0']);
  const running = startProgram(['dev', ...any, '--op-geth', opGethBinary()]);
  const died = running.exited.then((code) => {
    throw new Error(`dev ended with ${code}: ${running.output()}`);
  });
  died.catch(() => {});
  const ready = until('its guide', () => (running.output().includes('Ctrl-C') ? true : undefined));
  await Promise.race([ready, died]);
  const place = (pattern: RegExp): string => pattern.exec(running.output())?.[1] ?? '';
  return {
    running,
    places: {
      url: place(/read +(http:\S+)/),
      dedicatedUrl: place(/(http:\S+) +the dedicated/),
      adminUrl: place(/(http:\S+) +\/readyz/),
      chainUrl: place(/send to +(http:\S+)/),
      flashblocksUrl: place(/flashblocks +(ws:\S+)/),
    },
  };
}
