import { count, subnets, toggle } from '../parsers.ts';
import type { Command, OptionSpec } from '../spec.ts';

const SERVE = ['serve'] as const satisfies readonly Command[];
const UNITS = { min: 0, max: 1_000_000_000 };

/** How much clients may use. */
export const RATE_OPTIONS = {
  publicRate: {
    group: 'Rates',
    commands: SERVE,
    value: 'N',
    parse: count(UNITS),
    default: '1000',
    isCommon: true,
    doc: 'Units a second that one address may use on the public listener: a nonce is one, a call four, logs by their range, see docs/methods.md. Beyond it, HTTP 429. 0 is any number.',
  },
  dedicatedRate: {
    group: 'Rates',
    commands: SERVE,
    value: 'N',
    parse: count(UNITS),
    default: '0',
    doc: 'The same on the dedicated listener, for each key that has no rate of its own. 0 is any number.',
  },
  rateBurst: {
    group: 'Rates',
    commands: SERVE,
    value: 'SECONDS',
    parse: count({ min: 1, max: 3_600 }),
    default: '10',
    doc: 'What a client that was quiet may use at once, in seconds of its rate.',
  },
  limitLoopback: {
    group: 'Rates',
    commands: SERVE,
    value: 'on|off',
    parse: toggle,
    default: 'off',
    doc: 'Whether clients on this machine have a rate, too.',
  },
  trustedProxies: {
    group: 'Rates',
    commands: SERVE,
    value: 'SUBNET',
    parse: subnets,
    repeatable: true,
    doc: 'Addresses or subnets of proxies whose x-forwarded-for is believed. Without it, all clients behind a proxy are one.',
  },
} as const satisfies Record<string, OptionSpec>;
