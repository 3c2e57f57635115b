import type { JSX } from 'preact';
import type { Stats, StreamRow, UpstreamRow } from '../../../src/rpc/admin/state.ts';
import { useCell } from '../cell.ts';
import { facts, stats } from '../feed.ts';
import { count, duration, rate } from '../format.ts';
import { Panel } from './panel.tsx';

type Level = 'ok' | 'warn' | 'bad';
interface Health {
  readonly level: Level;
  readonly word: string;
}

const UNWELL = 0.2;
const DOWN = 0.5;

/** Who tells this node of the chain: upstreams and streams, how they are, and who leads. */
export function SourcesPanel(): JSX.Element {
  const about = useCell(facts);
  const measured = useCell(stats);
  const upstreams = measured?.now.upstreams ?? [];
  const streams = measured?.now.streams ?? [];
  return (
    <Panel name="sources" title="Upstreams and streams">
      {upstreams.length === 0 ? (
        <p class="none">
          {about?.follows ? 'No upstream is asked.' : 'This node serves a copy that stands still.'}
        </p>
      ) : (
        <section class="scroll" tabIndex={0} aria-label="Upstreams">
          <table>
            <thead>
              <tr>
                <th scope="col">upstream</th>
                <th scope="col">health</th>
                <th scope="col">head</th>
                <th scope="col">latency</th>
                <th scope="col">failing</th>
              </tr>
            </thead>
            <tbody>
              {upstreams.map((row) => (
                <Upstream key={row.name} row={row} />
              ))}
            </tbody>
          </table>
        </section>
      )}
      {about?.preconfirms && measured !== undefined && <Streams rows={streams} measured={measured} />}
    </Panel>
  );
}

function Mark({ level, word }: Health): JSX.Element {
  return (
    <span class={`health ${level}`}>
      <span aria-hidden="true">{level === 'ok' ? '●' : level === 'warn' ? '▲' : '■'}</span> {word}
    </span>
  );
}

function healthOf({ isOtherChain, outForMs, errorRate, lag, lies }: UpstreamRow): Health {
  if (isOtherChain) return { level: 'bad', word: 'another chain' };
  if (outForMs > 0) return { level: 'bad', word: `banned ${duration(outForMs / 1_000)}` };
  if (errorRate > DOWN) return { level: 'bad', word: 'down' };
  if (errorRate > UNWELL) return { level: 'warn', word: 'unwell' };
  if ((lag ?? 0) > 3) return { level: 'warn', word: `${count(lag ?? 0)} behind` };
  return lies > 0 ? { level: 'warn', word: 'lied before' } : { level: 'ok', word: 'well' };
}

function Upstream({ row }: { readonly row: UpstreamRow }): JSX.Element {
  return (
    <tr>
      <th scope="row" class="name">
        {row.name}
        {row.leads && <span class="tag">leads</span>}
      </th>
      <td>
        <Mark {...healthOf(row)} />
      </td>
      <td>{row.head === undefined ? '–' : count(row.head)}</td>
      <td>{duration(row.latencyMs / 1_000)}</td>
      <td>{(row.errorRate * 100).toFixed(0)} %</td>
    </tr>
  );
}

function Streams({
  rows,
  measured: { now, before },
}: {
  readonly rows: readonly StreamRow[];
  readonly measured: { readonly now: Stats; readonly before: Stats };
}): JSX.Element {
  if (rows.length === 0) return <p class="none">No stream was heard yet.</p>;
  const seconds = Math.max(1, (now.at - before.at) / 1_000);
  const earlier = new Map(before.streams.map((row) => [row.name, row]));
  const since = (row: StreamRow, of: 'messages' | 'first'): number =>
    row[of] - (earlier.get(row.name)?.[of] ?? 0);
  const first = Math.max(...rows.map((row) => since(row, 'first')));
  const healthOfStream = (row: StreamRow): Health => {
    if (!row.connected) return { level: 'bad', word: 'lost' };
    if (since(row, 'messages') === 0) return { level: 'bad', word: 'silent' };
    return row.unverified ? { level: 'warn', word: 'unverified' } : { level: 'ok', word: 'live' };
  };
  return (
    <section class="scroll" tabIndex={0} aria-label="Streams of flashblocks">
      <table>
        <thead>
          <tr>
            <th scope="col">stream</th>
            <th scope="col">health</th>
            <th scope="col">messages a second</th>
            <th scope="col">brought first</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.name}>
              <th scope="row" class="name">
                {row.name}
                {row.connected && first > 0 && since(row, 'first') === first && (
                  <span class="tag">leads</span>
                )}
              </th>
              <td>
                <Mark {...healthOfStream(row)} />
              </td>
              <td>{rate(since(row, 'messages') / seconds)}</td>
              <td>{count(row.first)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
