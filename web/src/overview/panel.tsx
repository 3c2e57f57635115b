import type { ComponentChildren, JSX } from 'preact';

/** A part of the overview with its heading. */
export function Panel({
  title,
  note,
  name,
  children,
}: {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly name: string;
  readonly children: ComponentChildren;
}): JSX.Element {
  return (
    <section class={`panel ${name}`} aria-labelledby={`panel-${name}`}>
      <header>
        <h2 id={`panel-${name}`}>{title}</h2>
        {note !== undefined && <span class="note">{note}</span>}
      </header>
      {children}
    </section>
  );
}

/** A share of something as a bar, with its words beside it. */
export function Meter({
  label,
  value,
  share,
  level = 'ok',
}: {
  readonly label: string;
  readonly value: string;
  readonly share: number;
  readonly level?: 'ok' | 'warn' | 'bad';
}): JSX.Element {
  return (
    <div class="meter">
      <span>{label}</span>
      <span class="num">{value}</span>
      <svg class={`bar ${level}`} viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
        <rect class="track" width="100" height="4" />
        <rect class="fill" width={share === 0 ? 0 : Math.min(100, Math.max(0.5, share * 100))} height="4" />
      </svg>
    </div>
  );
}
