import { readFileSync } from 'node:fs';

/** Files that are open besides connections: the store, the addon, upstreams. */
export const OTHER_FILES = 512;

/** How many files this process may have open; undefined where the system does not say: only Linux tells a process its limits. */
export function openFilesLimit(): number | undefined {
  try {
    const match = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'utf8'));
    return match?.[1] === 'unlimited' ? Number.POSITIVE_INFINITY : Number(match?.[1] ?? Number.NaN);
  } catch {
    return undefined;
  }
}

/** Connections that leave enough files for everything else, however few there are. */
export function connectionsWithin(openFiles: number | undefined): number {
  if (openFiles === undefined || !Number.isFinite(openFiles)) return Number.POSITIVE_INFINITY;
  return Math.max(1, openFiles - Math.min(OTHER_FILES, Math.floor(openFiles / 2)));
}
