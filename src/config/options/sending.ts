import { count, methodNames, sendTargets, toggle } from '../parsers.ts';
import type { Command, OptionSpec } from '../spec.ts';

const SERVE = ['serve'] as const satisfies readonly Command[];
const MILLISECONDS = { min: 1, max: 3_600_000 };

/** What is sent and passed on to others. */
export const SENDING_OPTIONS = {
  sendTo: {
    group: 'Sending',
    commands: SERVE,
    value: 'URL',
    parse: sendTargets,
    isSecret: true,
    repeatable: true,
    brief: 'Where transactions go; left out, upstreams; or `off`',
    doc: 'Where transactions are sent: the first that can be reached. Left out, to the upstream that leads, then to the others; `off` sends none.',
  },
  syncTimeoutMs: {
    group: 'Sending',
    commands: SERVE,
    value: 'MS',
    parse: count(MILLISECONDS),
    default: '2000',
    isReloaded: true,
    doc: 'How long eth_sendRawTransactionSync waits for a receipt when the client does not say.',
  },
  syncTimeoutMaxMs: {
    group: 'Sending',
    commands: SERVE,
    value: 'MS',
    parse: count(MILLISECONDS),
    default: '10000',
    isReloaded: true,
    doc: 'The longest wait that a client may ask for. Who asks for more gets the default.',
  },
  syncWaiting: {
    group: 'Sending',
    commands: SERVE,
    value: 'N',
    parse: count({ min: 0, max: 1_000_000 }),
    default: '512',
    doc: 'Requests that wait for a receipt at the same time, per thread; below --max-in-flight, or they keep out all others. One client gets no more than are left free for the others. More are refused before anything is sent.',
  },
  poolNonce: {
    group: 'Sending',
    commands: SERVE,
    value: 'SWITCH',
    parse: toggle,
    isSwitch: true,
    default: 'off',
    isReloaded: true,
    doc: 'The `pending` nonce of an account counts what was sent through this node or waits in the pool of an upstream.',
  },
  forward: {
    group: 'Sending',
    commands: SERVE,
    value: 'METHOD',
    parse: methodNames,
    repeatable: true,
    doc: 'Methods that are passed on to an upstream and answered as it answers, which `x-chain-source` says. None that is served here, but for those that look for a hash (`eth_getTransactionByHash`, `eth_getTransactionReceipt`, `eth_getBlockByHash` and the like): they are passed on where the copy does not hold it.',
  },
} as const satisfies Record<string, OptionSpec>;
