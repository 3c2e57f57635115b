import { once } from 'node:events';
import { WebSocket } from 'ws';
import { testDispatcher, textOf } from '../support/serve/dispatcher.ts';
import { startListener } from '../support/serve/listener.ts';
import { findFault } from './well-formed.ts';

const FORBIDDEN: ReadonlySet<string> = new Set(['eth_getBlockReceipts']);
const MAX_BODY_BYTES = 1 << 20;

/** Sends bodies over one WebSocket connection: each must be answered as a dispatcher answers it, and none end it. */
export async function fuzzWebSocket(
  bodies: Iterable<readonly Buffer[]>,
  within: <T>(work: Promise<T>) => Promise<T>,
  judge: (body: Buffer, fault: string | undefined) => void,
): Promise<void> {
  const dispatcher = await testDispatcher({ forbidden: FORBIDDEN });
  const caller = { signal: new AbortController().signal, client: 'fuzz' };
  await using listener = await startListener(undefined, { maxBodyBytes: MAX_BODY_BYTES });
  const socket = new WebSocket(listener.url);
  await once(socket, 'open');
  try {
    for (const chunk of bodies) {
      for (const body of chunk) {
        if (body.length > MAX_BODY_BYTES) continue;
        if (body.includes('subscribe')) {
          judge(body, await faultOfSubscriber(listener.url, body, within));
          continue;
        }
        const expected = textOf((await dispatcher.handle(body, caller)).body);
        // What gets no answer is followed by something that gets one.
        const answer = within(once(socket, 'message'));
        socket.send(body, { binary: true });
        if (expected === '') socket.send('{');
        const [text] = await answer;
        const isRight = expected === '' ? String(text).includes('-32700') : String(text) === expected;
        judge(body, isRight ? undefined : `over WebSocket ${String(text)}, else ${expected}`);
      }
    }
  } finally {
    socket.close();
    await once(socket, 'close');
  }
}

/** What subscribes is told more than its answer: it has a connection of its own, whose first message must be well-formed. */
async function faultOfSubscriber(
  url: string,
  body: Buffer,
  within: <T>(work: Promise<T>) => Promise<T>,
): Promise<string | undefined> {
  const socket = new WebSocket(url);
  await once(socket, 'open');
  try {
    const answer = within(once(socket, 'message'));
    socket.send(body, { binary: true });
    // Something that gets an answer, if that had none.
    socket.send('{');
    const text = String((await answer)[0]);
    return text.includes('"method":"eth_subscription"') ? undefined : findFault(200, text);
  } finally {
    socket.close();
    await once(socket, 'close');
  }
}
