import type { Random } from '../../support/random.ts';
import { precompileAddresses } from '../../support/workload/precompiles.ts';
import { callParams } from '../calls.ts';
import { forks, secondsPerBlock } from '../context.ts';
import type { Corpus } from '../corpus.ts';
import { amount } from '../overrides.ts';
import { anyAddress } from '../programs.ts';

type Fields = Record<string, unknown>;
type Accounts = Record<string, Fields>;

const quantity = (value: number | bigint): string => `0x${value.toString(16)}`;
const maxWord = `0x${'f'.repeat(64)}`;
const rich = `0x${'f'.repeat(30)}`;

/** Where a simulation begins: nearly always a block whose number and time are known to whoever makes up the ones after it. */
interface Base {
  readonly selector: unknown;
  readonly number: number;
}

function baseOf(random: Random, corpus: Corpus): Base {
  const number = random.chance(0.5) ? corpus.head : random.between(1, corpus.head);
  const hash = corpus.hashes[number];
  return {
    number,
    selector: random.weighted<unknown>([
      [8, () => quantity(number)],
      [3, () => hash],
      [2, () => ({ blockHash: hash })],
      [number === corpus.head ? 8 : 0, () => random.pick(['latest', 'latest', 'pending'])],
      [1, () => random.pick<unknown>([random.hex(32), quantity(corpus.head + 5), null, {}])],
    ]),
  };
}

function withdrawals(random: Random, corpus: Corpus): unknown {
  return random.list(random.below(3), () => ({
    index: quantity(random.below(100)),
    validatorIndex: quantity(random.below(100)),
    address: anyAddress(random, corpus),
    amount: quantity(random.pick([0, 1, 1_000_000_000, random.below(2 ** 31)])),
  }));
}

/** What a block pretends but for its number and time. */
function headerOverrides(random: Random, corpus: Corpus, base: Base): Fields {
  const fields: Fields = {};
  if (random.chance(0.1)) {
    fields['gasLimit'] = quantity(random.pick([0, 21_000, 100_000, 1_000_000, 30_000_000, 100_000_000]));
  }
  // Not one that is empty in the state, nor where that was possible: geth does not touch who is paid nothing, and we do.
  if (random.chance(0.1) && base.number >= forks.constantinople)
    fields['feeRecipient'] = random.pick([...corpus.senders, random.hex(20)]);
  if (random.chance(0.1)) fields['prevRandao'] = random.hex(32);
  if (random.chance(0.12)) fields['baseFeePerGas'] = quantity(random.pick([0, 1, 7, 1_000_000_000]));
  if (random.chance(0.06)) fields['blobBaseFee'] = quantity(random.below(100));
  if (random.chance(0.03)) fields['difficulty'] = quantity(random.below(100_000));
  if (random.chance(0.08)) fields['withdrawals'] = withdrawals(random, corpus);
  if (random.chance(0.08)) fields['beaconRoot'] = random.hex(32);
  if (random.chance(0.005)) fields[random.pick(['foo', 'baseFee', 'coinbase'])] = '0x1';
  return fields;
}

/** A precompile that is moved, as a rule to where nothing else is overridden. */
function movedPrecompile(random: Random, corpus: Corpus, accounts: Accounts): Accounts {
  const from = random.chance(0.9) ? random.pick(precompileAddresses) : anyAddress(random, corpus);
  const to = random.chance(0.9) ? random.hex(20) : random.pick([from, ...Object.keys(accounts)]);
  return { ...accounts, [from]: { ...accounts[from], movePrecompileToAddress: to } };
}

const zeroAddress = `0x${'00'.repeat(20)}`;
/** A CALLCODE as our programs have it: geth has a transfer for one with a value, which moves nothing. */
const callcode = /f26000523d604052/;

/** Whether both would tell the same transfers. */
export function tellsTransfers(blocks: readonly unknown[]): boolean {
  return !callcode.test(JSON.stringify(blocks));
}

/** What the system calls in each block. */
const systemContracts = [
  ...['0x00000961ef480eb55e80d19ad83579a64c007002', '0x0000bbddc7ce488642fb579f8b00f3a590007251'],
  ...['0x0000f90827f1c53a10cb7a02335b175320002935', '0x000f3df6d732807ef1319fb7b8bb8522d0beac02'],
];

/** Takes away what no server accepts, and other code for the system to run. */
function tidy(call: Fields, accounts: Accounts): void {
  // Nor the one who is paid in most blocks, empty: see the fee recipient.
  for (const address of [...systemContracts, zeroAddress]) delete accounts[address];
  delete call['chainId'];
  if (call['gasPrice'] !== undefined) {
    delete call['maxFeePerGas'];
    delete call['maxPriorityFeePerGas'];
  }
  if (call['input'] !== undefined) delete call['data'];
  if (Array.isArray(call['authorizationList']) && call['authorizationList'].length === 0)
    delete call['authorizationList'];
  for (const account of Object.values(accounts)) {
    for (const name of ['foo', 'storage']) delete account[name];
    if (account['state'] !== undefined) delete account['stateDiff'];
    // It would wrap around in geth when it is given something.
    if (account['balance'] === maxWord) account['balance'] = rich;
  }
}

/** A call as of eth_call, with overrides that it needs; one that is validated has funds and pays, but for now and then. */
export async function simulatedCall(
  random: Random,
  corpus: Corpus,
  base: Base,
  isValidated: boolean,
): Promise<{ readonly call: Fields; readonly accounts: Accounts }> {
  const [given, , overrides = {}] = await callParams(random, corpus);
  const call = { ...(given as Fields) };
  const accounts = { ...(overrides as Accounts) };
  // What eth_call refuses is asked there: one such call, and nothing of a simulation is run.
  if (random.chance(0.97) || systemContracts.some((address) => address in accounts)) tidy(call, accounts);
  // What there was no transaction for yet is left out: both take it, and neither as the other does.
  if (base.number < forks.berlin) delete call['accessList'];
  if (base.number * secondsPerBlock < forks.pragueTime) delete call['authorizationList'];
  // Without gas it takes all that its block has left; what never ends would take all of 50 million.
  if (call['gas'] === undefined && random.chance(0.8)) {
    call['gas'] = quantity(random.pick([60_000, 100_000, 300_000, 1_000_000]));
  }
  // That of a call is made up; here it is compared.
  if (random.chance(0.7)) delete call['nonce'];
  if (random.chance(0.2)) call['value'] = amount(random);
  if (isValidated && random.chance(0.9)) {
    const sender = typeof call['from'] === 'string' ? call['from'] : random.pick(corpus.senders);
    call['from'] = sender;
    accounts[sender] = { ...accounts[sender], balance: rich };
    const isPriced = ['gasPrice', 'maxFeePerGas', 'maxPriorityFeePerGas'].some((name) => name in call);
    if (!isPriced) Object.assign(call, { maxFeePerGas: '0x3b9aca00', maxPriorityFeePerGas: '0x1' });
  }
  return { call, accounts };
}

/** Params of an eth_simulateV1: some blocks in order, as a rule, with some calls in each. */
export async function simulationParams(random: Random, corpus: Corpus): Promise<unknown[]> {
  const base = baseOf(random, corpus);
  const isValidated = random.chance(0.3);
  const blocks: Fields[] = [];
  let number = base.number;
  let time = base.number * secondsPerBlock;
  for (let left = random.pick([1, 1, 1, 2, 2, 3, 5]); left > 0; left -= 1) {
    const calls: Fields[] = [];
    let accounts: Accounts = {};
    for (let more = random.pick([0, 1, 1, 1, 2, 3]); more > 0; more -= 1) {
      const made = await simulatedCall(random, corpus, base, isValidated);
      calls.push(made.call);
      accounts = { ...accounts, ...made.accounts };
    }
    if (random.chance(0.06)) accounts = movedPrecompile(random, corpus, accounts);
    const blockOverrides = headerOverrides(random, corpus, base);
    number += 1;
    time += 12;
    if (random.chance(0.2)) {
      number += random.pick([-1, 0, 0, 0, 0, 1, 1, 2, 5]);
      blockOverrides['number'] = quantity(Math.max(number, 0));
    }
    if (random.chance(0.004))
      blockOverrides['number'] = quantity(base.number + random.pick([256, 257, 2 ** 40]));
    if (random.chance(0.2)) {
      time += random.pick([-12, -1, 0, 0, 0, 1, 1, 100, 1_000]);
      blockOverrides['time'] = quantity(Math.max(time, 0));
    }
    blocks.push({
      ...(Object.keys(blockOverrides).length > 0 || random.chance(0.1) ? { blockOverrides } : {}),
      ...(Object.keys(accounts).length > 0 ? { stateOverrides: accounts } : {}),
      ...(calls.length > 0 || random.chance(0.5) ? { calls } : {}),
    });
  }
  const payload = {
    blockStateCalls: random.chance(0.003) ? random.list(random.pick([0, 257]), () => ({})) : blocks,
    ...(isValidated || random.chance(0.1) ? { validation: isValidated } : {}),
    ...(random.chance(0.4) && tellsTransfers(blocks) ? { traceTransfers: random.chance(0.9) } : {}),
    ...(random.chance(0.4) ? { returnFullTransactions: random.chance(0.9) } : {}),
  };
  return random.chance(0.95) ? [payload, base.selector] : [payload];
}
