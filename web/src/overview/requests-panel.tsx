import type { JSX } from 'preact';
import { useCell } from '../cell.ts';
import { facts, stats } from '../feed.ts';
import { count, duration, rate } from '../format.ts';
import { methodsSince, percentile, sumOf } from '../rates.ts';
import { Chart, type Line } from './chart.tsx';
import { Panel } from './panel.tsx';

const METHODS_SHOWN = 9;
const RATE: readonly Line[] = [{ of: 'rate', label: 'all methods', color: 'good' }];
const TIMES: readonly Line[] = [
  { of: 'p99', label: 'p99', color: 'pre' },
  { of: 'p50', label: 'p50', color: 'good' },
];
const calls = (value: number): string => (value >= 1_000 ? `${value / 1_000}k` : `${value}`);
const time = (ms: number): string => (ms >= 1_000 ? `${ms / 1_000} s` : `${ms} ms`);

/** What clients ask, how often, and how long it takes. */
export function RequestsPanel(): JSX.Element {
  return (
    <Panel name="requests" title="Requests" note="the last 10 s">
      <div class="charts">
        <Chart title="Calls a second" lines={RATE} unit={calls} />
        <Chart title="Latency" lines={TIMES} unit={time} />
      </div>
      <Methods />
    </Panel>
  );
}

function Methods(): JSX.Element {
  const bounds = useCell(facts)?.bounds ?? [];
  const measured = useCell(stats);
  if (measured === undefined) return <p class="none">Nothing was asked yet.</p>;
  const { now, before } = measured;
  const seconds = Math.max(1, (now.at - before.at) / 1_000);
  const totals = new Map(now.methods.map(({ method, counts }) => [method, sumOf(counts)]));
  const rows = methodsSince(now, before)
    .map((row) => ({ ...row, calls: sumOf(row.counts), total: totals.get(row.method) ?? 0 }))
    .toSorted((a, b) => b.calls - a.calls || b.total - a.total);
  if (rows.length === 0) return <p class="none">Nothing was asked yet.</p>;
  return (
    <section class="scroll" tabIndex={0} aria-label="Requests by method">
      <table>
        <thead>
          <tr>
            <th scope="col">method</th>
            <th scope="col">a second</th>
            <th scope="col">p50</th>
            <th scope="col">p99</th>
            <th scope="col">errors</th>
            <th scope="col">in all</th>
          </tr>
        </thead>
        <tbody>
          {rows.slice(0, METHODS_SHOWN).map(({ method, counts, calls: asked, errors, total }) => (
            <tr key={method}>
              <th scope="row">{method}</th>
              <td>{rate(asked / seconds)}</td>
              <td>{duration(percentile(counts, bounds, 0.5))}</td>
              <td>{duration(percentile(counts, bounds, 0.99))}</td>
              <td class={errors > 0 ? 'warn' : ''}>{count(errors)}</td>
              <td>{count(total)}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {rows.length > METHODS_SHOWN && <p class="none">and {rows.length - METHODS_SHOWN} methods more</p>}
    </section>
  );
}
