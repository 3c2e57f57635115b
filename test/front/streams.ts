import { AT_LEAST, AT_LEAST_NAMES, BODIES, EXTRA, GARBAGE, HOSTS, LENGTHS, LINES, TYPES } from './pieces.ts';

/** What one client sends over one connection, in the pieces it sends. */
export interface Stream {
  readonly chunks: readonly Buffer[];
}

export type Random = (below: number) => number;

/** The same numbers for the same seed (mulberry32). */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = state;
    t = Math.imul(t ^ (t >>> 15), t | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) % below;
  };
}

interface Message {
  line: string;
  headers: string[];
  body: string;
  /** Between head and body. */
  gap: string;
}

export const MAX_BODY_BYTES = 2_000;

function pick<T>(random: Random, list: readonly T[]): T {
  return list[random(list.length)] as T;
}

function plain(random: Random): Message {
  const body = Buffer.from(pick(random, BODIES)).toString('latin1');
  const host = random(4) === 0 ? pick(random, HOSTS) : 'localhost';
  const headers = [`Host: ${host}`, 'Content-Type: application/json', `Content-Length: ${body.length}`];
  // In any order, as clients do.
  if (random(2) === 0) headers.reverse();
  if (random(3) === 0) headers.splice(random(4), 0, pick(random, EXTRA.slice(0, 5)));
  if (random(4) === 0)
    headers.splice(random(4), 0, `X-Chain-At-Least: ${pick(random, AT_LEAST.slice(0, 6))}`);
  return { line: 'POST / HTTP/1.1', headers, body, gap: '' };
}

function atLeast(random: Random): string {
  const name = pick(random, [...AT_LEAST_NAMES.slice(0, 3), pick(random, AT_LEAST_NAMES)]);
  return `${name}: ${pick(random, AT_LEAST)}`;
}

/** Changes of one thing in a message. */
const CHANGES: readonly ((message: Message, random: Random) => void)[] = [
  (message, random) => {
    message.line = pick(random, LINES);
  },
  (message, random) => {
    message.headers.splice(random(message.headers.length + 1), 0, pick(random, EXTRA));
  },
  (message, random) => {
    message.headers.splice(random(message.headers.length + 1), 0, pick(random, EXTRA));
  },
  (message, random) => {
    message.headers.splice(random(message.headers.length + 1), 0, atLeast(random));
  },
  (message, random) => {
    const value = pick(random, LENGTHS)(message.body.length);
    message.headers = message.headers.map((header) =>
      header.startsWith('Content-Length') ? `Content-Length: ${value}` : header,
    );
  },
  (message, random) => {
    message.headers = message.headers.map((header) =>
      header.startsWith('Content-Type') ? `Content-Type: ${pick(random, TYPES)}` : header,
    );
  },
  (message, random) => {
    message.headers.splice(random(message.headers.length), 1);
  },
  (message, random) => {
    const at = random(message.headers.length);
    const header = message.headers[at] ?? '';
    message.headers[at] = pick(random, [
      header.toLowerCase(),
      header.toUpperCase(),
      header.replace(': ', ':'),
      header.replace(':', ' :'),
      header.replace(': ', ':  '),
      header.replace(': ', ':\t'),
      header.replace(': ', ':\r\n '),
      `${header} `,
      `${header}\t`,
      header.replace('-', '_'),
      header.replace(':', ''),
    ]);
  },
  (message, random) => {
    message.body = chunked(message.body, random);
    message.headers = message.headers.map((header) =>
      header.startsWith('Content-Length') ? 'Transfer-Encoding: chunked' : header,
    );
  },
  (message, random) => {
    message.body += pick(random, GARBAGE);
  },
  (message, random) => {
    message.gap = pick(random, GARBAGE);
  },
];

function chunked(body: string, random: Random): string {
  const size = body.length.toString(16);
  return pick(random, [
    `${size}\r\n${body}\r\n0\r\n\r\n`,
    `${size};ext=1\r\n${body}\r\n0\r\nX-Late: 1\r\n\r\n`,
    `${size}\n${body}\r\n0\r\n\r\n`,
    `+${size}\r\n${body}\r\n0\r\n\r\n`,
    `${size}\r\n${body}x\r\n0\r\n\r\n`,
  ]);
}

function render({ line, headers, body, gap }: Message, random: Random): Buffer {
  // Now and then lines end as they should not, all of them or one.
  const style = random(60);
  const end = style === 0 ? '\n' : style === 1 ? '\r' : style === 2 ? '\r\r\n' : '\r\n';
  const odd = random(20) === 0 ? random(headers.length + 2) : -1;
  const head = [line, ...headers, '']
    .map((text, index) => text + (index === odd ? pick(random, ['\n', '\r', ' \r\n', '\r\r\n', '']) : end))
    .join('');
  return Buffer.from(head + gap + body, 'latin1');
}

function spoil(bytes: Buffer, random: Random): Buffer {
  const at = random(bytes.length + 1);
  const byte = Buffer.from([pick(random, [0, 9, 10, 13, 32, 45, 48, 58, 127, 128, 255, random(256)])]);
  const kind = random(4);
  if (kind === 0) return Buffer.concat([bytes.subarray(0, at), byte, bytes.subarray(at)]);
  if (kind === 1) return Buffer.concat([bytes.subarray(0, at), byte, bytes.subarray(at + 1)]);
  if (kind === 2) return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
  return bytes.subarray(0, at);
}

function split(bytes: Buffer, starts: readonly number[], random: Random): readonly Buffer[] {
  const cuts = new Set<number>();
  const kind = random(8);
  if (kind < 3) for (let count = 1 + random(6); count > 0; count--) cuts.add(random(bytes.length + 1));
  if (kind === 2 || kind === 3 || kind === 4) for (const start of starts) cuts.add(start);
  if (kind === 5 && bytes.length < 700) for (let at = 1; at < bytes.length; at++) cuts.add(at);
  const sorted = [...cuts].filter((cut) => cut > 0 && cut < bytes.length).toSorted((a, b) => a - b);
  return [0, ...sorted].map((cut, index) => bytes.subarray(cut, sorted[index] ?? bytes.length));
}

/** A few requests on one connection, most of them with something wrong or unusual, cut somewhere. */
export function makeStream(random: Random): Stream {
  const segments: Buffer[] = [];
  const starts: number[] = [];
  for (let count = 1 + random(4); count > 0; count--) {
    const message = plain(random);
    const changes = pick(random, [0, 0, 1, 1, 1, 2, 3]);
    for (let i = 0; i < changes; i++) pick(random, CHANGES)(message, random);
    const bytes = render(message, random);
    segments.push(random(12) === 0 ? spoil(bytes, random) : bytes);
    starts.push(segments.reduce((sum, segment) => sum + segment.length, 0));
  }
  const bytes = Buffer.concat(segments);
  return { chunks: bytes.length === 0 ? [] : split(bytes, starts, random) };
}
