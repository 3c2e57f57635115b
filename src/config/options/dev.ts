import { type Endpoint, endpoint, path } from '../parsers.ts';
import type { Command, OptionSpec } from '../spec.ts';
import { UsageError } from '../usage-error.ts';

const DEV = ['dev'] as const satisfies readonly Command[];

/** Accepts `HOST:PORT`: there is no chain without it. */
function alwaysOn(text: string): Endpoint {
  const parsed = endpoint(text);
  if (parsed === 'off') throw new UsageError('expected HOST:PORT');
  return parsed;
}

/** The rows of the table that are about a chain of one's own. */
export const DEV_OPTIONS = {
  opGeth: {
    group: 'Development',
    commands: DEV,
    value: 'FILE',
    parse: path,
    brief: 'op-geth that runs the chain; else from PATH',
    doc: 'op-geth that runs the chain. Left out, it is looked for on PATH; without one, it is anvil.',
  },
  anvil: {
    group: 'Development',
    commands: DEV,
    value: 'FILE',
    parse: path,
    brief: 'anvil that runs it; else the npm package, or PATH',
    doc: 'anvil that runs the chain. Left out, it is the installed npm package, or on PATH.',
  },
  chainRpc: {
    group: 'Development',
    commands: DEV,
    value: 'HOST:PORT',
    parse: alwaysOn,
    default: '127.0.0.1:8555',
    brief: 'Where the chain takes transactions',
    doc: 'Where the chain takes transactions. Whoever reaches it can do anything with it.',
  },
} as const satisfies Record<string, OptionSpec>;
