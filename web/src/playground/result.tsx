import type { JSX } from 'preact';
import { bytes } from '../format.ts';
import type { Decoded, DecodedLog, WireLog } from './abi.ts';
import { Code } from './code.tsx';
import type { Exchange } from './rpc.ts';

/** More of an answer than anybody reads; the copy has all of it. */
const SHOWN = 40_000;
const LOGS_SHOWN = 200;

/** What came of a call: how it went, what it means, and the JSON. */
export function Result({
  exchange,
  decoded,
  revert,
}: {
  readonly exchange: Exchange;
  readonly decoded?: readonly Decoded[] | undefined;
  readonly revert?: string | undefined;
}): JSX.Element {
  const { status, ms, head, pending, source, error, result, text } = exchange;
  const shown = error ?? result;
  const json = text.length > SHOWN * 4 ? text : (JSON.stringify(shown, null, 2) ?? text);
  return (
    <div class="result">
      <p class={error === undefined ? 'facts' : 'facts failed'} role="status">
        <b>{error === undefined ? 'Answered' : `Error ${error.code}`}</b>
        <span class="num">HTTP {status}</span>
        <span class="num">{ms.toFixed(1)} ms</span>
        <span class="num">{bytes(exchange.bytes)}</span>
        {head !== null && <span class="num">head {head.split(';')[0]}</span>}
        {pending !== null && <span class="num">pending {pending}</span>}
        {source !== null && <span>from {source}</span>}
      </p>
      {error !== undefined && <p class="message">{error.message}</p>}
      {revert !== undefined && <p class="message">{revert}</p>}
      {decoded !== undefined && <Values values={decoded} />}
      <Code
        label="Answer as JSON"
        text={
          json.length > SHOWN
            ? `${json.slice(0, SHOWN)}\n… ${bytes(json.length - SHOWN)} more are not shown`
            : json
        }
      />
    </div>
  );
}

export function Values({ values }: { readonly values: readonly Decoded[] }): JSX.Element {
  if (values.length === 0) return <p class="none">It returns nothing.</p>;
  return (
    <table class="values">
      <tbody>
        {values.map(({ name, type, value }, at) => (
          <tr key={at}>
            <th scope="row">
              {name} <small>{type}</small>
            </th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export interface ShownLog {
  readonly log: WireLog;
  readonly decoded: DecodedLog | undefined;
}

/** Logs, decoded where their event is known. */
export function Logs({
  logs,
  label,
}: {
  readonly logs: readonly ShownLog[];
  readonly label: string;
}): JSX.Element {
  return (
    <section class="scroll" tabIndex={0} aria-label={label}>
      <table class="logs">
        <thead>
          <tr>
            <th scope="col">block</th>
            <th scope="col">log</th>
            <th scope="col">event</th>
            <th scope="col">values</th>
          </tr>
        </thead>
        <tbody>
          {logs.slice(0, LOGS_SHOWN).map(({ log, decoded }, at) => (
            <tr key={at} class={log.removed ? 'removed' : ''}>
              <td>{Number(log.blockNumber)}</td>
              <td>{Number(log.logIndex)}</td>
              <th scope="row">
                {decoded?.event ?? log.topics[0]?.slice(0, 10) ?? 'no topic'}
                {log.removed && <span class="tag">taken back</span>}
                {!log.removed && /^0x0+$/.test(log.blockHash) && <span class="tag pre">pre-confirmed</span>}
              </th>
              <td class="text">
                {decoded === undefined
                  ? `${log.topics.slice(1).join(' ')} ${log.data}`.slice(0, 400)
                  : decoded.values.map(({ name, value }) => `${name} = ${value}`).join(', ')}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {logs.length > LOGS_SHOWN && <p class="none">and {logs.length - LOGS_SHOWN} logs more</p>}
    </section>
  );
}
