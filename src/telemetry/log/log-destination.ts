import { writeSync } from 'node:fs';

type Write = (fd: number, bytes: Uint8Array, offset: number) => number;

/** Tries for a reader that is about to make room. */
const MAX_TRIES = 3;

/**
 * Where a thread's log lines go, each whole and at once. One that cannot be written, because the disk is full or nobody
 * reads, is lost and counted: a log is no reason to stop serving, nor to hold lines in memory without end.
 */
export class LogDestination {
  readonly #fd: number;
  readonly #write: Write;
  /** A line was cut short: the next one starts a line of its own. */
  #isTorn = false;
  #lost = 0;

  constructor(fd: number, write: Write = writeSync) {
    this.#fd = fd;
    this.#write = write;
  }

  /** Lines that could not be written. */
  get lost(): number {
    return this.#lost;
  }

  write(line: string): void {
    const bytes = Buffer.from(this.#isTorn ? `\n${line}` : line);
    let written = 0;
    for (let tries = 0; written < bytes.length && tries < MAX_TRIES; tries++) {
      try {
        while (written < bytes.length) written += this.#write(this.#fd, bytes, written);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') break;
      }
    }
    if (written === bytes.length) this.#isTorn = false;
    else {
      this.#lost++;
      this.#isTorn ||= written > 0;
    }
  }
}

/** The log of this thread. */
export const stderrLog = new LogDestination(2);
