import { type ErrorType, rpcErrorOf } from '../../src/rpc/dispatch/error-map.ts';

/** An error as the page shows it: one that can happen, when it does, and what whoever meets it can do. */
interface ErrorDoc<K extends ErrorType['code']> {
  readonly example: Extract<ErrorType, { readonly code: K }>;
  readonly when: string;
  readonly action: string;
  /** What stands for a message that the example alone would not show. */
  readonly words?: string;
}

type AnyErrorDoc = { readonly [K in ErrorType['code']]: ErrorDoc<K> }[ErrorType['code']];

// A code that is missing here does not compile: the page has every one of them.
const ERRORS: { readonly [K in ErrorType['code']]: ErrorDoc<K> } = {
  PARSE_ERROR: {
    example: { code: 'PARSE_ERROR', reason: 'parse error' },
    when: 'The body is not JSON, or not UTF-8.',
    action: 'Send one JSON-RPC object, or a list of them.',
  },
  INVALID_REQUEST: {
    example: { code: 'INVALID_REQUEST', reason: 'invalid request' },
    words: '`invalid request`, `empty batch`, `batch too large: …`, `request too complex, …`',
    when: 'JSON that is no request of JSON-RPC 2.0; a batch that is empty or over `batchEntries`; more than `--max-body-elements` values.',
    action: 'Mend the request, or send smaller batches.',
  },
  METHOD_NOT_FOUND: {
    example: { code: 'METHOD_NOT_FOUND', method: 'eth_foo' },
    when: 'No such method here.',
    action: 'See [the methods](methods.md). What an upstream has can be passed on: `--forward METHOD`.',
  },
  NOT_AVAILABLE: {
    example: { code: 'NOT_AVAILABLE', method: 'eth_sendRawTransaction' },
    when: 'Nobody is there who could do it: no `--send-to` and no upstream.',
    action: 'Give the node an `--upstream` or `--send-to`.',
  },
  NO_NOTIFICATIONS: {
    example: { code: 'NO_NOTIFICATIONS' },
    when: '`eth_subscribe` over plain HTTP.',
    action: 'Connect to the same port with WebSocket.',
  },
  INVALID_PARAMS: {
    example: { code: 'INVALID_PARAMS', reason: 'invalid block range params' },
    words:
      'what is wrong, such as `missing value for required argument 0`; those of `eth_getLogs` are [below](#eth_getlogs)',
    when: 'Parameters that cannot be understood or contradict each other; a log query over a limit.',
    action: 'Mend the request. For logs, ask for the range that the message names.',
  },
  BLOCK_NOT_FOUND: {
    example: { code: 'BLOCK_NOT_FOUND', block: '0x10', lowest: '0x2a' },
    when: 'No such block here: above the head, of another chain, reorged out, or below the lowest block held.',
    action:
      'Above the head: wait, or send `x-chain-at-least`. Below the lowest: `chain-query backfill`. A cursor or hash that was reorged out: begin again from a final block.',
  },
  NOT_CANONICAL: {
    example: { code: 'NOT_CANONICAL', hash: '0x…' },
    when: 'The block is known, and reorged out; the request wants `requireCanonical`.',
    action: 'Ask again with the new hash of that number.',
  },
  NOT_REACHED: {
    example: {
      code: 'NOT_REACHED',
      header: 'x-chain-at-least',
      point: '101;3',
      head: 99,
      milliseconds: 2_000,
    },
    when: 'The replica did not get to the block of `x-chain-at-least` in `--at-least-wait-ms`.',
    action: 'Ask another replica, or again. If it is always the same one: look at its `/readyz`.',
  },
  STATE_NOT_HELD: {
    example: { code: 'STATE_NOT_HELD', block: '0x10', lowest: '0x2a' },
    when: 'The block is held, its state is not: it is below the anchor.',
    action: 'Start with `--archive URL`, or ask an archive node.',
  },
  NOT_INDEXED: {
    example: { code: 'NOT_INDEXED', above: '0x2a' },
    when: 'A transaction hash is asked for while older blocks are still being indexed.',
    action: 'Ask again later.',
  },
  REORGANISED: {
    example: { code: 'REORGANISED' },
    when: 'The chain was reorged again and again while the request ran.',
    action: 'Ask again.',
  },
  STATE_UNAVAILABLE: {
    example: { code: 'STATE_UNAVAILABLE', reason: 'no upstream has it' },
    words: '`resource unavailable: …` with the reason',
    when: 'State that nobody has asked for before, and no upstream gives in `--state-timeout-ms`.',
    action: 'Ask again. If it stays: `chain-query doctor` says which upstream lacks what.',
  },
  STATE_LIMIT: {
    example: { code: 'STATE_LIMIT', what: 'values', limit: 2_000 },
    when: 'One request, a batch included, needs more state from upstreams than `stateReads`, or more bytes than `--request-state-bytes`.',
    action: 'Send smaller batches, or ask the dedicated endpoint. Once read, state is held.',
  },
  CALL_REVERTED: {
    example: { code: 'CALL_REVERTED', data: '0x', standard: false },
    when: 'The contract reverted. `data` is the ABI-encoded reason, `0x` when there is none. With `--compat execution-apis` the code is 3, and the message has the decoded reason.',
    action: 'It is the answer of the contract: decode `data`.',
  },
  CALL_FAILED: {
    example: { code: 'CALL_FAILED', reason: 'out of gas' },
    words:
      '`out of gas`, `invalid opcode: …`, `stack underflow …`, `insufficient funds …`, `nonce too low …` and the like, in geth’s words',
    when: 'The EVM halted, the call could not begin, or a transaction is one that no pool would take.',
    action: 'Mend the call or the transaction.',
  },
  SIMULATION_REFUSED: {
    example: { code: 'SIMULATION_REFUSED', rpcCode: -38_020, reason: 'block numbers must be in order' },
    words: 'as [below](#eth_simulatev1)',
    when: '`eth_simulateV1` cannot run what was asked for.',
    action: 'By its code, [below](#eth_simulatev1).',
  },
  TIME_LIMIT: {
    example: { code: 'TIME_LIMIT', what: 'call', milliseconds: 5_000 },
    when: 'A call, query, request or simulation took longer than its limit. Never `execution reverted`, so that clients do not take it for an answer.',
    action: 'Ask for less: fewer steps, a shorter range. The limits are [options](limits.md).',
  },
  NATIVE_CONTRACT: {
    example: {
      code: 'NATIVE_CONTRACT',
      address: '0xb20f…',
      isPending: false,
    },
    when: 'The call enters a [native contract](native-contracts.md) and no upstream runs it: `--native-contracts refuse`, none is there, or it is of pre-confirmed state.',
    action: 'Ask with `latest`, and give the node an upstream that answers calls.',
  },
  UNKNOWN_RULES: {
    example: { code: 'UNKNOWN_RULES', block: 100 },
    when: 'The block is of a fork that this version does not know, and no upstream answers for it.',
    action: 'Install a newer version.',
  },
  UPSTREAM_ERROR: {
    example: { code: 'UPSTREAM_ERROR', number: -32_000, message: 'nonce too low' },
    words: 'as the upstream says',
    when: 'What was sent or passed on was refused there. Its code, message and data are passed on.',
    action: 'As with the upstream itself.',
  },
  NOT_SENT: {
    example: { code: 'NOT_SENT', reason: 'the transaction could be sent to nobody' },
    words: '`resource unavailable: …` with the reason',
    when: 'Nobody who takes transactions could be reached, or it is not known whether one took it.',
    action: 'Send the same bytes again: a second copy has no effect.',
  },
  NOT_SEEN: {
    example: { code: 'NOT_SEEN', hash: '0x…', milliseconds: 2_000 },
    when: '`eth_sendRawTransactionSync`: sent, and no receipt in time. `data` is the hash (EIP-7966).',
    action: 'Do not send anew: poll `eth_getTransactionReceipt` with the hash.',
  },
  NOT_READY: {
    example: { code: 'NOT_READY', hash: '0x…', nonce: 7, next: 5 },
    when: '`eth_sendRawTransactionSync`: sent, but transactions before it are missing. `data` is the hash.',
    action: 'Send the transactions with the missing nonces.',
  },
  CANCELLED: {
    example: { code: 'CANCELLED' },
    when: 'The client left, or the node shuts down.',
    action: 'Ask again, another node if this one is draining.',
  },
  OVERLOADED: {
    example: { code: 'OVERLOADED' },
    when: 'A queue or a share of it is full: `--max-in-flight`, `--at-least-waiting`, `--call-pool-queue`, `--state-reads-in-flight`, `--max-pins` and others. `Retry-After` says when to ask again.',
    action: 'Wait, then ask again. As the operator: `chain_query_refused_total{reason}` says what is full.',
  },
  SUBSCRIPTION_REFUSED: {
    example: { code: 'SUBSCRIPTION_REFUSED', reason: 'too many subscriptions, at most 64 a connection' },
    words: 'the limit, in words',
    when: 'More subscriptions than `--ws-subscriptions` on one connection.',
    action: 'Filter by several addresses in one subscription, or open another connection.',
  },
  FILTER_REFUSED: {
    example: { code: 'FILTER_REFUSED', reason: 'too many filters' },
    words: '`too many filters` and the like',
    when: 'More filters than `--filters-per-client`, or larger ones than there is room for.',
    action: 'Uninstall filters that are not used, or use subscriptions.',
  },
  FILTER_NOT_FOUND: {
    example: { code: 'FILTER_NOT_FOUND', reason: 'it has ended, or was made at another node' },
    when: 'The filter expired, its history is gone, or another node has it.',
    action:
      'Make another one and read what was missed with `eth_getLogs`. Behind a balancer: [stickiness](fleet.md#what-a-client-can-rely-on).',
  },
  METHOD_NOT_PUBLIC: {
    example: { code: 'METHOD_NOT_PUBLIC', method: 'eth_getBlockReceipts' },
    when: 'A method of the dedicated endpoint was asked of a public one.',
    action: 'Ask the dedicated endpoint (8546 by default).',
  },
  METHOD_NOT_GRANTED: {
    example: { code: 'METHOD_NOT_GRANTED', method: 'eth_call', by: 'key' },
    when: 'The profile or the key does not have the method.',
    action: 'As the operator: `methods` of the [profile](endpoints.md) or of the key.',
  },
  ACCESS_REFUSED: {
    example: { code: 'ACCESS_REFUSED', by: 'host' },
    when: 'A listener on loopback was asked by a name that is not its own, or a page of another site asks.',
    action: 'Behind a proxy: `--allowed-hosts NAME` ([why](http.md#who-may-ask)).',
  },
  UNAUTHORIZED: {
    example: { code: 'UNAUTHORIZED' },
    when: 'No key or token, a wrong one, or two that differ.',
    action: 'Send `Authorization: Bearer KEY`. Keys are made with `chain-query keys add`.',
  },
  RATE_LIMITED: {
    example: { code: 'RATE_LIMITED', seconds: 0.4 },
    when: 'The client used more units a second than its `rate`.',
    action:
      'Wait as `Retry-After` says. Behind a proxy, name it in `--trusted-proxies`, else all clients are one.',
  },
  RESPONSE_TOO_LARGE: {
    example: { code: 'RESPONSE_TOO_LARGE', maxBytes: 10_485_760 },
    when: 'The answer, or the rest of a batch, does not fit into `--max-response-bytes`.',
    action: 'Ask for less at a time.',
  },
  BODY_TOO_LARGE: {
    example: { code: 'BODY_TOO_LARGE', maxBytes: 5_242_880 },
    when: 'The body is larger than `--max-body-bytes`.',
    action: 'Send less at a time.',
  },
  BAD_AT_LEAST: {
    example: { code: 'BAD_AT_LEAST', header: 'x-chain-at-least' },
    when: 'The header is there twice, or cannot be understood: it is never ignored.',
    action: 'Send `<number>` or `<number>;<index>`, in decimal.',
  },
};

/** The names of all errors, as the code has them. */
export const ERROR_CODES = Object.keys(ERRORS) as readonly ErrorType['code'][];

/** The table of docs/errors.md, by number, as far as they have one. */
export function renderErrors(): string {
  const rows = Object.values<AnyErrorDoc>(ERRORS).map((doc) => {
    const { code, message, status = 200 } = rpcErrorOf(doc.example);
    const number = hasOwnNumber(doc.example) ? `\`${code}\`` : 'its own';
    const cells = [number, String(status), doc.words ?? `\`${message}\``, doc.when, doc.action];
    return {
      order: hasOwnNumber(doc.example) ? code : 1_000,
      line: `| ${[...cells, `\`${doc.example.code}\``].join(' | ')} |`,
    };
  });
  const lines = rows.sort((a, b) => a.order - b.order).map(({ line }) => line);
  return [
    '| code | HTTP | message | when | what to do | in the source |',
    '|---|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}

/** Some errors carry a number that somebody else chose. */
function hasOwnNumber({ code }: ErrorType): boolean {
  return code !== 'UPSTREAM_ERROR' && code !== 'SIMULATION_REFUSED';
}
