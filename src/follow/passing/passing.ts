import { LRUCache } from 'lru-cache';
import type { Registry } from 'prom-client';
import type { PassedAnswer, PassedRequest, PassOn } from '../../chain/pass-on.ts';
import { OverloadedError, StateUnavailableError } from '../../primitives/errors.ts';
import type { Hex } from '../../primitives/hex.ts';
import { toQuantity } from '../../primitives/parse.ts';
import { SourceError } from '../../source/errors.ts';
import type { ChainSource } from '../../source/interface.ts';
import { countersIn } from '../../telemetry/metrics.ts';

/** Whoever is asked, and who of them first. */
export interface PassTarget {
  readonly source: Pick<ChainSource, 'passOn'>;
  readonly prefer: () => string | undefined;
}

export interface PassingModules {
  /** Where transactions are sent; absent where they are not. */
  readonly send: PassTarget | undefined;
  /** Where other requests go; absent where there is no upstream. */
  readonly upstream: PassTarget | undefined;
  readonly registry: Registry;
}

/** Accounts whose transactions were sent from here, and for how long their nonces count. */
const MAX_SENDERS = 10_000;
const SENT_MS = 120_000;

const KNOWN = /already known|already imported|alreadyknown|known transaction/i;
/** The words of other servers, as viem and ethers know them from geth. */
const WORDS: readonly (readonly [RegExp, string])[] = [
  [/^OldNonce|nonce is too low|invalid nonce.*lower/i, 'nonce too low'],
  [/^InsufficientFunds|insufficient balance/i, 'insufficient funds for gas * price + value'],
  [/^ReplacementNotAllowed|replacement.*(?:underpriced|not allowed)/i, 'replacement transaction underpriced'],
  [/^FeeTooLow(?!ToCompete)|fee too low/i, 'transaction underpriced'],
];
/** The codes that clients expect for a transaction that is refused. */
const CODES: ReadonlySet<number> = new Set([-32000, -32003]);

/** Passes on what only others can answer, and remembers what was sent. */
export class Passing {
  readonly #modules: PassingModules;
  readonly #nonces = new LRUCache<Hex, number>({ max: MAX_SENDERS, ttl: SENT_MS });
  readonly #count: (outcome: 'taken' | 'known' | 'refused' | 'failed') => void;

  constructor(modules: PassingModules) {
    this.#modules = modules;
    const counter = countersIn(modules.registry);
    const counters = {
      taken: counter('transactions_sent_total', 'Transactions that somebody took from us.'),
      known: counter('transactions_known_total', 'Transactions that whoever they were sent to had already.'),
      refused: counter('transactions_refused_total', 'Transactions that whoever they were sent to refused.'),
      failed: counter('transactions_unsent_total', 'Transactions that could be sent to nobody.'),
    };
    this.#count = (outcome) => counters[outcome].inc();
  }

  /** For whoever serves. */
  readonly passOn: PassOn = async (request, { signal }) => {
    try {
      return await this.#answer(request, signal);
    } catch (error) {
      if (request.kind === 'send') this.#count('failed');
      if (!(error instanceof SourceError)) throw error;
      if (error.type.code === 'busy') throw new OverloadedError({ cause: error });
      // Upstreams and their words are for the log, not for clients.
      throw new StateUnavailableError(
        request.kind === 'send' ? 'the transaction could be sent to nobody' : 'no upstream answered',
      );
    }
  };

  #answer(request: PassedRequest, signal: AbortSignal): Promise<PassedAnswer> {
    switch (request.kind) {
      case 'send':
        return this.#send(request);
      case 'poolNonce':
        return this.#poolNonce(request.address, signal);
      case 'request':
        return this.#ask(request.method, request.params, signal);
    }
  }

  /** Not given up when the client goes away: it may be on its way. */
  async #send({ raw, from, nonce }: PassedRequest & { kind: 'send' }): Promise<PassedAnswer> {
    const { send } = this.#modules;
    if (send === undefined) throw new StateUnavailableError('there is nobody to send it to');
    const options = { prefer: send.prefer(), forRequest: true };
    const { value } = await send.source.passOn('eth_sendRawTransaction', [raw], options);
    const isKnown = value.kind === 'error' && KNOWN.test(value.message);
    if (value.kind === 'error' && !isKnown) {
      this.#count('refused');
      return inKnownWords(value);
    }
    this.#count(isKnown ? 'known' : 'taken');
    this.#nonces.set(from, Math.max(this.#nonces.get(from) ?? 0, nonce + 1));
    return { kind: 'result', json: 'null' };
  }

  async #poolNonce(address: Hex, signal: AbortSignal): Promise<PassedAnswer> {
    const own = this.#nonces.get(address) ?? 0;
    const asked = this.#ask('eth_getTransactionCount', [address, 'pending'], signal);
    const theirs = await asked.then(nonceOf, (error: unknown) => {
      if (error instanceof SourceError || error instanceof StateUnavailableError) return 0;
      throw error;
    });
    return { kind: 'result', json: `"${toQuantity(Math.max(own, theirs))}"` };
  }

  async #ask(method: string, params: readonly unknown[], signal: AbortSignal): Promise<PassedAnswer> {
    const { upstream } = this.#modules;
    if (upstream === undefined) throw new StateUnavailableError('there is no upstream');
    const options = { prefer: upstream.prefer(), forRequest: true, signal };
    return (await upstream.source.passOn(method, params, options)).value;
  }
}

/** What an upstream says of a nonce; 0 where it says something else. */
function nonceOf(answer: PassedAnswer): number {
  const nonce = answer.kind === 'result' ? Number(JSON.parse(answer.json)) : 0;
  return Number.isSafeInteger(nonce) ? nonce : 0;
}

function inKnownWords(error: Extract<PassedAnswer, { kind: 'error' }>): PassedAnswer {
  const { code, message } = error;
  const words = WORDS.find(([pattern]) => pattern.test(message))?.[1];
  const isKnown = words === undefined || message.includes(words);
  return {
    ...error,
    code: CODES.has(code) ? code : -32_000,
    message: isKnown ? message : `${words}: ${message}`,
  };
}
