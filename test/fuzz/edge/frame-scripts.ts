import type { Random } from '../../support/random.ts';

/** What one client sends over a WebSocket connection, and what must come back. */
export interface FrameScript {
  readonly bytes: Buffer;
  /** How it ends; sent once all is answered, or at once: then what was asked may go unanswered. */
  readonly ending: Buffer;
  readonly isPatient: boolean;
  /** What each answer must be, or have in it, in order. */
  readonly answers: readonly string[];
  readonly pongs: readonly string[];
  /** The code that the server closes with; absent where the client is gone in the middle of a frame. */
  readonly close?: number;
  readonly kinds: readonly string[];
}

export const MAX_MESSAGE_BYTES = 4_096;
const [CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG] = [0, 1, 2, 8, 9, 10] as const;

interface FrameOptions {
  readonly fin?: boolean;
  readonly rsv?: number;
  readonly isMasked?: boolean;
  /** How its length is written: in 7, 16 or 64 bits. */
  readonly lengthBits?: 7 | 16 | 64;
  /** What it says its length is. */
  readonly length?: bigint;
}

function frame(random: Random, opcode: number, payload: Buffer, options: FrameOptions = {}): Buffer {
  const { fin = true, rsv = 0, isMasked = true, length = BigInt(payload.length) } = options;
  const least = length < 126n ? 7 : length < 65_536n ? 16 : 64;
  // Longer than needed is allowed, but for control frames, which have no longer ones.
  const isWide = opcode < CLOSE && random.chance(0.2);
  const bits = options.lengthBits ?? (isWide ? random.pick([16, 64].filter((wide) => wide >= least)) : least);
  const head = Buffer.alloc(2 + (bits === 7 ? 0 : bits / 8));
  head[0] = (fin ? 0x80 : 0) | (rsv << 4) | opcode;
  head[1] = (isMasked ? 0x80 : 0) | (bits === 7 ? Number(length) : bits === 16 ? 126 : 127);
  if (bits === 16) head.writeUInt16BE(Number(length), 2);
  if (bits === 64) head.writeBigUInt64BE(length, 2);
  if (!isMasked) return Buffer.concat([head, payload]);
  const mask = random.chance(0.2) ? Buffer.alloc(4) : Buffer.from(random.bytes(4));
  return Buffer.concat([head, mask, payload.map((byte, at) => byte ^ (mask[at % 4] ?? 0))]);
}

/** Bodies, and what answers them; what gets no answer has none. */
function body(random: Random, id: number): readonly [string, string | undefined] {
  const answer = `{"jsonrpc":"2.0","id":${id},"result":"0x1"}`;
  return random.weighted<readonly [string, string | undefined]>([
    [6, () => [`{"jsonrpc":"2.0","id":${id},"method":"eth_chainId"}`, answer]],
    [1, () => [`{"jsonrpc":"2.0","id":${id},"method":"eth_chainId","é😀":"${'é'.repeat(90)}"}`, answer]],
    [1, () => [`{"jsonrpc":"2.0","id":${id},"method":"eth_chainId"${' '.repeat(1_000)}}`, answer]],
    [1, () => ['{"jsonrpc":"2.0","method":"eth_chainId"}', undefined]],
    [1, () => ['{', '"code":-32700']],
    [1, () => ['', '"code":-32700']],
    [1, () => ['[]', '"code":-32600']],
  ]);
}

/** A message in as many frames, with pings between them. */
function message(random: Random, text: string, onPing: () => Buffer): Buffer {
  const opcode = random.pick([TEXT, TEXT, BINARY]);
  const payload = Buffer.from(text);
  const count = random.chance(0.6) ? 1 : random.between(2, 6);
  const cuts = random.list(count - 1, () => random.below(payload.length + 1)).sort((a, b) => a - b);
  const pieces = [0, ...cuts].map((cut, at) => payload.subarray(cut, cuts[at] ?? payload.length));
  return Buffer.concat(
    pieces.flatMap((piece, at) => [
      ...(at > 0 && random.chance(0.3) ? [onPing()] : []),
      frame(random, at === 0 ? opcode : CONTINUATION, piece, { fin: at === count - 1 }),
    ]),
  );
}

type Ending = readonly [code: number | undefined, bytes: Buffer];
const NOT_UTF8 = Buffer.from([0x22, 0xc3, 0x28, 0xed, 0xa0, 0x80, 0xff]);
const closing = (code: number, reason: Buffer | string = ''): Buffer =>
  Buffer.concat([Buffer.of(code >> 8, code & 255), Buffer.from(reason)]);

/** Ways for a connection to end: as it should, by each thing that RFC 6455 forbids, and in the middle of something. */
const ENDINGS: Readonly<Record<string, (random: Random) => Ending>> = {
  'closed without a code': (random) => [1005, frame(random, CLOSE, Buffer.alloc(0))],
  'closed by the client': (random) => {
    const code = random.pick([1000, 1001, 1003, 1007, 1011, 3000, 4999]);
    return [code, frame(random, CLOSE, closing(code, 'é'.repeat(random.below(60))))];
  },
  'reserved bits': (random) => [
    1002,
    frame(random, random.pick([TEXT, BINARY, PING, CLOSE, CONTINUATION]), Buffer.from('{'), {
      rsv: random.between(1, 7),
    }),
  ],
  'an opcode that is none': (random) => [
    1002,
    frame(random, random.pick([3, 4, 5, 6, 7, 11, 12, 13, 14, 15]), Buffer.from('{'), { lengthBits: 7 }),
  ],
  'no mask': (random) => [
    1002,
    frame(random, random.pick([TEXT, BINARY, PING, PONG]), Buffer.from('{}'), { isMasked: false }),
  ],
  'a continuation of nothing': (random) => [
    1002,
    frame(random, CONTINUATION, Buffer.from('{'), { fin: random.chance(0.5) }),
  ],
  'a message within a message': (random) => [
    1002,
    Buffer.concat([
      frame(random, TEXT, Buffer.from('{'), { fin: false }),
      frame(random, random.pick([TEXT, BINARY]), Buffer.from('}'), { fin: random.chance(0.5) }),
    ]),
  ],
  'a long control frame': (random) => [
    1002,
    frame(random, random.pick([CLOSE, PING, PONG]), Buffer.alloc(random.pick([126, 200, 70_000]), 0x41)),
  ],
  'a control frame in pieces': (random) => [
    1002,
    frame(random, random.pick([CLOSE, PING, PONG]), Buffer.from('ab'), { fin: false }),
  ],
  'half a code': (random) => [1002, frame(random, CLOSE, Buffer.of(3))],
  'a code that nobody may send': (random) => [
    1002,
    frame(random, CLOSE, closing(random.pick([0, 999, 1004, 1005, 1006, 1015, 1016, 2999, 5000, 65_535]))),
  ],
  'a reason that is no text': (random) => [1007, frame(random, CLOSE, closing(1000, NOT_UTF8))],
  'a text that is none': (random) => [
    1007,
    Buffer.concat([
      frame(random, TEXT, NOT_UTF8.subarray(0, 2), { fin: false }),
      frame(random, CONTINUATION, NOT_UTF8.subarray(2)),
    ]),
  ],
  'more than a message may have': (random) => [
    1009,
    frame(random, random.pick([TEXT, BINARY]), Buffer.alloc(0), {
      length: random.pick([
        BigInt(MAX_MESSAGE_BYTES + 1),
        65_536n,
        2n ** 31n,
        2n ** 32n + 5n,
        2n ** 53n - 1n,
      ]),
    }),
  ],
  'more in pieces': (random) => [
    1009,
    Buffer.concat([
      frame(random, TEXT, Buffer.alloc(MAX_MESSAGE_BYTES - 10, 32), { fin: false }),
      frame(random, CONTINUATION, Buffer.alloc(11, 32)),
    ]),
  ],
  'a length beyond all numbers': (random) => [
    1009,
    frame(random, TEXT, Buffer.alloc(0), { length: random.pick([2n ** 53n, 2n ** 63n, 2n ** 64n - 1n]) }),
  ],
  'gone in a frame': (random) => {
    const whole = frame(random, random.pick([TEXT, BINARY, PING]), Buffer.from('{"a":1}'));
    return [undefined, whole.subarray(0, random.below(whole.length))];
  },
  'gone in a message': (random) => [undefined, frame(random, TEXT, Buffer.from('{'), { fin: false })],
};

const KINDS = Object.entries(ENDINGS);

/** A few messages and control frames as clients send them, then an end. */
export function makeFrames(random: Random): FrameScript {
  const parts: Buffer[] = [];
  const answers: string[] = [];
  const pongs: string[] = [];
  const kinds: string[] = [];
  const ping = (): Buffer => {
    const payload = Buffer.from(random.bytes(random.pick([0, 1, 7, 125])));
    pongs.push(payload.toString('hex'));
    return frame(random, PING, payload);
  };
  for (let left = random.below(6); left > 0; left--) {
    random.weighted<void>([
      [
        5,
        () => {
          const [text, answer] = body(random, left);
          parts.push(message(random, text, ping));
          if (answer !== undefined) answers.push(answer);
          kinds.push('message');
        },
      ],
      [1, () => void parts.push(ping())],
      [1, () => void parts.push(frame(random, PONG, Buffer.from(random.bytes(random.below(126)))))],
    ]);
  }
  const [kind, make] = random.pick(KINDS);
  const [close, bytes] = make(random);
  const sent = { bytes: Buffer.concat(parts), ending: bytes, isPatient: random.chance(0.5) };
  const script = { ...sent, answers, pongs, kinds: [...kinds, kind] };
  return close === undefined ? script : { ...script, close };
}
