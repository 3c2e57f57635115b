import { privateKeyToAccount } from 'viem/accounts';
import type { Random } from '../support/random.ts';
import { precompileAddresses, precompileInput } from '../support/workload/precompiles.ts';
import type { Corpus } from './corpus.ts';
import { amount, blockOverrides, stateOverrides } from './overrides.ts';
import { anyAddress, anyProgram } from './programs.ts';
import { selector } from './selectors.ts';

type Fields = Record<string, unknown>;

const chainId = 3503995874084926;
const authorities = [1, 2, 3].map((key) => privateKeyToAccount(`0x${key.toString(16).padStart(64, '0')}`));

function fees(random: Random): Fields {
  const price = (): string =>
    random.pick([
      ...['0x0', '0x1', '0x7', '0x1a21397', '0x1a21398', '0x3b9aca00', '0x3b9aca00'],
      `0x${'f'.repeat(64)}`,
    ]);
  const chosen = random.weighted<Fields>([
    [2, () => ({ gasPrice: price() })],
    [2, () => ({ maxFeePerGas: price(), maxPriorityFeePerGas: price() })],
    [1, () => ({ maxFeePerGas: price() })],
    [1, () => ({ maxPriorityFeePerGas: price() })],
    [4, () => ({ maxFeePerGas: '0x3b9aca00', maxPriorityFeePerGas: '0x1' })],
  ]);
  return random.chance(0.03) ? { ...chosen, gasPrice: price() } : chosen;
}

function accessList(random: Random, corpus: Corpus): unknown {
  return random.list(random.below(3), () => ({
    address: anyAddress(random, corpus),
    storageKeys: random.list(random.below(3), () => random.pick(corpus.slots)),
  }));
}

async function authorizations(random: Random, corpus: Corpus): Promise<unknown> {
  const entries: unknown[] = [];
  for (let left = random.pick([0, 1, 1, 1, 2]); left > 0; left -= 1) {
    const authority = random.pick(authorities);
    const signed = await authority.signAuthorization({
      chainId: random.pick([0, chainId, chainId, 1]),
      address: (random.chance(0.8) ? random.pick(corpus.contracts) : `0x${'00'.repeat(20)}`) as `0x${string}`,
      nonce: random.pick([0, 0, 0, 1]),
    });
    entries.push({
      chainId: `0x${signed.chainId.toString(16)}`,
      address: signed.address,
      nonce: `0x${signed.nonce.toString(16)}`,
      yParity: `0x${(random.chance(0.1) ? 1 - (signed.yParity ?? 0) : (signed.yParity ?? 0)).toString(16)}`,
      r: `0x${BigInt(signed.r).toString(16)}`,
      s: `0x${BigInt(signed.s).toString(16)}`,
    });
  }
  return entries;
}

function gas(random: Random): string {
  const limit = random.pick([
    ...[0, 20_950, 21_000, 23_000, 30_000, 53_000, 80_000, 100_000, 200_000],
    ...[1_000_000, 5_000_000, 16_777_216, 30_000_000, 60_000_000],
  ]);
  return random.chance(0.02) ? '0xffffffffffffffff' : `0x${(limit + random.below(100)).toString(16)}`;
}

interface Destination {
  readonly to: string;
  readonly data: string;
  /** The account gets a program of ours to run. */
  readonly runs: boolean;
}

/** The account a call goes to, and what it is given: a real contract, a precompile, or bytecode put there. */
function destination(random: Random, corpus: Corpus): Destination {
  return random.weighted<Destination>([
    [16, () => ({ to: anyAddress(random, corpus), data: random.hex(random.below(80)), runs: true })],
    [
      3,
      () => {
        const { to, input } = random.pick(corpus.inputs);
        return { to, data: input, runs: false };
      },
    ],
    [2, () => ({ to: random.pick(corpus.contracts), data: random.hex(random.below(80)), runs: false })],
    [
      3,
      () => {
        const to = random.pick(precompileAddresses);
        return { to, data: precompileInput(random, to), runs: false };
      },
    ],
    [1, () => ({ to: anyAddress(random, corpus), data: '0x', runs: false })],
  ]);
}

/** Params of an eth_call in all its shapes; most are valid, so that they really execute. */
export async function callParams(random: Random, corpus: Corpus): Promise<unknown[]> {
  const { to, data, runs } = destination(random, corpus);
  const transaction: Fields = { to, [random.pick(['data', 'input'])]: data };
  if (random.chance(0.5))
    transaction['from'] = random.pick([...corpus.senders, ...corpus.contracts.slice(0, 5), random.hex(20)]);
  if (random.chance(0.18)) transaction['value'] = amount(random);
  if (random.chance(0.3)) transaction['gas'] = gas(random);
  if (random.chance(0.2)) Object.assign(transaction, fees(random));
  if (random.chance(0.1)) transaction['accessList'] = accessList(random, corpus);
  if (random.chance(0.06)) transaction['authorizationList'] = await authorizations(random, corpus);
  if (transaction['authorizationList'] !== undefined && random.chance(0.5)) {
    transaction['to'] = random.pick(authorities).address;
  }
  if (random.chance(0.05)) transaction['nonce'] = `0x${random.below(100).toString(16)}`;
  if (random.chance(0.03)) transaction['chainId'] = random.pick([`0x${chainId.toString(16)}`, '0x1']);
  if (random.chance(0.03)) transaction['foo'] = 'bar';
  if (random.chance(0.02)) Object.assign(transaction, { data, input: random.chance(0.5) ? data : '0x01' });
  if (random.chance(0.03)) {
    delete transaction['to'];
    Object.assign(transaction, { data: anyProgram(random, corpus), input: undefined });
  }
  const params: unknown[] = [transaction];
  const overridden = runs || random.chance(0.2);
  const blockGiven = overridden || random.chance(0.9);
  if (blockGiven) params.push(selector(random, corpus, random.chance(0.8)));
  if (overridden) {
    const overrides = stateOverrides(random, corpus, runs ? to : undefined);
    const sender = typeof transaction['from'] === 'string' ? transaction['from'] : `0x${'00'.repeat(20)}`;
    // Fees and values are charged for real; without this most such calls would only show that the sender is poor.
    if (random.chance(0.4)) overrides[sender] = { ...overrides[sender], balance: `0x${'f'.repeat(30)}` };
    params.push(overrides);
  }
  if (overridden && random.chance(0.2)) params.push(blockOverrides(random, corpus));
  return params;
}

/** Without overrides of precompiles: geth runs those all the same, but in eth_call. */
function withoutPrecompiles(accounts: unknown): Record<string, Fields> {
  const isPrecompile = (address: string): boolean =>
    /^0x0{36}0[0-9a-f]{3}$/i.test(address) && BigInt(address) !== 0n;
  const kept = Object.entries(accounts as Record<string, Fields>).filter(
    ([address]) => !isPrecompile(address),
  );
  return Object.fromEntries(kept);
}

/** Params of an eth_estimateGas. */
export async function estimateParams(random: Random, corpus: Corpus): Promise<unknown[]> {
  const params = await callParams(random, corpus);
  if (params.length > 2) params[2] = withoutPrecompiles(params[2]);
  return params;
}

/** Params of an eth_createAccessList. The sender pays: without fees geth takes those that it would suggest itself. */
export async function accessListParams(random: Random, corpus: Corpus): Promise<unknown[]> {
  const [given, block = 'latest', accounts = {}] = await callParams(random, corpus);
  const { maxFeePerGas: _, maxPriorityFeePerGas: __, ...transaction } = given as Fields;
  const from = typeof transaction['from'] === 'string' ? transaction['from'] : `0x${'00'.repeat(20)}`;
  const overrides = withoutPrecompiles(accounts);
  return [
    { ...transaction, gasPrice: '0x3b9aca00' },
    block,
    { ...overrides, [from]: { ...overrides[from], balance: `0x${'f'.repeat(30)}` } },
  ];
}
