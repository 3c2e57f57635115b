import { renameSync, writeFileSync } from 'node:fs';

/** Writes a file whole or not at all: whoever reads it at any time must never see half of it. */
export function writeWhole(file: string, content: string, mode?: number): void {
  const staged = `${file}.tmp-${process.pid}`;
  writeFileSync(staged, content, { mode });
  renameSync(staged, file);
}
