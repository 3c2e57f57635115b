import type { JSX } from 'preact';
import type { HeadBlock } from '../../../src/rpc/admin/state.ts';
import { useCell } from '../cell.ts';
import { BLOCKS_KEPT, blocks, facts, live, type ShownBlock, shownBlock, stats } from '../feed.ts';
import { count, duration, many } from '../format.ts';
import { isStale } from '../verdict.ts';
import { Panel } from './panel.tsx';

const FLASHBLOCKS_EXPECTED = 10;
const CELLS_SHOWN = 24;

/** The blocks that were confirmed, and the one that is being pre-confirmed behind them. */
export function BlockPanel(): JSX.Element {
  const about = useCell(facts);
  const note = about?.preconfirms ? <FillNote /> : 'every block is confirmed when it comes';
  return (
    <Panel name="block" title={about?.preconfirms ? 'Pre-confirmed block' : 'Blocks'} note={note}>
      {about?.preconfirms && <Filling />}
      <Strip />
    </Panel>
  );
}

function FillNote(): JSX.Element {
  const block = useCell(shownBlock);
  const perBlock = useCell(live)?.flashblocksPerBlock;
  if (block === undefined) return <>none</>;
  const { length } = block.flashblocks;
  return (
    <>
      flashblock <b class="num">{length}</b>
      {perBlock === undefined ? '' : ` of about ${perBlock}`}
    </>
  );
}

function Filling(): JSX.Element {
  const block = useCell(shownBlock);
  const perBlock = useCell(live)?.flashblocksPerBlock ?? FLASHBLOCKS_EXPECTED;
  const measured = useCell(stats);
  const about = useCell(facts);
  const stale = measured !== undefined && isStale(about, measured.now);
  if (block === undefined || stale) {
    const age = duration(measured?.now.preconfirmedAge);
    return (
      <div class="filling empty">
        <p>
          {stale ? `No flashblock for ${age}. pending answers as latest.` : 'Nothing is pre-confirmed now.'}
        </p>
        <Cells block={undefined} expected={perBlock} />
      </div>
    );
  }
  const transactions = block.flashblocks.reduce((sum, cell) => sum + cell.transactions, 0);
  const gasUsed = block.flashblocks.at(-1)?.gasUsed ?? 0;
  const used = block.gasLimit === 0 ? 0 : gasUsed / block.gasLimit;
  return (
    <div class={`filling ${block.state}`}>
      <p>
        <strong class="num">{count(block.number)}</strong>
        <span class="tag">{block.state === 'sealed' ? 'sealed' : 'pre-confirmed'}</span>
        <span class="num">{many(transactions, 'transaction')}</span>
        <span class="num">
          {(gasUsed / 1e6).toFixed(2)} of {(block.gasLimit / 1e6).toFixed(0)} M gas ({(used * 100).toFixed(1)}{' '}
          %)
        </span>
      </p>
      <Cells block={block} expected={perBlock} />
    </div>
  );
}

function Cells({
  block,
  expected,
}: {
  readonly block: ShownBlock | undefined;
  readonly expected: number;
}): JSX.Element {
  const flashblocks = block?.flashblocks ?? [];
  const places = Math.min(CELLS_SHOWN, Math.max(expected, flashblocks.length));
  const shown = flashblocks.slice(-places);
  const most = Math.max(1, ...shown.map(({ transactions }) => transactions));
  return (
    <ol class="cells" aria-label="Flashblocks of the block">
      {Array.from({ length: places }, (_, at) => {
        const cell = shown[at];
        if (cell === undefined) return <li key={at} class="cell" aria-hidden="true" />;
        const height = cell.transactions === 0 ? 6 : 20 + 80 * Math.sqrt(cell.transactions / most);
        return (
          <li
            key={at}
            class="cell there"
            title={`flashblock ${cell.index}: ${cell.transactions} transactions`}
          >
            <svg viewBox="0 0 10 100" preserveAspectRatio="none" aria-hidden="true">
              <rect y={100 - height} width="10" height={height} />
            </svg>
            <span class="num">{cell.transactions}</span>
          </li>
        );
      })}
    </ol>
  );
}

const WIDTH = 8.4;
const bar = (at: number, height: number): string => `M${at * 10} 100v${-height}h${WIDTH}v${height}z`;
const PLACES = Array.from({ length: BLOCKS_KEPT }, (_, at) => bar(at, 100)).join('');

/** Two shapes for all of them: five times a second, one shape each would cost more than all else on the page. */
function Strip(): JSX.Element {
  const all = useCell(blocks);
  const first = BLOCKS_KEPT - all.length;
  return (
    <div class="confirmed">
      <span class="note">confirmed, by gas</span>
      <svg
        class="strip"
        viewBox={`0 0 ${BLOCKS_KEPT * 10} 100`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`The last ${BLOCKS_KEPT} confirmed blocks by gas, newest last`}
      >
        <path class="place" d={PLACES} />
        <path d={all.map((block, at) => bar(first + at, heightOf(block))).join('')} />
      </svg>
    </div>
  );
}

/** By the root of its gas: the bars of a quiet chain can be told apart, too. */
function heightOf({ gasUsed, gasLimit }: HeadBlock): number {
  const used = gasLimit === 0 ? 0 : gasUsed / gasLimit;
  return Math.round(Math.max(8, Math.min(100, Math.sqrt(used) * 100)));
}
