import { count, subnets, toggle } from '../parsers.ts';
import type { Command, OptionSpec } from '../spec.ts';

const SERVE = ['serve'] as const satisfies readonly Command[];

/** How much clients may use. */
export const RATE_OPTIONS = {
  rateBurst: {
    group: 'Rates',
    commands: SERVE,
    value: 'SECONDS',
    parse: count({ min: 1, max: 3_600 }),
    default: '10',
    isReloaded: true,
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
    isReloaded: true,
    doc: 'Addresses or subnets of proxies whose x-forwarded-for is believed. Without it, all clients behind a proxy are one.',
  },
} as const satisfies Record<string, OptionSpec>;
