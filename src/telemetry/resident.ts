import { readFileSync } from 'node:fs';

/** Resident memory of this process, in bytes. */
export interface ResidentBytes {
  /** Its own. */
  readonly anonymous: number;
  /** What it has read of files, the store above all. */
  readonly file: number;
}

/** As Linux counts it; other systems do not tell the two apart. */
export function residentBytes(): ResidentBytes | undefined {
  if (process.platform !== 'linux') return undefined;
  const status = readFileSync('/proc/self/status', 'latin1');
  const bytesOf = (name: string): number =>
    Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status)?.[1] ?? 0) * 1_024;
  return { anonymous: bytesOf('RssAnon'), file: bytesOf('RssFile') };
}
