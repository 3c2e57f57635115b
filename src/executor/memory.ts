import { type NativeMemory, native } from '@chain-query/native';
import { residentBytes } from '../telemetry/resident.ts';

/** What the C library may keep for what comes next, before it is given back. */
const KEPT_BYTES = 32 * 2 ** 20;

/** What the native core and the C library's allocator hold, in bytes; of the whole process. */
export function nativeMemory(): NativeMemory {
  return native.nativeMemory();
}

export interface TrimmerModules {
  /** What the C library has free. What it has given back to the system counts as free too. */
  readonly free?: () => number;
  /** What the process has of its own. */
  readonly resident?: () => number;
  readonly trim?: () => void;
}

/**
 * Gives memory back to the system that was freed: by itself the C library keeps what lies between pieces in use, for ever.
 * It does not know what of the free it has given back already, so it is tried when there is more of it than after the last time,
 * or when the process has grown since, as it does when what was given back is used again.
 */
export class Trimmer {
  readonly #free: () => number;
  readonly #resident: () => number;
  readonly #trim: () => void;
  /** The least since it was last tried, or at first. */
  #leastFree = Number.POSITIVE_INFINITY;
  #leastResident = Number.POSITIVE_INFINITY;

  constructor({
    free = () => native.nativeMemory().free ?? 0,
    // Where it is not known, there is no allocator to trim either.
    resident = () => residentBytes()?.anonymous ?? 0,
    trim = () => native.trimMemory(),
  }: TrimmerModules = {}) {
    this.#free = free;
    this.#resident = resident;
    this.#trim = trim;
  }

  /** Looks whether there may be much, and gives it back. */
  look(): void {
    const free = this.#free();
    const resident = this.#resident();
    this.#leastFree = Math.min(this.#leastFree, free);
    this.#leastResident = Math.min(this.#leastResident, resident);
    const more = Math.max(free - this.#leastFree, resident - this.#leastResident);
    if (free < KEPT_BYTES || more < KEPT_BYTES) return;
    this.#trim();
    this.#leastFree = this.#free();
    this.#leastResident = this.#resident();
  }
}
