import type { WireLog } from './abi.ts';
import type { Place } from './rpc.ts';

const KEPT = 200;
/** Logs come in bursts, a flashblock at a time: they are shown together. */
const SHOW_MS = 200;

export interface TailEvents {
  readonly onLogs: (logs: readonly WireLog[]) => void;
  readonly onState: (state: string) => void;
}

/** Follows `pendingLogs` over a WebSocket until it is stopped; newest first. */
export function followLogs(place: Place, filter: object, events: TailEvents): () => void {
  const key = place.key === '' ? '' : `/${encodeURIComponent(place.key)}`;
  const socket = new WebSocket(
    `${location.protocol === 'https:' ? 'wss' : 'ws'}://${location.host}/rpc/${place.endpoint}${key}`,
  );
  let logs: readonly WireLog[] = [];
  let timer: number | undefined;
  socket.addEventListener('open', () => {
    events.onState('subscribing');
    socket.send(
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['pendingLogs', filter] }),
    );
  });
  socket.addEventListener('message', ({ data }: MessageEvent<string>) => {
    const message = JSON.parse(data) as {
      readonly id?: number;
      readonly error?: { readonly message: string };
      readonly params?: { readonly result: WireLog };
    };
    if (message.error !== undefined) events.onState(message.error.message);
    else if (message.id === 1) events.onState('following');
    if (message.params === undefined) return;
    logs = [message.params.result, ...logs].slice(0, KEPT);
    timer ??= window.setTimeout(() => {
      timer = undefined;
      events.onLogs(logs);
    }, SHOW_MS);
  });
  socket.addEventListener('close', ({ code }) => events.onState(`closed (${code})`));
  return () => {
    clearTimeout(timer);
    socket.close();
  };
}
