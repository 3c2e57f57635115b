import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repoRoot } from '../support/servers/paths.ts';

export const documentPath = 'docs/spec-compliance.md';

/** A vector that we answer differently by contract, as documented. */
export interface Deviation {
  readonly vector: string;
  readonly rule: string;
  /** Our error, as `code message`: a documented difference may not drift into another one. */
  readonly ours: string;
}

/** Reads the table under the marker, so that the document is the list and cannot disagree with the test. */
export async function documentedDeviations(): Promise<readonly Deviation[]> {
  const text = await readFile(join(repoRoot, documentPath), 'utf8');
  const table = text.split('<!-- deviations -->')[1]?.split('<!-- /deviations -->')[0];
  if (table === undefined) throw new Error(`${documentPath} has lost its deviations table`);
  const rows = table.split('\n').filter((line) => line.startsWith('|'));
  return rows.slice(2).map((row) => {
    const cells = row.split('|').slice(1, -1);
    const [vector, rule, ours] = cells.map((cell) => cell.trim().replaceAll('`', ''));
    if (!vector || !rule || !ours) throw new Error(`${documentPath}: cannot read the row ${row}`);
    return { vector, rule, ours };
  });
}
