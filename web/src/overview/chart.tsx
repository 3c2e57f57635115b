import type { JSX } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import { useCell } from '../cell.ts';
import { type Point, points } from '../feed.ts';
import { theme } from '../theme.ts';

export interface Line {
  readonly of: Exclude<keyof Point, 'at'>;
  readonly label: string;
  /** A custom property of the style sheet. */
  readonly color: string;
}

const HEIGHT = 132;
const SECONDS = 120;

/** The last two minutes of some lines. */
export function Chart({
  title,
  lines,
  unit,
}: {
  readonly title: string;
  readonly lines: readonly Line[];
  readonly unit: (value: number) => string;
}): JSX.Element {
  const place = useRef<HTMLDivElement>(null);
  const now = useCell(theme);
  useEffect(() => {
    const { current } = place;
    if (current === null) return;
    const plot = new uPlot(optionsOf(lines, unit, current.clientWidth), dataOf(lines), current);
    const stop = points.listen(() => plot.setData(dataOf(lines)));
    const resized = new ResizeObserver(() => plot.setSize({ width: current.clientWidth, height: HEIGHT }));
    resized.observe(current);
    return () => {
      stop();
      resized.disconnect();
      plot.destroy();
    };
    // Colours are read when it is made: the other theme makes it anew.
  }, [now]);
  return (
    <figure class="chart" role="img" aria-label={`${title}, the last two minutes`}>
      <figcaption>
        {title}
        {lines.map(({ label, color }) => (
          <span key={label} class={`legend ${color}`}>
            {label}
          </span>
        ))}
      </figcaption>
      <div ref={place} />
    </figure>
  );
}

function dataOf(lines: readonly Line[]): uPlot.AlignedData {
  const all = points.value;
  return [all.map(({ at }) => at), ...lines.map(({ of }) => all.map((point) => point[of]))];
}

function optionsOf(lines: readonly Line[], unit: (value: number) => string, width: number): uPlot.Options {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  const axis: uPlot.Axis = {
    stroke: color('muted'),
    font: '11px system-ui, sans-serif',
    grid: { stroke: color('line'), width: 1 },
    ticks: { show: false },
  };
  return {
    width,
    height: HEIGHT,
    cursor: { show: false },
    legend: { show: false },
    scales: {
      x: { range: (_, __, max) => [(max || Date.now() / 1_000) - SECONDS, max || Date.now() / 1_000] },
      y: { range: (_, __, max) => [0, Math.max(1, max * 1.15 || 1)] },
    },
    axes: [
      {
        ...axis,
        size: 22,
        space: 90,
        values: (_, splits) => splits.map((at) => new Date(at * 1_000).toLocaleTimeString('en-GB')),
      },
      { ...axis, size: 52, space: 34, values: (_, splits) => splits.map(unit) },
    ],
    series: [
      {},
      ...lines.map(({ label, color: name }) => ({
        label,
        stroke: color(name),
        width: 1.5,
        fill: lines.length === 1 ? `${color(name)}22` : 'transparent',
        points: { show: false },
      })),
    ],
  };
}
