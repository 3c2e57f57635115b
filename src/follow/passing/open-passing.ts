import type { Registry } from 'prom-client';
import type { PassOn } from '../../chain/pass-on.ts';
import type { CommandOptions } from '../../config/table.ts';
import { DEFAULT_SOURCE_OPTIONS, poolOptions, type SourceOptions } from '../../source/pool/options.ts';
import { RpcSource } from '../../source/rpc-source.ts';
import { Passing, type PassTarget } from './passing.ts';

type SendingOptions = Pick<CommandOptions<'serve'>, 'sendTo' | 'upstreamPollMs'> &
  Parameters<typeof poolOptions>[0];

/** What is passed on, and whether transactions are. */
export interface OpenPassing {
  readonly passOn: PassOn;
  readonly canSend: boolean;
  close(): void;
}

/** Opens the way to whoever takes transactions and answers what cannot be answered here. */
export function openPassing(
  options: SendingOptions,
  modules: {
    readonly chainId: bigint;
    readonly upstream?: PassTarget | undefined;
    readonly registry: Registry;
  },
): OpenPassing {
  const { chainId, upstream, registry } = modules;
  const { sendTo } = options;
  const own =
    sendTo === undefined || sendTo.length === 0 ? undefined : new RpcSource(sendTo, sourceOptions(options));
  own?.expectChain(chainId);
  const sends = own && { source: own, prefer: () => own.status()[0]?.name };
  const send = sendTo === undefined ? upstream : sends;
  const passing = new Passing({ send, upstream, registry });
  return { passOn: passing.passOn, canSend: send !== undefined, close: () => own?.close() };
}

/** How upstreams are asked, as configured. */
export function sourceOptions(options: Omit<SendingOptions, 'sendTo'>): SourceOptions {
  const { watch } = DEFAULT_SOURCE_OPTIONS;
  return { pool: poolOptions(options), watch: { ...watch, pollMs: options.upstreamPollMs } };
}
