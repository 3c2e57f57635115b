import { join } from 'node:path';
import type { PreconfirmedRig } from '../preconfirmed/rig.ts';
import { type Gate, startGate } from '../support/proxies/gate.ts';
import { type FollowingNode, follow, total } from '../support/servers/our-node.ts';
import { tempDir, until } from '../support/servers/process.ts';

/** The test thinks for as long as it likes between two flashblocks, and others may use the machine. */
const patient = [
  ...['--flashblock-silence-ms', '60000', '--preconfirmed-timeout-ms', '20000'],
  ...['--at-least-wait-ms', '20000'],
];

/**
 * Two nodes of ours in a row. All that the second has is from the first, until that is killed:
 *
 *   op-geth, stream -> first -> second
 *                   -> gates ->
 */
export class Fleet implements AsyncDisposable {
  readonly first: FollowingNode;
  readonly second: FollowingNode;
  readonly #gates: readonly Gate[];
  readonly #resources: AsyncDisposableStack;

  private constructor(
    nodes: Pick<Fleet, 'first' | 'second'>,
    gates: readonly Gate[],
    resources: AsyncDisposableStack,
  ) {
    this.first = nodes.first;
    this.second = nodes.second;
    this.#gates = gates;
    this.#resources = resources;
  }

  static async start(rig: PreconfirmedRig): Promise<Fleet> {
    await using starting = new AsyncDisposableStack();
    const { path } = starting.use(await tempDir('two-nodes'));
    const serve = async (
      name: string,
      upstreams: readonly string[],
      streams: readonly string[],
    ): Promise<FollowingNode> =>
      starting.use(
        await follow({
          ...{ dataDir: join(path, name), upstreams, rules: rig.node.genesisFile },
          more: [...streams.flatMap((url) => ['--flashblocks', url]), ...patient],
        }),
      );
    const streams = rig.servers.map(({ url }) => url);
    const first = await serve('first', [rig.node.ws], streams);
    const [toChain, ...toStreams] = await Promise.all([rig.node.ws, ...streams].map(startGate));
    if (toChain === undefined) throw new Error('there is no gate');
    for (const gate of [toChain, ...toStreams]) starting.use(gate);
    const ws = first.url.replace('http', 'ws');
    // One that says nothing while it is closed could be of either kind.
    const raw = toStreams.map(({ url }) => `raw+${url}`);
    const second = await serve('second', [ws, toChain.url], [ws, ...raw]);
    const isSubscribed = async (): Promise<true | undefined> =>
      (await total(first, 'chain_query_subscriptions')) > 1 ? true : undefined;
    await until('the second node to subscribe to heads and flashblocks of the first', isSubscribed);
    await until('the first node to listen to all streams', () =>
      rig.servers.every(({ connected }) => connected > 0) ? true : undefined,
    );
    return new Fleet({ first, second }, [toChain, ...toStreams], starting.move());
  }

  /** Connections that went past the first node. */
  get passed(): number {
    return this.#gates.reduce((sum, { passed }) => sum + passed, 0);
  }

  /** Opens the way to the chain past the first node; the streams', which would be listened to rather, stay closed. */
  async openWay(): Promise<void> {
    const [toChain] = this.#gates;
    if (toChain === undefined) return;
    toChain.open = true;
    // As it tries less and less often while that is closed, this takes a while.
    const sign = `"upstream":"${toChain.url}","state":"subscribed"`;
    await until('the second node to watch the chain itself', () =>
      this.second.running.output().includes(sign) ? true : undefined,
    );
  }

  /** Opens all ways past the first node, and kills that. */
  async killFirst(): Promise<void> {
    for (const gate of this.#gates) gate.open = true;
    await this.first.kill();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resources.disposeAsync();
  }
}
