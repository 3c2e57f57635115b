import type { JSX } from 'preact';

const TAGS = ['latest', 'pending', 'safe', 'finalized', 'earliest'] as const;

/** Which block: a tag, a number or a hash. */
export interface Selector {
  readonly kind: (typeof TAGS)[number] | 'number' | 'hash';
  readonly text: string;
}

/** As JSON-RPC has it; numbers may be typed in decimal. */
export function selectorValue({ kind, text }: Selector): string {
  if (kind === 'hash') return text.trim();
  if (kind !== 'number') return kind;
  const trimmed = text.trim();
  return /^\d+$/.test(trimmed) ? `0x${BigInt(trimmed).toString(16)}` : trimmed;
}

export function SelectorPicker({
  label,
  value,
  onChange,
  withHash = true,
}: {
  readonly label: string;
  readonly value: Selector;
  readonly onChange: (value: Selector) => void;
  readonly withHash?: boolean;
}): JSX.Element {
  const isTyped = value.kind === 'number' || value.kind === 'hash';
  const kinds = [...TAGS, 'number', ...(withHash ? (['hash'] as const) : [])] as const;
  return (
    <div class="field selector">
      <label>
        <span>{label}</span>
        <select
          value={value.kind}
          onChange={(event) => onChange({ ...value, kind: event.currentTarget.value as Selector['kind'] })}
        >
          {kinds.map((kind) => (
            <option key={kind} value={kind}>
              {kind}
            </option>
          ))}
        </select>
      </label>
      {isTyped && (
        <input
          aria-label={`${label}: ${value.kind}`}
          value={value.text}
          placeholder={value.kind === 'number' ? '123 or 0x7b' : '0x… (32 bytes)'}
          onInput={(event) => onChange({ ...value, text: event.currentTarget.value })}
        />
      )}
    </div>
  );
}
