import { setTimeout as pause } from 'node:timers/promises';
import { Asker, answersIn } from '../preconfirmed/scenarios/asking.ts';

const nobody = '0x00000000000000000000000000000000000000c2';
/** Loops until it has no gas left. */
const loop = '0x5b600056';
const gas = '0x7a120';
const calls = 12;
const restMs = 40;

/** Keeps one serving thread busy for some milliseconds, again and again: it is then behind the others. */
export class Burden implements AsyncDisposable {
  readonly #asker: Asker;
  readonly #working: Promise<void>;
  #isOver = false;
  batches = 0;

  constructor(url: string) {
    this.#asker = new Asker(url);
    this.#working = this.#work();
    // Told when it ends.
    this.#working.catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#working.finally(() => this.#asker[Symbol.dispose]());
  }

  async #work(): Promise<void> {
    const params = [{ to: nobody, gas }, 'latest', { [nobody]: { code: loop } }];
    const batch = Array.from({ length: calls }, (_, id) => ({
      jsonrpc: '2.0',
      id,
      method: 'eth_call',
      params,
    }));
    const body = JSON.stringify(batch);
    while (!this.#isOver) {
      const answers = answersIn((await this.#asker.ask(body)).body);
      if (!answers.every((answer) => 'error' in answer)) throw new Error('an endless call came to an end');
      this.batches += 1;
      await pause(restMs);
    }
  }
}
