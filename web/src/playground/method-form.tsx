import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Field } from './field.tsx';
import { discover, type MethodDoc, type Place } from './rpc.ts';
import { type Selector, SelectorPicker, selectorValue } from './selector.tsx';

type Param = MethodDoc['params'][number];

export interface Wanted {
  readonly method: string;
  readonly params: readonly unknown[];
}

const SELECTORS = new Set(['block', 'newest']);
const TEMPLATES: Readonly<Record<string, string>> = {
  transaction: '{"to":"0x…","data":"0x"}',
  filter: '{"fromBlock":"latest","toBlock":"pending"}',
  payload: '{"blockStateCalls":[{"calls":[]}]}',
};

/** Any method, its parameters by the schema that the node gives. */
export function MethodForm({
  place,
  onChange,
}: {
  readonly place: Place;
  readonly onChange: (wanted: Wanted | string) => void;
}): JSX.Element {
  const [methods, setMethods] = useState<readonly MethodDoc[]>([]);
  const [name, setName] = useState('eth_blockNumber');
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({});
  const [block, setBlock] = useState<Selector>({ kind: 'latest', text: '' });
  const [failure, setFailure] = useState<string>();
  useEffect(() => {
    discover(place).then(
      (found) => {
        setMethods(found);
        setFailure(undefined);
      },
      (error: unknown) => setFailure(String(error)),
    );
  }, [place.endpoint, place.key]);
  const doc = methods.find((method) => method.name === name);
  useEffect(() => {
    onChange(doc === undefined ? (failure ?? 'Reading the methods…') : wantedOf(doc, texts, block));
  }, [doc, texts, block, failure]);
  return (
    <>
      <label class="field">
        <span>Method</span>
        <select
          value={name}
          onChange={(event) => {
            setName(event.currentTarget.value);
            setTexts({});
          }}
        >
          {methods.map((method) => (
            <option key={method.name} value={method.name}>
              {method.name}
            </option>
          ))}
        </select>
        <small>{doc?.summary ?? ''}</small>
      </label>
      {doc?.params.map((param) =>
        SELECTORS.has(param.name) ? (
          <SelectorPicker key={param.name} label={labelOf(param)} value={block} onChange={setBlock} />
        ) : (
          <Field
            key={`${name}.${param.name}`}
            label={labelOf(param)}
            value={texts[param.name] ?? ''}
            hint={param.description}
            placeholder={TEMPLATES[param.name]}
            onInput={(text) => setTexts({ ...texts, [param.name]: text })}
            {...(isObject(param) && { rows: 4 })}
          />
        ),
      )}
    </>
  );
}

function labelOf({ name, required }: Param): string {
  return required === true ? name : `${name} (optional)`;
}

function isObject({ schema }: Param): boolean {
  return /"type":"(?:object|array)"/.test(JSON.stringify(schema));
}

/** What the fields ask for, or what is wrong with them. */
function wantedOf(doc: MethodDoc, texts: Readonly<Record<string, string>>, block: Selector): Wanted | string {
  const params: unknown[] = [];
  for (const param of doc.params) {
    if (SELECTORS.has(param.name)) {
      params.push(selectorValue(block));
      continue;
    }
    const text = (texts[param.name] ?? '').trim();
    if (text === '' && param.required === true) return `${param.name} is missing`;
    const value = text === '' ? null : parameterOf(text);
    if (value === undefined) return `${param.name} is not JSON`;
    params.push(value);
  }
  while (params.at(-1) === null) params.pop();
  return { method: doc.name, params };
}

/** JSON where it looks like it; anything else is a string, as most parameters are. */
function parameterOf(text: string): unknown {
  if (!/^(?:[[{"]|true$|false$|null$|-?\d+(?:\.\d+)?$)/.test(text)) return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
