import { setTimeout as pause } from 'node:timers/promises';
import { encodeFunctionData, type Hex } from 'viem';
import type { PreconfirmedRig } from '../preconfirmed/rig.ts';
import { Asker, answersIn } from '../preconfirmed/scenarios/asking.ts';
import type { ServedNode } from '../preconfirmed/served-node.ts';
import { Random } from '../support/random.ts';
import type { Call } from '../support/servers/rpc-client.ts';
import { workloadContracts } from '../support/workload/contracts.ts';

/** Each asks over a connection of its own, which is one serving thread's. */
const readers = 4;
const restMs = 20;
const hex = (value: number): Hex => `0x${value.toString(16)}`;

/** Asks for all kinds of state, of the newest blocks and of old ones, for as long as it lives. */
export class Readers implements AsyncDisposable {
  readonly #rig: PreconfirmedRig;
  readonly #lowest: number;
  readonly #askers: readonly Asker[];
  readonly #working: Promise<unknown>;
  #isOver = false;
  answers = 0;
  errors = 0;
  /** The first few of them. */
  readonly problems: string[] = [];

  constructor(rig: PreconfirmedRig, node: ServedNode, seed: number) {
    this.#rig = rig;
    this.#lowest = rig.sequencer.head.number;
    this.#askers = Array.from({ length: readers }, () => new Asker(node.url));
    this.#working = Promise.all(
      this.#askers.map((asker, at) => this.#work(asker, new Random(seed ^ 0x5bd1e995, at))),
    );
    // Told when it ends.
    this.#working.catch(() => {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#working.finally(() => {
      for (const asker of this.#askers) asker[Symbol.dispose]();
    });
  }

  async #work(asker: Asker, random: Random): Promise<void> {
    while (!this.#isOver) {
      const calls = this.#calls(random);
      const body = JSON.stringify(calls.map((call, id) => ({ jsonrpc: '2.0', id, ...call })));
      const { body: text } = await asker.ask(body);
      for (const [at, answer] of answersIn(text).entries()) {
        this.answers += 1;
        if (!('error' in answer)) continue;
        this.errors += 1;
        if (this.problems.length < 5)
          this.problems.push(`${JSON.stringify(calls[at])}: ${JSON.stringify(answer.error)}`);
      }
      await pause(restMs);
    }
  }

  #calls(random: Random): readonly Call[] {
    const { workload, sequencer } = this.#rig;
    const old = hex(random.between(this.#lowest, Math.max(this.#lowest, sequencer.head.number - 8)));
    const { abi } = workloadContracts().Workshop;
    const to = workload.addressOf('Workshop');
    const data = encodeFunctionData({ abi, functionName: 'view_', args: [BigInt(random.below(8))] });
    const { address, slot } = random.pick(workload.catalogue.filled);
    const sender = random.pick(workload.senders).address;
    return [
      { method: 'eth_call', params: [{ to, data }, 'pending'] },
      { method: 'eth_call', params: [{ to, data }, 'latest'] },
      { method: 'eth_call', params: [{ to, data }, old] },
      { method: 'eth_getTransactionCount', params: [sender, 'pending'] },
      { method: 'eth_getTransactionCount', params: [sender, old] },
      { method: 'eth_getStorageAt', params: [address, slot, 'pending'] },
      { method: 'eth_getStorageAt', params: [address, slot, old] },
      { method: 'eth_getBlockReceipts', params: ['pending'] },
      { method: 'eth_getBlockReceipts', params: [old] },
      { method: 'eth_getLogs', params: [{ fromBlock: 'latest', toBlock: 'pending' }] },
      { method: 'eth_getLogs', params: [{ fromBlock: old, toBlock: old }] },
    ];
  }
}
