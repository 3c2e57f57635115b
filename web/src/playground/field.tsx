import type { JSX } from 'preact';
import { useId } from 'preact/hooks';

/** A labelled input: one line, or several. */
export function Field({
  label,
  value,
  onInput,
  hint,
  rows,
  placeholder,
  isSecret = false,
}: {
  readonly label: string;
  readonly value: string;
  readonly onInput: (value: string) => void;
  readonly hint?: string | undefined;
  readonly rows?: number;
  readonly placeholder?: string | undefined;
  readonly isSecret?: boolean;
}): JSX.Element {
  const id = useId();
  const shared = {
    id,
    value,
    spellcheck: false,
    autocomplete: 'off',
    ...(placeholder !== undefined && { placeholder }),
  } as const;
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {rows === undefined ? (
        isSecret ? (
          <input {...shared} type="password" onInput={(event) => onInput(event.currentTarget.value)} />
        ) : (
          <input {...shared} onInput={(event) => onInput(event.currentTarget.value)} />
        )
      ) : (
        <textarea {...shared} rows={rows} onInput={(event) => onInput(event.currentTarget.value)} />
      )}
      {hint !== undefined && <small>{hint}</small>}
    </div>
  );
}
