import type { JSX } from 'preact';

/** A text as it is, that can be scrolled by keyboard. */
export function Code({ label, text }: { readonly label: string; readonly text: string }): JSX.Element {
  return (
    <section class="code" aria-label={label} tabIndex={0}>
      <pre>{text}</pre>
    </section>
  );
}
