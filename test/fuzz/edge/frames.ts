import { Random } from '../../support/random.ts';
import { startListener } from '../../support/serve/listener.ts';
import { type Cases, eachCase, type Judge } from './case.ts';
import { type FrameScript, MAX_MESSAGE_BYTES, makeFrames } from './frame-scripts.ts';
import { openTalk, sendInPieces } from './talk.ts';

const LANES = 8;

/** What came back over a connection. */
interface Heard {
  readonly answers: readonly string[];
  readonly pongs: readonly string[];
  readonly close: number | undefined;
  /** Bytes of a frame that is not whole. */
  readonly rest: number;
}

/** Frames from right to noise over real sockets, to listeners with both fronts: each is answered, or ends its connection with the right code. */
export async function fuzzFrames(cases: Cases, judge: Judge): Promise<void> {
  const limits = { maxBodyBytes: MAX_MESSAGE_BYTES, maxConnections: 1_000 };
  await using hybrid = await startListener(undefined, { ...limits, front: 'hybrid' });
  await using node = await startListener(undefined, { ...limits, front: 'node' });
  const ports = [hybrid, node].map(({ url }) => Number(new URL(url).port));
  const kinds = new Map<string, number>();
  await eachCase(cases, LANES, judge, async (index) => {
    const random = new Random(cases.seed, index);
    const script = makeFrames(random);
    const kind = script.kinds.at(-1) ?? '';
    kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    const heard = await exchange(ports[index % ports.length] ?? 0, script, random);
    const fault = faultOf(script, heard);
    if (fault === undefined) return undefined;
    return `${fault}: ${script.kinds.join(', ')}; sent ${script.bytes.toString('hex').slice(0, 600)} ${script.ending.toString('hex').slice(0, 300)}; heard ${JSON.stringify(heard)}`;
  });
  console.log(`frames: ${cases.count}, ended by ${JSON.stringify(Object.fromEntries(kinds))}`);
}

function faultOf({ answers, pongs, close, isPatient }: FrameScript, heard: Heard): string | undefined {
  const unheard = [...answers];
  for (const answer of heard.answers) {
    const at = unheard.findIndex((expected) => answer.includes(expected));
    if (at === -1) return `nobody asked for ${answer}`;
    unheard.splice(at, 1);
  }
  if (isPatient && unheard.length > 0) return `no answer ${unheard.join()}`;
  const asked = pongs.slice(0, heard.pongs.length).join();
  if (heard.pongs.join() !== asked) return 'pings are not answered as they were';
  if (isPatient && heard.pongs.length !== pongs.length) return 'not all pings are answered';
  return heard.close === close ? undefined : `closed with ${heard.close}, not ${close}`;
}

/** Upgrades a connection, sends bytes cut anywhere, and listens until the server has ended it. */
async function exchange(port: number, script: FrameScript, random: Random): Promise<Heard> {
  let received = Buffer.alloc(0);
  let onData = (): void => undefined;
  const { socket, closed, end } = await openTalk(port, (chunk) => {
    received = Buffer.concat([received, chunk]);
    onData();
  });
  socket.write(
    'GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n' +
      `Sec-WebSocket-Key: ${Buffer.from(random.bytes(16)).toString('base64')}\r\n\r\n`,
  );
  const { bytes, ending, isPatient, answers, pongs, close } = script;
  if (isPatient) {
    await sendInPieces(socket, bytes, random);
    const isAnswered = (): boolean => {
      const heard = hear(received);
      return heard.answers.length >= answers.length && heard.pongs.length >= pongs.length;
    };
    const answered = new Promise<void>((resolve) => {
      onData = () => isAnswered() && resolve();
      onData();
    });
    await Promise.race([answered, closed]);
  }
  await sendInPieces(socket, isPatient ? ending : Buffer.concat([bytes, ending]), random);
  // Who is gone ends; others wait to be closed, as browsers do.
  if (close === undefined) socket.end();
  await end(() => JSON.stringify(hear(received)));
  const heard = hear(received);
  if (heard.rest > 0) throw new Error('half a frame at the end');
  return heard;
}

/** Reads the frames of a server, which are never masked nor in pieces, as far as they are whole. */
function hear(received: Buffer): Heard {
  const answers: string[] = [];
  const pongs: string[] = [];
  let close: number | undefined;
  let at = received.indexOf('\r\n\r\n') + 4;
  if (at < 4) return { answers, pongs, close, rest: received.length };
  const head = received.toString('latin1', 0, at);
  if (!head.startsWith('HTTP/1.1 101 ')) throw new Error(`not upgraded: ${head}`);
  while (at + 2 <= received.length) {
    const [first = 0, second = 0] = received.subarray(at);
    // No answer to what is asked here is longer.
    if (second > 126) throw new Error(`a frame whose second byte is ${second}`);
    const start = at + (second === 126 ? 4 : 2);
    if (start > received.length) break;
    const end = start + (second === 126 ? received.readUInt16BE(at + 2) : second);
    if (end > received.length) break;
    const payload = received.subarray(start, end);
    if (close !== undefined) throw new Error('a frame after the last');
    if (first === 0x81) answers.push(payload.toString());
    else if (first === 0x8a) pongs.push(payload.toString('hex'));
    else if (first === 0x88) close = payload.length === 0 ? 1005 : payload.readUInt16BE(0);
    // It looks whether a client is there, in a long run.
    else if (first !== 0x89) throw new Error(`a frame that begins with ${first}`);
    at = end;
  }
  return { answers, pongs, close, rest: received.length - at };
}
