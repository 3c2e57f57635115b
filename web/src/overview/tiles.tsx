import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useCell } from '../cell.ts';
import { facts, live, stats } from '../feed.ts';
import { count, duration, many, rate, share, short } from '../format.ts';
import { countsSince, percentile, sumOf } from '../rates.ts';
import { isStale } from '../verdict.ts';

/** The figures that are looked at first. */
export function Tiles(): JSX.Element {
  return (
    <section class="tiles" aria-label="Key figures">
      <HeadTile />
      <TipAge />
      <Measured />
    </section>
  );
}

function Tile({
  label,
  value,
  detail,
  level,
}: {
  readonly label: string;
  readonly value: string;
  readonly detail: string;
  readonly level?: 'warn' | 'bad' | undefined;
}): JSX.Element {
  return (
    <div class={`tile ${level ?? ''}`}>
      <span class="label">{label}</span>
      <strong class="num">{value}</strong>
      <span class="detail">{detail}</span>
    </div>
  );
}

function HeadTile(): JSX.Element {
  const head = useCell(live)?.head;
  return (
    <Tile
      label="Verified head"
      value={head === undefined ? '–' : count(head.number)}
      detail={head === undefined ? 'no block yet' : short(head.hash)}
    />
  );
}

/** The age by this machine's clock; drawn twice a second, whatever the chain does. */
function TipAge(): JSX.Element {
  const head = live.value?.head;
  const measured = useCell(stats);
  const [, redraw] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => redraw((turn) => turn + 1), 500);
    return () => clearInterval(timer);
  }, []);
  const age = head === undefined ? undefined : Math.max(0, (Date.now() - head.timestamp) / 1_000);
  const lag = measured?.now.lag ?? 0;
  const isAlone = measured?.now.reasons.some(({ reason }) => reason === 'upstream') === true;
  const told = lag === 0 ? 'at the tip of its upstreams' : `${count(lag)} behind its upstreams`;
  const behind = isAlone ? 'no upstream names it' : told;
  return (
    <Tile
      label="Tip age"
      value={duration(age)}
      detail={behind}
      level={isAlone || lag > 2 ? 'bad' : undefined}
    />
  );
}

function Measured(): JSX.Element {
  const about = useCell(facts);
  const measured = useCell(stats);
  if (measured === undefined) return <Tile label="Calls" value="–" detail="" />;
  const { now, before } = measured;
  const counts = countsSince(now, before);
  const calls = sumOf(counts);
  const seconds = Math.max(1, (now.at - before.at) / 1_000);
  const bounds = about?.bounds ?? [];
  const misses = now.upstreamReads - before.upstreamReads;
  const own = calls === 0 ? undefined : Math.max(0, 1 - misses / calls);
  const { kept, changed } = now.accuracy;
  const total = kept + changed;
  const stale = isStale(about, now);
  return (
    <>
      <Tile
        label="Pre-confirmed age"
        value={about?.preconfirms ? duration(now.preconfirmedAge) : 'off'}
        detail={
          about?.preconfirms
            ? stale
              ? 'no flashblocks come'
              : 'since the last flashblock'
            : 'no stream is configured'
        }
        level={stale ? 'bad' : undefined}
      />
      <Tile
        label="Calls a second"
        value={rate(calls / seconds)}
        detail={`${count(now.connections)} WebSockets open`}
      />
      <Tile
        label="Latency p50 / p99"
        value={`${duration(percentile(counts, bounds, 0.5))} / ${duration(percentile(counts, bounds, 0.99))}`}
        detail="of the last 10 s"
      />
      <Tile label="From its own copy" value={share(own)} detail={`${count(misses)} upstream reads in 10 s`} />
      <Tile
        label="Sealed as told"
        value={share(total === 0 ? undefined : kept / total)}
        detail={total === 0 ? 'nothing pre-confirmed yet' : `of ${many(total, 'transaction')}`}
        level={changed > 0 ? 'warn' : undefined}
      />
    </>
  );
}
