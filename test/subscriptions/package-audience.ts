import type { Checks } from '../support/checks.ts';
import { Random } from '../support/random.ts';
import { compareWithUpstream, earlyClients, ourLogs, settleMs } from './audience.ts';
import type { LogClientTotals } from './log-client.ts';
import { PackageClient } from './package-client.ts';
import { ReadPool } from './reading.ts';
import type { Show } from './show.ts';

/** The clients of the test, with `packages/client` in place of our own: logs only, and through a restart of the node too. */
export class PackageAudience implements AsyncDisposable {
  readonly #show: Show;
  readonly #checks: Checks;
  readonly #reads: ReadPool;
  readonly #clients: PackageClient[] = [];
  readonly #totals: LogClientTotals = {
    ...{ messages: 0, removed: 0, disconnects: 0, resumes: 0, resumesInside: 0, burstCuts: 0 },
  };
  #compared = 0;
  #restarts = 0;

  private constructor(show: Show, checks: Checks) {
    this.#show = show;
    this.#checks = checks;
    this.#reads = new ReadPool([show.node.url, show.node.publicUrl]);
  }

  /** Nothing may happen meanwhile. */
  static async start(show: Show, seed: number, checks: Checks): Promise<PackageAudience> {
    const audience = new PackageAudience(show, checks);
    const { head } = await show.moment();
    // Without a first block, the package begins with the one after the head.
    for (const options of earlyClients(show, head.number + 1)) {
      const random = new Random(seed ^ 0x4cf5ad43, audience.#clients.length);
      const client = new PackageClient(
        options,
        { reads: audience.#reads, random, lowest: show.lowest },
        audience.#totals,
      );
      await client.begin();
      audience.#clients.push(client);
    }
    return audience;
  }

  /** Cuts some off at a random moment. */
  disturb(random: Random, share: number): void {
    for (const client of this.#clients) if (client.options.breaks > 0 && random.chance(share)) client.cut();
  }

  /** Kills the node without warning, and starts it again. */
  async restart(): Promise<void> {
    for (const client of this.#clients) client.isReading = false;
    await this.#show.restart();
    for (const client of this.#clients) client.isReading = true;
    this.#restarts += 1;
  }

  /** Waits until everybody has been told everything, and compares. Nothing may happen meanwhile. */
  async settle(when: string): Promise<void> {
    const show = this.#show;
    await Promise.all(
      this.#clients.map((client) => client.settle(() => ourLogs(show, client.options), settleMs)),
    );
    for (const { options, problems, held } of this.#clients) {
      const found = problems.splice(0);
      this.#checks.check(`${when}: ${options.name} holds what eth_getLogs gives`, found.length === 0, found);
      this.#compared += held.size;
    }
  }

  async compareWithUpstream(): Promise<void> {
    await compareWithUpstream(this.#show, this.#clients, (what, problems) =>
      this.#checks.check(what, problems.length === 0, problems),
    );
  }

  /** That it was a test at all. */
  conclude(blocks: number): void {
    const { removed, disconnects, resumesInside, burstCuts } = this.#totals;
    const isEnough = removed > blocks && disconnects > blocks / 20 && resumesInside > 0 && burstCuts > 0;
    this.#checks.check('much was taken back and resumed', isEnough && this.#restarts > 0, this.figures());
    const { made, unavailable } = this.#reads.totals;
    this.#checks.check('reads are answered', unavailable * 20 <= made, `${unavailable} of ${made} are not`);
  }

  figures(): string {
    const { messages, removed, disconnects, resumes, resumesInside, burstCuts } = this.#totals;
    return (
      `${this.#clients.length} clients of the package: ${messages} events (${removed} retracted), ${disconnects} disconnects ` +
      `(${burstCuts} amid a burst), ${this.#restarts} restarts of the node, ${resumes} new connections (${resumesInside} with logs ` +
      `held); ${this.#compared} logs compared, ${this.#reads.totals.made} reads on receiving one`
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.end()));
    this.#reads[Symbol.dispose]();
  }
}
