import { createInterface } from 'node:readline/promises';
import { urls } from '../config/parsers.ts';
import { UsageError } from '../config/usage-error.ts';
import type { CommandContext } from './dispatch.ts';

const TRIES = 3;

type Asking = Pick<CommandContext, 'stdin' | 'stderr' | 'signal'>;

/** Whether there is a person to ask. */
export function canAsk({ stdin, stderr }: Asking): boolean {
  return stderr.isTTY === true && stdin().isTTY === true;
}

/** Asks for the URL of an upstream; undefined when nothing is given. */
export async function askForUpstream(
  chain: string | undefined,
  context: Asking,
): Promise<string | undefined> {
  const { stdin, stderr, signal } = context;
  const of = chain === undefined ? 'the chain to follow' : chain;
  stderr.write(`A JSON-RPC server of ${of} is needed: your own node, or that of a provider.\n`);
  stderr.write('For example http://127.0.0.1:8555 or wss://HOST/v1/KEY. Enter alone cancels.\n');
  // Not as a terminal: Ctrl-C stays a signal.
  const lines = createInterface({ input: stdin(), terminal: false });
  const closed = new Promise<undefined>((resolve) => lines.once('close', () => resolve(undefined)));
  try {
    for (let left = TRIES; left > 0; left--) {
      stderr.write('Upstream URL: ');
      const answer = await Promise.race([lines.question('', { signal }), closed]);
      const url = answer?.trim() ?? '';
      if (url === '') return undefined;
      try {
        urls(url);
        return url;
      } catch (error) {
        if (!(error instanceof UsageError)) throw error;
        stderr.write(`That is not one: ${error.message}.\n`);
      }
    }
    return undefined;
  } catch (error) {
    // Aborted: whoever stopped it is the reason.
    signal.throwIfAborted();
    throw error;
  } finally {
    lines.close();
  }
}
