import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Abi, AbiEvent } from 'viem';
import { encodeTopics, eventsOf, signatureOf } from './abi.ts';
import { readSafely } from './call-form.tsx';
import { Field } from './field.tsx';
import type { Wanted } from './method-form.tsx';
import { type Selector, SelectorPicker, selectorValue } from './selector.tsx';

/** A search for logs, and the same as a subscription. */
export interface WantedLogs extends Wanted {
  readonly abi: Abi;
  /** Without a range: what `pendingLogs` takes. */
  readonly filter: object;
}

const EXAMPLE = 'event Incremented(address indexed by, uint256 count)';

/** A filter of logs by the ABI of an event. */
export function LogsForm({
  onChange,
}: {
  readonly onChange: (wanted: WantedLogs | string) => void;
}): JSX.Element {
  const [abiText, setAbiText] = useState(EXAMPLE);
  const [chosen, setChosen] = useState('');
  const [address, setAddress] = useState('');
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [from, setFrom] = useState<Selector>({ kind: 'earliest', text: '' });
  const [to, setTo] = useState<Selector>({ kind: 'pending', text: '' });
  const read = readSafely(abiText);
  const events = typeof read === 'string' ? [] : eventsOf(read);
  const item =
    chosen === 'any' ? undefined : (events.find((one) => signatureOf(one) === chosen) ?? events[0]);
  useEffect(() => {
    onChange(typeof read === 'string' ? read : wantedOf(read, item, { address, values, from, to }));
  }, [abiText, chosen, address, values, from, to]);
  return (
    <>
      <Field
        label="ABI"
        value={abiText}
        rows={3}
        onInput={setAbiText}
        hint="Events, as signatures or JSON."
      />
      <label class="field">
        <span>Event</span>
        <select
          value={item === undefined ? 'any' : signatureOf(item)}
          onChange={(event) => setChosen(event.currentTarget.value)}
        >
          {events.map((one) => (
            <option key={signatureOf(one)} value={signatureOf(one)}>
              {signatureOf(one)}
            </option>
          ))}
          <option value="any">any</option>
        </select>
      </label>
      <Field label="Contract (optional)" value={address} onInput={setAddress} placeholder="0x… (20 bytes)" />
      {item?.inputs
        .filter(({ indexed }) => indexed === true)
        .map((input, at) => (
          <Field
            key={`${signatureOf(item)}.${at}`}
            label={`${input.name ?? at} (${input.type}, optional)`}
            value={values[input.name ?? String(at)] ?? ''}
            onInput={(text) => setValues({ ...values, [input.name ?? String(at)]: text })}
          />
        ))}
      <div class="pair">
        <SelectorPicker label="From" value={from} onChange={setFrom} withHash={false} />
        <SelectorPicker label="To" value={to} onChange={setTo} withHash={false} />
      </div>
    </>
  );
}

interface Given {
  readonly address: string;
  readonly values: Readonly<Record<string, string>>;
  readonly from: Selector;
  readonly to: Selector;
}

function wantedOf(
  abi: Abi,
  item: AbiEvent | undefined,
  { address, values, from, to }: Given,
): WantedLogs | string {
  const trimmed = address.trim();
  if (trimmed !== '' && !/^0x[\da-f]{40}$/i.test(trimmed)) return 'The contract is an address of 20 bytes';
  try {
    const filter = {
      ...(trimmed !== '' && { address: trimmed }),
      ...(item !== undefined && { topics: encodeTopics(item, values) }),
    };
    const range = { fromBlock: selectorValue(from), toBlock: selectorValue(to) };
    return { method: 'eth_getLogs', params: [{ ...filter, ...range }], abi, filter };
  } catch (error) {
    return (error as Error).message.split('\n')[0] ?? 'It cannot be encoded';
  }
}
