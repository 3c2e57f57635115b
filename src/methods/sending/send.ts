import type { PassOn } from '../../chain/pass-on.ts';
import type { SignedTransaction } from '../../executor/chain-facts.ts';
import { StateUnavailableError } from '../../primitives/errors.ts';
import { fromHex, type Hex } from '../../primitives/hex.ts';
import { parseBytes } from '../../primitives/parse.ts';
import { MethodError } from '../errors.ts';
import type { MethodContext, ParamDoc } from '../method.ts';
import { anyBytes } from '../param-schemas.ts';

export const rawTransactionParam: ParamDoc = {
  name: 'transaction',
  required: true,
  description: 'A signed transaction, as it is hashed; with blobs in the form that pools exchange.',
  schema: anyBytes,
};

/** A transaction that can be sent. */
export interface Sendable extends SignedTransaction {
  /** Sends it; throws what whoever it is sent to says against it. */
  send(): Promise<void>;
}

/** The bytes that a parameter is, if there is anybody to send them to. */
export function parseSendable(method: string, value: unknown, { settings }: MethodContext): Hex {
  if (!settings.services.canSend) throw new MethodError({ code: 'NOT_AVAILABLE', method });
  return parseBytes(value, 'invalid argument 0');
}

/** Reads a signed transaction, whose signature it checks. */
export function readSendable(raw: Hex, context: MethodContext): Sendable {
  const { facts, passOn } = context.settings.services;
  const transaction = facts.readTransaction(fromHex(raw));
  if (typeof transaction === 'string') throw new MethodError({ code: 'CALL_FAILED', reason: transaction });
  const { from, nonce } = transaction;
  return { ...transaction, send: () => sent(passOn({ kind: 'send', raw, from, nonce }, context)) };
}

async function sent(answer: ReturnType<PassOn>): Promise<void> {
  const said = await answer.catch((error: unknown) => {
    // As the state of a block it would be asked for again when the chain changes.
    if (!(error instanceof StateUnavailableError)) throw error;
    throw new MethodError({ code: 'NOT_SENT', reason: error.type.reason });
  });
  if (said.kind === 'error') throw new MethodError({ ...said, code: 'UPSTREAM_ERROR', number: said.code });
}
