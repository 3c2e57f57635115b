import type { JSX } from 'preact';
import { useCell } from '../cell.ts';
import { notes } from '../feed.ts';
import { clock } from '../format.ts';
import { Panel } from './panel.tsx';

const WORDS = {
  reorg: 'reorg',
  retraction: 'taken back',
  anchor: 're-anchor',
  leader: 'leader',
  stream: 'stream',
  readiness: 'readiness',
} as const;

/** What happened to the chain and the node, newest first. */
export function EventsPanel(): JSX.Element {
  const all = useCell(notes);
  return (
    <Panel name="events" title="Events" note="reorgs, retractions, re-anchors, leaders">
      {all.length === 0 ? (
        <p class="none">Nothing happened: no reorg, nothing taken back.</p>
      ) : (
        <ol class="scroll" tabIndex={0} aria-label="Events, newest first">
          {all.toReversed().map(({ id, at, kind, text }) => (
            <li key={id}>
              <time class="num">{clock(at)}</time>
              <span class={`kind ${kind}`}>{WORDS[kind]}</span>
              <span class="text">{text}</span>
            </li>
          ))}
        </ol>
      )}
    </Panel>
  );
}
