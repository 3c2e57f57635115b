import type { JSX } from 'preact';
import { useCell } from '../cell.ts';
import { facts, stats } from '../feed.ts';
import { bytes, count, duration, many, rate, share } from '../format.ts';
import { Meter, Panel } from './panel.tsx';

const DAYS_WARNED = 14;

/** Memory and disk, and how long the disk lasts. */
export function ResourcesPanel(): JSX.Element {
  const measured = useCell(stats);
  if (measured === undefined)
    return (
      <Panel name="resources" title="Memory and disk">
        <p class="none">Not measured yet.</p>
      </Panel>
    );
  const { memory, store } = measured.now;
  const held = memory.limit === undefined ? 0 : memory.resident / memory.limit;
  const total = (store.bytes ?? 0) + (store.room ?? 0);
  const used = total === 0 ? 0 : (store.bytes ?? 0) / total;
  const low = store.leftDays !== undefined && store.leftDays < DAYS_WARNED;
  const left =
    store.leftDays === undefined ? 'not known in the first hour' : duration(store.leftDays * 86_400);
  return (
    <Panel name="resources" title="Memory and disk">
      <Meter
        label="Memory of its own"
        value={`${bytes(memory.resident)} of ${bytes(memory.limit)}`}
        share={held}
        level={held > 0.9 ? 'bad' : held > 0.75 ? 'warn' : 'ok'}
      />
      <Meter
        label="Store"
        value={`${bytes(store.bytes)}, room for ${bytes(store.room)}`}
        share={used}
        level={!store.writable ? 'bad' : low ? 'warn' : 'ok'}
      />
      <dl>
        <dt>Disk lasts</dt>
        <dd class={low ? 'warn' : ''}>{left}</dd>
        <dt>Grows a day by</dt>
        <dd>{bytes(store.growthPerDay)}</dd>
        <dt>Files read into memory</dt>
        <dd>{bytes(memory.files)}</dd>
        <dt>Writable</dt>
        <dd class={store.writable ? '' : 'bad'}>{store.writable ? 'yes' : 'no'}</dd>
      </dl>
    </Panel>
  );
}

/** How many pre-confirmed blocks were sealed as they had been told. */
export function AccuracyPanel(): JSX.Element {
  const about = useCell(facts);
  const measured = useCell(stats);
  const { equal, longer, different, kept, changed } = measured?.now.accuracy ?? {
    ...{ equal: 0, longer: 0, different: 0, kept: 0, changed: 0 },
  };
  const sealed = equal + longer + different;
  const of = (part: number): number => (sealed === 0 ? 0 : part / sealed);
  return (
    <Panel name="accuracy" title="Pre-confirmation accuracy" note="since the start">
      {sealed === 0 ? (
        <p class="none">
          {about?.preconfirms ? 'No pre-confirmed block is sealed yet.' : 'No stream is configured.'}
        </p>
      ) : (
        <>
          <Meter label="Sealed as told" value={many(equal, 'block')} share={of(equal)} />
          <Meter label="Sealed with more" value={many(longer, 'block')} share={of(longer)} />
          <Meter
            label="Sealed otherwise"
            value={many(different, 'block')}
            share={of(different)}
            level={different > 0 ? 'bad' : 'ok'}
          />
          <dl>
            <dt>Transactions kept</dt>
            <dd>
              {share(kept + changed === 0 ? undefined : kept / (kept + changed))} of {count(kept + changed)}
            </dd>
          </dl>
        </>
      )}
    </Panel>
  );
}

/** Who was turned away, and who listens. */
export function RefusalsPanel(): JSX.Element {
  const measured = useCell(stats);
  const refused = measured?.now.refused.toSorted((a, b) => b.count - a.count) ?? [];
  const seconds = measured === undefined ? 1 : Math.max(1, (measured.now.at - measured.before.at) / 1_000);
  const told = measured === undefined ? 0 : measured.now.notifications - measured.before.notifications;
  return (
    <Panel name="refusals" title="Clients">
      <dl>
        <dt>WebSockets</dt>
        <dd>{count(measured?.now.connections ?? 0)}</dd>
        <dt>Subscriptions</dt>
        <dd>{count(measured?.now.subscriptions ?? 0)}</dd>
        <dt>Messages a second</dt>
        <dd>{rate(told / seconds)}</dd>
        {refused.slice(0, 6).map(({ reason, count: times }) => (
          <Refused key={reason} reason={reason} times={times} />
        ))}
      </dl>
      {refused.length === 0 && <p class="none">Nobody was turned away.</p>}
    </Panel>
  );
}

function Refused({ reason, times }: { readonly reason: string; readonly times: number }): JSX.Element {
  return (
    <>
      <dt>Refused: {reason.replaceAll('_', ' ')}</dt>
      <dd class="warn">{count(times)}</dd>
    </>
  );
}
