export { type ChainQueryActions, chainQueryActions } from './actions.ts';
export { CAPABILITIES, type Capabilities, type Capability, getCapabilities } from './capabilities.ts';
export { type GetLogPagesParameters, getLogPages } from './get-log-pages.ts';
export type { FoundLog, LogFilter } from './log-filter.ts';
export { HeldLogsError, StreamError } from './log-ledger.ts';
export { type ChainPoint, ChainPosition, type ChainView } from './position.ts';
export { SocketClosedError, SocketRpcError } from './rpc-socket.ts';
export { sendSync } from './send-sync.ts';
export {
  BehindError,
  type ChainQueryHttpConfig,
  type ChainQueryHttpTransport,
  chainQueryHttp,
} from './transport.ts';
export { type LogEvent, type WatchChainLogsParameters, watchChainLogs } from './watch-logs.ts';
