import { DEFAULT_FLASHBLOCK_OPTIONS } from '../../../src/source/flashblocks/options.ts';
import {
  advance,
  type SequenceInput,
  type SequenceOutcome,
} from '../../../src/source/flashblocks/sequence.ts';
import { emptySequence, type SequenceState } from '../../../src/source/flashblocks/sequence-state.ts';
import { BLOCK_SIZE, hashAfter, type Made, makeFlashblock } from './flashblocks.ts';

/** Small, so that tests reach them. */
export const DRIVE_LIMITS = { ...DEFAULT_FLASHBLOCK_OPTIONS.sequence, maxHeld: 6, maxPendingBlocks: 3 };

/** Drives the validator, and says what came of each step in short. */
export class Drive {
  state: SequenceState = emptySequence;
  at = 0;

  readonly #form: NonNullable<Made['form']>;

  constructor(head?: number, form: NonNullable<Made['form']> = 'real') {
    this.#form = form;
    if (head !== undefined) this.head(head);
  }

  input(input: SequenceInput): string[] {
    const { state, outcomes } = advance(this.state, input, DRIVE_LIMITS);
    this.state = state;
    return outcomes.map(short);
  }

  come(made: Made, stream = 'a'): string[] {
    const flashblock = makeFlashblock({ form: this.#form, ...made });
    return this.input({ kind: 'arrival', flashblock, stream, at: this.at });
  }

  /** A whole block, or the first of it. */
  block(number: number, count = BLOCK_SIZE, attempt = ''): void {
    for (let index = 0; index < count; index += 1) this.come({ number, index, attempt });
  }

  /** `lost` are blocks that stood on other contents than this head has. */
  head(number: number, hash = hashAfter(number), lost: readonly number[] = []): string[] {
    const payloads = lost.map((above) => makeFlashblock({ number: above, index: 0 }).payloadId);
    return this.input({ kind: 'head', head: { number, hash }, lost: payloads, at: this.at });
  }

  refuse(number: number): string[] {
    const { payloadId } = makeFlashblock({ number, index: 0 });
    return this.input({ kind: 'refuse', payloadId, at: this.at });
  }

  wait(ms: number): string[] {
    this.at += ms;
    return this.input({ kind: 'time', at: this.at });
  }
}

function short(outcome: SequenceOutcome): string {
  if (outcome.kind === 'dropped') return `dropped from ${outcome.from}: ${outcome.reason}`;
  if (outcome.kind === 'confirmed') return `confirmed ${outcome.number}`;
  const { decision, flashblock, repairs, before } = outcome;
  const named = decision === 'contradiction' ? ` of ${before?.stream}` : '';
  return `${decision} ${flashblock.blockNumber}:${flashblock.index}${named}${repairs ? ', repairs' : ''}`;
}
