import { cpus } from 'node:os';
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
  return [head, head.map((_, at) => (at === 0 ? '---' : '---:')), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

export function document(body: string, facts: readonly string[]): string {
  const [cpu] = cpus();
  return `# Benchmarks

Written by \`npm run bench -- --write\`. One run on one machine measures all servers in turn, so compare within a row;
absolute figures drift with the machine.

${[...facts, `Machine: ${cpus().length} × ${cpu?.model.trim()}, the load generator beside the server.`].map((fact) => `- ${fact}`).join('\n')}

${body}
`;
}
