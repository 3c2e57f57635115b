import { readFile, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { repoRoot } from '../test/support/servers/paths.ts';
import type { Measured } from './wrk.ts';

export interface Line {
  readonly title: string;
  /** Every round of each server, by the server's name. */
  readonly rounds: ReadonlyMap<string, readonly Measured[]>;
}

/** The middle round by throughput: one disturbed round changes nothing. */
function median(rounds: readonly Measured[]): Measured {
  const middle = rounds.toSorted((a, b) => a.perSecond - b.perSecond)[Math.floor(rounds.length / 2)];
  if (middle === undefined) throw new Error('no rounds');
  return middle;
}

const count = (value: number): string => Math.round(value).toLocaleString('en-US');

export function table(lines: readonly Line[], servers: readonly string[]): string {
  const [ours, ...peers] = servers;
  if (ours === undefined) throw new Error('no servers');
  const head = ['requests/s', ...servers, ...peers.map((peer) => `÷ ${peer}`), `${ours} p50`, `${ours} p99`];
  const rows = lines.map(({ title, rounds }) => {
    const medians = new Map(servers.map((name) => [name, median(rounds.get(name) ?? [])]));
    const own = medians.get(ours);
    if (own === undefined) throw new Error(`no figure for ${ours}`);
    return [
      title,
      ...servers.map((name) => count(medians.get(name)?.perSecond ?? 0)),
      ...peers.map((peer) => (own.perSecond / (medians.get(peer)?.perSecond ?? 1)).toFixed(2)),
      own.p50,
      own.p99,
    ];
  });
  return markdown(head, rows);
}

/** A table whose first column names things and whose others are figures. */
export function markdown(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return [head, head.map((_, at) => (at === 0 ? '---' : '---:')), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

/** What one part of the benchmark gave. */
export interface Section {
  readonly name: string;
  readonly facts: readonly string[];
  readonly tables: readonly string[];
  /** What must not be so on any machine. */
  readonly failures?: readonly string[];
}

/** Puts a section into its place in the document; the others, and the text between, stay. */
export async function writeSection({ name, facts, tables }: Section): Promise<void> {
  const file = join(repoRoot, 'docs/benchmarks.md');
  const [begin, end] = [`<!-- ${name} -->`, `<!-- /${name} -->`];
  const text = await readFile(file, 'utf8');
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`docs/benchmarks.md has no place for ${name}`);
  const [cpu] = cpus();
  const machine = `${cpus().length} × ${cpu?.model.trim()}, all on one machine.`;
  const list = [...facts, `Machine: ${machine}`].map((fact) => `- ${fact}`).join('\n');
  const body = [begin, list, ...tables].join('\n\n');
  await writeFile(file, `${text.slice(0, from)}${body}\n\n${text.slice(to)}`);
}
