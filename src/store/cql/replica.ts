import type { Outcome } from '../../chain/outcome.ts';
import type { Hex } from '../../primitives/hex.ts';
import { Turns } from '../../primitives/turns.ts';
import { catchUp, type Movement } from './catch-up.ts';
import { CQL_DEFAULTS, type CqlStoreOptions } from './options.ts';
import { type Position, readPosition, writePosition } from './position.ts';
import { CqlReader } from './reader.ts';
import { digestOf, type Root, readRoot } from './root.ts';
import { Session } from './session.ts';
import { steadyMs, View } from './view.ts';

/** Blocks that are kept until the root row names them. */
const MAX_OFFERED = 512;
/** Looks at the row that may wait for each other. */
const MAX_WAITING = 10_000;

const STAYED: Movement = { removed: [], added: [], isAnew: false };

/** Who offers blocks: a feed, which is believed where the root row has the digest of what it told, or a thread of this process. */
export type OfferedBy = 'feed' | 'thread';

/** Opens a store in CQL for reading: somebody else writes it. It shows nothing before it was told to look, or where. */
export async function openCqlReplica(
  options: CqlStoreOptions,
  offeredBy: OfferedBy = 'feed',
): Promise<CqlReplica> {
  const session = await Session.connect(options, { creates: false });
  const view = new View(options.viewMs ?? CQL_DEFAULTS.viewMs);
  return new CqlReplica(session, options.chain, view, offeredBy);
}

/**
 * A chain that somebody else writes, as of the last look at its root row. It answers from what it saw then, and not at all once that is
 * too long ago: rows that it would look for may be gone.
 */
export class CqlReplica extends CqlReader {
  readonly #session: Session;
  readonly #chain: string;
  readonly #view: View;
  readonly #offeredBy: OfferedBy;
  readonly #offered = new Map<Hex, Outcome>();
  readonly #turns = new Turns(MAX_WAITING);
  #at: Position | undefined;
  /** When its writer last showed a sign of life, as far as this has seen. */
  #writtenAt = steadyMs();

  constructor(session: Session, chain: string, view: View, offeredBy: OfferedBy) {
    super(session, chain, view);
    this.#offeredBy = offeredBy;
    this.#session = session;
    this.#chain = chain;
    this.#view = view;
  }

  /** Takes a block that somebody told of. It is used if the root row vouches for it, and saves reading it. */
  offer(outcome: Outcome): void {
    this.#offered.set(outcome.hash, outcome);
    for (const hash of this.#offered.keys()) {
      if (this.#offered.size <= MAX_OFFERED) break;
      this.#offered.delete(hash);
    }
  }

  /** Looks at the root row, and shows what it says once it resolves: how that differs from before. */
  sync(): Promise<Movement> {
    return this.#turns.take(async () => {
      const asked = steadyMs();
      const stored = await readRoot(this.#session, this.#chain, 'committed');
      return stored === undefined ? STAYED : this.#show({ ...stored, asked });
    });
  }

  /** Time since the root row was read. */
  get silentMs(): number {
    return this.#at === undefined ? Number.POSITIVE_INFINITY : steadyMs() - this.#at.asked;
  }

  /** Time since its writer changed it. */
  get unwrittenMs(): number {
    return steadyMs() - this.#writtenAt;
  }

  /** The epoch of its writer; undefined before the first look. */
  get epoch(): bigint | undefined {
    return this.#at?.epoch;
  }

  /** What is shown, for other threads to show the same. */
  position(): string | undefined {
    return this.#at && writePosition(this.#at);
  }

  /** Shows what another thread of this process does. */
  seek(position: string): Promise<Movement> {
    return this.#turns.take(() => this.#show(readPosition(position)));
  }

  /** Ends all connections. */
  async close(): Promise<void> {
    await this.#turns.take(() => this.#session.close());
  }

  #find(hash: Hex, root: Root): Outcome | undefined {
    const offered = this.#offered.get(hash);
    if (offered === undefined || this.#offeredBy === 'thread') return offered;
    return root.digest !== undefined && digestOf(offered) === root.digest ? offered : undefined;
  }

  async #show(position: Position): Promise<Movement> {
    const { epoch, seq, root, asked } = position;
    const seen = this.#at ?? { epoch: -1n, seq: -1n };
    const isOlder = epoch < seen.epoch || (epoch === seen.epoch && seq < seen.seq);
    // A server that is behind tells nothing new, and nothing of how things are now.
    if (isOlder) return STAYED;
    const isChanged = epoch !== seen.epoch || seq !== seen.seq;
    const isNew = root !== undefined && isChanged;
    const movement = isNew
      ? await catchUp(this.#session, this.#view, root, (hash) => this.#find(hash, root))
      : STAYED;
    for (const { hash } of movement.added) this.#offered.delete(hash);
    if (isChanged) this.#writtenAt = asked;
    this.#at = position;
    this.#view.confirm(asked);
    return movement;
  }
}
