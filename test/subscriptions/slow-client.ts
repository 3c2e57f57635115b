import { Metrics } from '../preconfirmed/scenarios/effects.ts';
import type { ServedNode } from '../preconfirmed/served-node.ts';
import { until } from '../support/servers/process.ts';
import { Connection } from './connection.ts';

interface Stream {
  readonly kind: string;
  readonly params: readonly unknown[];
  /** What it has brought to the one who reads. */
  readonly whole: string[];
  /** What each of several subscriptions has brought to the one who does not. */
  readonly copies: readonly string[][];
}

function stream(copies: number, kind: string, ...options: readonly unknown[]): Stream {
  const lists = Array.from({ length: copies }, (): string[] => []);
  return { kind, params: [kind, ...options], whole: [], copies: lists };
}

const counted = 'newFlashblockTransactions';
const slow = 4008;
const closeDeadlineMs = 30_000;

/** One that subscribes to everything, much of it many times, and stops reading; beside one that reads the same. */
export class SlowClient {
  readonly #node: ServedNode;
  readonly #fast: Connection;
  readonly #slow: Connection;
  // The first is what brings most, so that it would take gigabytes to keep all for it.
  readonly #streams = [
    stream(40, 'newFlashblocks'),
    stream(6, 'pendingLogs'),
    stream(6, 'logs'),
    stream(6, counted, true),
  ];

  private constructor(node: ServedNode, fast: Connection, reluctant: Connection) {
    this.#node = node;
    this.#fast = fast;
    this.#slow = reluctant;
  }

  /** Nothing may happen meanwhile, so that both are told the same. */
  static async start(node: ServedNode): Promise<SlowClient> {
    const fast = await Connection.open(node.publicUrl);
    const client = new SlowClient(node, fast, await Connection.open(node.url));
    for (const { params, whole, copies } of client.#streams) {
      await fast.subscribe(params, (result) => whole.push(JSON.stringify(result)));
      for (const copy of copies)
        await client.#slow.subscribe(params, (result) => copy.push(JSON.stringify(result)));
    }
    client.#slow.socket.pause();
    return client;
  }

  /** Whether our node has given it up; what is on its way to it then is read within the time to close. */
  async isGivenUp(): Promise<boolean> {
    // That of the one who reads is left alone.
    return (await Metrics.of(this.#node)).sum('subscriptions', `kind="${counted}"`) === 1;
  }

  /** Reads what waits for it; what is wrong with that, if anything is. */
  async judge(): Promise<{ readonly problems: readonly string[]; readonly messages: number }> {
    const problems: string[] = [];
    let messages = 0;
    let code: number | undefined;
    void this.#slow.closed.then((closed) => {
      code = closed;
    });
    this.#slow.socket.resume();
    await until('the slow client to be closed', () => code, closeDeadlineMs);
    if (code !== slow) problems.push(`it was closed with ${code}`);
    for (const { kind, whole, copies } of this.#streams) {
      const lengths = copies.map(({ length }) => length);
      const most = Math.max(...lengths);
      messages += lengths.reduce((sum, length) => sum + length, 0);
      // Each message goes to all of them in turn.
      if (most - Math.min(...lengths) > 1) problems.push(`${kind}: copies end apart: ${lengths.join()}`);
      const isThere = (): true | undefined => (whole.length >= most ? true : undefined);
      await until(`the fast client to have ${most} of ${kind}`, isThere, closeDeadlineMs);
      for (const copy of copies) {
        const wrong = copy.findIndex((text, at) => text !== whole[at]);
        if (wrong >= 0) problems.push(`${kind}: message ${wrong} was skipped or differs`);
      }
    }
    if (messages === 0) problems.push('it was told nothing');
    return { problems, messages };
  }

  end(): void {
    this.#fast.destroy();
    this.#slow.destroy();
  }
}
