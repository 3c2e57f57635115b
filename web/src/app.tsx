import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useCell } from './cell.ts';
import { contact, facts, live, notes, stats } from './feed.ts';
import { Overview } from './overview/overview.tsx';
import { Playground } from './playground/playground.tsx';
import { theme, toggleTheme } from './theme.ts';
import { verdictOf } from './verdict.ts';

type View = 'overview' | 'playground';

function viewOf(hash: string): View {
  return hash === '#playground' ? 'playground' : 'overview';
}

/** The page: a header with the verdict, and one of two views. */
export function App(): JSX.Element {
  const [view, setView] = useState<View>(viewOf(location.hash));
  const state = useCell(contact);
  useEffect(() => {
    const change = (): void => setView(viewOf(location.hash));
    addEventListener('hashchange', change);
    return () => removeEventListener('hashchange', change);
  }, []);
  return (
    <>
      <Header view={view} />
      <Banner />
      <main class={state === 'open' ? '' : 'old'}>{view === 'overview' ? <Overview /> : <Playground />}</main>
    </>
  );
}

function Header({ view }: { readonly view: View }): JSX.Element {
  const about = useCell(facts);
  const now = useCell(theme);
  const other = now === 'dark' ? 'light' : 'dark';
  const tab = (name: View, title: string): JSX.Element => (
    <a href={`#${name}`} aria-current={view === name ? 'page' : undefined}>
      {title}
    </a>
  );
  return (
    <header class="top">
      <span class="brand">Chain Query</span>
      <span class="chain">
        {about?.chain ?? 'chain'} <b class="num">{about?.chainId ?? '–'}</b>
        <Fork />
      </span>
      <nav aria-label="Views">
        {tab('overview', 'Overview')}
        {tab('playground', 'Playground')}
      </nav>
      <span class="version">v{about?.version ?? ''}</span>
      <button type="button" class="quiet" onClick={toggleTheme} aria-label={`Use the ${other} theme`}>
        {now === 'dark' ? '☾' : '☀'}
      </button>
    </header>
  );
}

function Fork(): JSX.Element | null {
  const fork = useCell(live)?.head?.fork;
  return fork === undefined ? null : <span class="fork">{fork}</span>;
}

const MARKS = { ok: '●', warn: '▲', bad: '■', unknown: '○' } as const;

function Banner(): JSX.Element {
  const { level, title, detail } = verdictOf(
    useCell(contact),
    useCell(facts),
    useCell(stats),
    useCell(notes),
  );
  return (
    <section class={`banner ${level}`} aria-label="State of the node">
      <span class="mark" aria-hidden="true">
        {MARKS[level]}
      </span>
      <h1 aria-live="polite">{title}</h1>
      <p>{detail}</p>
    </section>
  );
}
