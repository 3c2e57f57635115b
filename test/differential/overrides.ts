import type { Random } from '../support/random.ts';
import type { Corpus } from './corpus.ts';
import { anyAddress, anyProgram } from './programs.ts';

type Fields = Record<string, unknown>;

export function amount(random: Random): string {
  return random.pick([
    '0x0',
    '0x1',
    '0x3e8',
    '0xde0b6b3a7640000',
    '0x56bc75e2d63100000',
    `0x${'f'.repeat(64)}`,
    `0x${random.between(1, 0xffffff).toString(16)}`,
  ]);
}

function slots(random: Random, corpus: Corpus): Record<string, string> {
  const entries = random.list(random.below(4), () => [
    random.chance(0.7) ? random.pick(corpus.slots) : random.hex(32),
    random.chance(0.3) ? `0x${'0'.repeat(64)}` : random.hex(32),
  ]);
  return Object.fromEntries(entries);
}

function accountOverride(random: Random, corpus: Corpus): Fields {
  const fields: Fields = {};
  if (random.chance(0.4)) fields['balance'] = amount(random);
  if (random.chance(0.2))
    fields['nonce'] = random.pick(['0x0', '0x1', '0x7f', '0xfffffffffffffffe', '0xffffffffffffffff']);
  if (random.chance(0.4)) fields['code'] = anyProgram(random, corpus);
  if (random.chance(0.2)) fields['state'] = slots(random, corpus);
  else if (random.chance(0.3)) fields['stateDiff'] = slots(random, corpus);
  if (random.chance(0.02)) {
    fields['state'] = {};
    fields['stateDiff'] = {};
  }
  if (random.chance(0.02)) fields[random.pick(['foo', 'storage'])] = '0x1';
  return fields;
}

/** State overrides: what the call runs, and at times other accounts beside it. */
export function stateOverrides(random: Random, corpus: Corpus, target?: string): Record<string, Fields> {
  const overrides: Record<string, Fields> = {};
  if (target !== undefined) {
    overrides[target] = {
      ...(random.chance(0.3) ? accountOverride(random, corpus) : {}),
      code: anyProgram(random, corpus),
    };
  }
  for (let more = random.pick([0, 0, 0, 1, 1, 2]); more > 0; more -= 1) {
    overrides[anyAddress(random, corpus)] = accountOverride(random, corpus);
  }
  return overrides;
}

export function blockOverrides(random: Random, corpus: Corpus): Fields {
  const fields: Fields = {};
  const quantity = (limit: number): string => `0x${random.below(limit).toString(16)}`;
  if (random.chance(0.3))
    fields['number'] = random.pick([quantity(corpus.head + 1), quantity(1000), '0xffffffff']);
  if (random.chance(0.3)) fields['time'] = random.pick([quantity(1000), quantity(1000), '0xffffffff']);
  if (random.chance(0.2)) fields['gasLimit'] = quantity(100_000_000);
  if (random.chance(0.2)) fields['feeRecipient'] = anyAddress(random, corpus);
  if (random.chance(0.2)) fields['prevRandao'] = random.hex(32);
  if (random.chance(0.2)) fields['baseFeePerGas'] = quantity(100);
  if (random.chance(0.2)) fields['blobBaseFee'] = quantity(100);
  if (random.chance(0.1)) fields['difficulty'] = quantity(100_000);
  if (random.chance(0.03)) fields[random.pick(['foo', 'baseFee', 'coinbase'])] = '0x1';
  if (random.chance(0.02)) fields['withdrawals'] = [];
  if (random.chance(0.02)) fields['beaconRoot'] = random.hex(32);
  return fields;
}
