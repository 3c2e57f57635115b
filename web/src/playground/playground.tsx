import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { useCell } from '../cell.ts';
import { facts } from '../feed.ts';
import { decodeLog, type WireLog } from './abi.ts';
import { CallForm, readAnswer, type WantedCall } from './call-form.tsx';
import { Field } from './field.tsx';
import { LogsForm, type WantedLogs } from './logs-form.tsx';
import { MethodForm, type Wanted } from './method-form.tsx';
import { Logs, Result } from './result.tsx';
import { call, type Exchange, type Place } from './rpc.ts';
import { curlLine, Snippet, viemLines, viemRequest } from './snippets.tsx';
import { followLogs } from './tail.ts';

const MODES = { call: 'Call a contract', logs: 'Find logs', method: 'Any method' } as const;
type Mode = keyof typeof MODES;
type AnyWanted = Wanted | WantedCall | WantedLogs;

/** Asks the node whatever a client could, and shows what it means. */
export function Playground(): JSX.Element {
  const about = useCell(facts);
  const [mode, setMode] = useState<Mode>('call');
  const [chosen, setChosen] = useState<string>();
  const [key, setKey] = useState('');
  const [wanted, setWanted] = useState<AnyWanted | string>('');
  const [answered, setAnswered] = useState<{ readonly wanted: AnyWanted; readonly exchange: Exchange }>();
  const [failure, setFailure] = useState<string>();
  const endpoints = about?.endpoints ?? [];
  const endpoint =
    endpoints.find(({ name }) => name === chosen) ?? endpoints.find(({ keys }) => !keys) ?? endpoints[0];
  if (about === undefined) return <p class="none alone">Waiting for the node…</p>;
  if (endpoint === undefined)
    return <p class="none alone">This node serves no clients: there is nothing to ask.</p>;
  const place: Place = { endpoint: endpoint.name, key };
  const isValid = typeof wanted !== 'string';
  const send = (event: Event): void => {
    event.preventDefault();
    if (!isValid) return;
    setFailure(undefined);
    call(place, wanted.method, wanted.params).then(
      (exchange) => setAnswered({ wanted, exchange }),
      (error: unknown) => setFailure(String(error)),
    );
  };
  return (
    <div class="playground">
      <form class="panel" onSubmit={send} aria-label="Request">
        <fieldset class="modes">
          <legend>What to ask</legend>
          {Object.entries(MODES).map(([name, title]) => (
            <label key={name}>
              <input
                type="radio"
                name="mode"
                checked={mode === name}
                onChange={() => {
                  setMode(name as Mode);
                  setAnswered(undefined);
                }}
              />
              <span>{title}</span>
            </label>
          ))}
        </fieldset>
        <div class="pair">
          <label class="field">
            <span>Endpoint</span>
            <select value={endpoint.name} onChange={(event) => setChosen(event.currentTarget.value)}>
              {endpoints.map(({ name, address }) => (
                <option key={name} value={name}>
                  {name} ({address})
                </option>
              ))}
            </select>
          </label>
          {endpoint.keys && <Field label="API key" isSecret value={key} onInput={setKey} />}
        </div>
        {mode === 'method' && <MethodForm place={place} onChange={setWanted} />}
        {mode === 'call' && <CallForm onChange={setWanted} />}
        {mode === 'logs' && <LogsForm onChange={setWanted} />}
        <p class="send">
          <button type="submit" disabled={!isValid}>
            Send
          </button>
          <span class="none">{isValid ? `${wanted.method}, also with Enter` : wanted}</span>
        </p>
      </form>
      <div class="answers">
        {failure !== undefined && <p class="panel message">{failure}</p>}
        {answered !== undefined && <Answer {...answered} />}
        {mode === 'logs' && isValid && 'filter' in wanted && <Tail place={place} wanted={wanted} />}
        {isValid && (
          <section class="panel" aria-label="The same elsewhere">
            <Snippet label="curl" text={curlLine(endpoint, endpoint.keys, wanted.method, wanted.params)} />
            <Snippet
              label="viem"
              text={viemLines(
                endpoint,
                endpoint.keys,
                'viem' in wanted ? wanted.viem : viemRequest(wanted.method, wanted.params),
              )}
            />
          </section>
        )}
      </div>
    </div>
  );
}

function Answer({
  wanted,
  exchange,
}: {
  readonly wanted: AnyWanted;
  readonly exchange: Exchange;
}): JSX.Element {
  const { result } = exchange;
  const found = 'filter' in wanted && Array.isArray(result) ? (result as readonly WireLog[]) : undefined;
  const abi = 'abi' in wanted ? wanted.abi : [];
  return (
    <section class="panel" aria-label="Answer">
      {found !== undefined && found.length > 0 && (
        <Logs label="Logs found" logs={found.map((log) => ({ log, decoded: decodeLog(abi, log) }))} />
      )}
      <Result exchange={exchange} {...('item' in wanted && readAnswer(wanted, exchange))} />
    </section>
  );
}

function Tail({ place, wanted }: { readonly place: Place; readonly wanted: WantedLogs }): JSX.Element {
  const [isOn, setOn] = useState(false);
  const [state, setState] = useState('');
  const [logs, setLogs] = useState<readonly WireLog[]>([]);
  const filter = JSON.stringify(wanted.filter);
  useEffect(() => {
    if (!isOn) return;
    setLogs([]);
    setState('connecting');
    return followLogs(place, JSON.parse(filter) as object, { onLogs: setLogs, onState: setState });
  }, [isOn, filter, place.endpoint, place.key]);
  return (
    <section class="panel tail" aria-label="Live tail">
      <header>
        <h2>pendingLogs, live</h2>
        <span class="note" role="status">
          {isOn ? state : 'off'}
        </span>
        <button type="button" aria-pressed={isOn} onClick={() => setOn(!isOn)}>
          {isOn ? 'Stop' : 'Follow'}
        </button>
      </header>
      {logs.length === 0 ? (
        <p class="none">{isOn ? 'No log yet.' : 'Shows each log as soon as it is pre-confirmed.'}</p>
      ) : (
        <Logs
          label="Logs as they come"
          logs={logs.map((log) => ({ log, decoded: decodeLog(wanted.abi, log) }))}
        />
      )}
    </section>
  );
}
