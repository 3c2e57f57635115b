import type { Log } from '../../chain/log.ts';
import { renderLog } from '../../head/json.ts';
import { type Hex, ZERO_HASH } from '../../primitives/hex.ts';
import type { BlockLogs } from '../../store/interface.ts';
import { SharedNotification } from '../notification.ts';
import type { LogChange, LogRun } from './log-run.ts';

const NOT_REMOVED = 'false}';

/** One log that is added or taken back. Its JSON is made once, whoever it is for. */
export class LogMessage {
  readonly log: Log;
  readonly number: number;
  readonly index: number;
  readonly removed: boolean;
  readonly since: number;
  readonly #hashedFrom: number;
  readonly #block: BlockLogs;
  #hashed: SharedNotification | undefined;
  #hashless: SharedNotification | undefined;

  constructor({ block, since, hashedFrom }: LogRun, index: number, removed: boolean) {
    this.log = block.log(index);
    this.number = block.number;
    this.index = index;
    this.removed = removed;
    this.since = since;
    this.#hashedFrom = hashedFrom;
    this.#block = block;
  }

  /** The log for a client that is live since a position: as it was told of it, or would have been. */
  json(liveSince: number): string {
    return this.#for(liveSince).result;
  }

  /** The whole message. */
  message(id: Hex, liveSince: number): Buffer {
    return this.#for(liveSince).to(id);
  }

  #for(liveSince: number): SharedNotification {
    if (liveSince >= this.#hashedFrom) {
      this.#hashed ??= new SharedNotification(this.#render(this.#block));
      return this.#hashed;
    }
    this.#hashless ??= new SharedNotification(this.#render(hashless(this.#block)));
    return this.#hashless;
  }

  #render(block: BlockLogs): string {
    const text = renderLog(block, this.index, this.log);
    return this.removed ? `${text.slice(0, -NOT_REMOVED.length)}true}` : text;
  }
}

/** All messages of a change in the order they are sent. */
export function messagesOf({ removed, added }: LogChange): readonly LogMessage[] {
  const messages: LogMessage[] = [];
  for (const run of removed) {
    for (let index = endOf(run) - 1; index >= run.first; index--)
      messages.push(new LogMessage(run, index, true));
  }
  for (const run of added) {
    for (let index = run.first; index < endOf(run); index++) messages.push(new LogMessage(run, index, false));
  }
  return messages;
}

function endOf({ block, end }: LogRun): number {
  return Math.min(end, block.length);
}

/** The same logs, of a block that has no hash yet. */
export function hashless(block: BlockLogs): BlockLogs {
  if (block.hash === ZERO_HASH) return block;
  return {
    number: block.number,
    hash: ZERO_HASH,
    timestamp: block.timestamp,
    timestampMs: block.timestampMs,
    length: block.length,
    log: (index) => block.log(index),
    transactionHash: (index) => block.transactionHash(index),
  };
}
