import {
  type AbiEvent,
  type Address,
  type ContractEventArgs,
  decodeEventLog,
  encodeEventTopics,
  formatLog,
  type Log,
  type LogTopic,
  type RpcLog,
} from 'viem';

/** Which logs: of an event with some arguments, or with some topics. */
export interface LogFilter<event extends AbiEvent | undefined = undefined> {
  readonly address?: Address | readonly Address[] | undefined;
  readonly event?: event | undefined;
  /** Values of indexed arguments. */
  readonly args?: event extends AbiEvent ? ContractEventArgs<[event]> : undefined;
  readonly topics?: readonly LogTopic[] | undefined;
}

/** A log with the arguments of its event. */
export type FoundLog<event extends AbiEvent | undefined = undefined> = Log<
  bigint,
  number,
  false,
  event,
  true
>;

/** The filter as nodes take it. */
export function rpcFilter(filter: LogFilter<AbiEvent | undefined>): object {
  const { address, event, args, topics } = filter;
  const wanted =
    event === undefined ? topics : encodeEventTopics({ abi: [event], eventName: event.name, args });
  return {
    ...(address === undefined ? {} : { address }),
    ...(wanted === undefined ? {} : { topics: wanted }),
  };
}

/** The log as viem has it; undefined where it does not have the arguments of the event, as other contracts' may not. */
export function foundLog<event extends AbiEvent | undefined>(
  { event }: LogFilter<event>,
  log: RpcLog,
): FoundLog<event> | undefined {
  const formatted = formatLog(log);
  if (event === undefined) return formatted as FoundLog<event>;
  try {
    const { topics, data } = log;
    const { args, eventName } = decodeEventLog({ abi: [event], topics, data, strict: true });
    return { ...formatted, args, eventName } as unknown as FoundLog<event>;
  } catch {
    // Same topics, other data: it is another event of the same name.
    return undefined;
  }
}
