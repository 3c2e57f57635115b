import type { AbiEvent, Chain, Client, Transport } from 'viem';
import type { SendRawTransactionSyncParameters, SendRawTransactionSyncReturnType } from 'viem/actions';
import { type Capabilities, getCapabilities } from './capabilities.ts';
import { type GetLogPagesParameters, getLogPages } from './get-log-pages.ts';
import type { FoundLog } from './log-filter.ts';
import { sendSync } from './send-sync.ts';
import { type WatchChainLogsParameters, watchChainLogs } from './watch-logs.ts';

export type ChainQueryActions<chain extends Chain | undefined = Chain | undefined> = {
  /** What the node offers beyond plain JSON-RPC, and what is lost where it does not. */
  getCapabilities: () => Promise<Capabilities>;
  /** Logs of any range, page by page. */
  getLogPages: <const event extends AbiEvent | undefined = undefined>(
    parameters: GetLogPagesParameters<event>,
  ) => AsyncGenerator<readonly FoundLog<event>[]>;
  /** Sends a signed transaction and gives its receipt. */
  sendSync: (
    parameters: SendRawTransactionSyncParameters,
  ) => Promise<SendRawTransactionSyncReturnType<chain>>;
  /** Watches logs, exactly once, through disconnects and reorgs. */
  watchChainLogs: <const event extends AbiEvent | undefined = undefined>(
    parameters: WatchChainLogsParameters<event>,
  ) => () => void;
};

/** All actions of this package, for `client.extend(chainQueryActions())`. Each can be imported by itself, too. */
export function chainQueryActions() {
  return <transport extends Transport, chain extends Chain | undefined>(
    client: Client<transport, chain>,
  ): ChainQueryActions<chain> => ({
    getCapabilities: () => getCapabilities(client),
    getLogPages: (parameters) => getLogPages(client as Client, parameters),
    sendSync: (parameters) => sendSync(client, parameters),
    watchChainLogs: (parameters) => watchChainLogs(client as Client, parameters),
  });
}
