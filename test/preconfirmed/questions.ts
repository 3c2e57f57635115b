import { encodeFunctionData, type Hex } from 'viem';
import { callParams, estimateParams } from '../differential/calls.ts';
import type { Corpus } from '../differential/corpus.ts';
import { assemble, type Item } from '../support/assembler.ts';
import type { Random } from '../support/random.ts';
import { l1Block } from '../support/servers/op-genesis.ts';
import { secondsPerBlock } from '../support/servers/op-sequencer.ts';
import type { Answer, Call } from '../support/servers/rpc-client.ts';
import { wordOf } from '../support/workload/catalogue.ts';
import { workloadContracts } from '../support/workload/contracts.ts';
import { beaconRoots, historyContract } from '../support/workload/system.ts';
import type { Workload } from '../support/workload/workload.ts';
import { blockQuestions } from './block-questions.ts';
import { feeQuestions } from './fee-questions.ts';
import { only, type Question, type Reading, stateQuestion, tipOf, unsealed } from './question.ts';
import type { Moment } from './rig.ts';
import { simulationQuestion } from './simulation-questions.ts';
import { traceQuestions } from './trace-questions.ts';

/** What a filter may say beside its range. */
export type LogCriteria = Readonly<Record<string, unknown>>;

const callsAsked = 25;
const richly: Hex = `0x${'f'.repeat(30)}`;
const quantity = (value: number): Hex => `0x${value.toString(16)}`;

/** Lists, one after the other; the first error if there is one. */
function joined(lists: readonly Answer[]): Answer {
  const failed = lists.find((answer) => 'error' in answer);
  return failed ?? { result: lists.flatMap((answer) => ('result' in answer ? answer.result : [])) };
}

function unsealedAnswer(answer: Answer): Answer {
  return 'error' in answer ? answer : { result: unsealed(answer.result) };
}

export function callQuestion(reading: Reading, transaction: unknown, ...overrides: unknown[]): Question {
  return stateQuestion('call', 'eth_call', reading, (block) => [transaction, block, ...overrides]);
}

export function receiptsQuestion(reading: Reading): Question {
  const { tag, moment } = reading;
  const method = 'eth_getBlockReceipts';
  const ours = { method, params: [tag] };
  const oracle = [{ method, params: [tipOf(reading)] }];
  const expected = (answers: readonly Answer[]): Answer =>
    tag === 'pending' && moment.stack.length > 0 ? unsealedAnswer(only(answers)) : only(answers);
  return { kind: 'receipts', ours, oracle, expected };
}

/** Logs from a confirmed block on, or from the lowest pre-confirmed one, through the newest. */
export function logsQuestion(
  { head, stack }: Moment,
  from: number | 'pending',
  criteria: LogCriteria = {},
): Question {
  const method = 'eth_getLogs';
  const ofStack = stack.map(({ hash }) => ({ method, params: [{ ...criteria, blockHash: hash }] }));
  const bounds = (fromBlock: unknown, toBlock: unknown): Call => {
    return { method, params: [{ ...criteria, fromBlock, toBlock }] };
  };
  if (from === 'pending') {
    const expected = (answers: readonly Answer[]): Answer => unsealedAnswer(joined(answers));
    return { kind: 'logs', ours: bounds('pending', 'pending'), oracle: ofStack, expected };
  }
  return {
    kind: 'logs',
    ours: bounds(quantity(from), 'pending'),
    oracle: [bounds(quantity(from), quantity(head.number)), ...ofStack],
    expected: ([confirmed, ...rest]) =>
      joined([...(confirmed === undefined ? [] : [confirmed]), ...rest.map(unsealedAnswer)]),
  };
}

function latestLogs({ head }: Moment): Question {
  const oracle = [{ method: 'eth_getLogs', params: [{ blockHash: head.hash }] }];
  const ours = { method: 'eth_getLogs', params: [{ fromBlock: 'latest', toBlock: 'latest' }] };
  return { kind: 'logs', ours, oracle, expected: only };
}

/** All of the block context that a contract can read. Only who pays for gas is shown the base fee. */
function contextCall(reading: Reading, random: Random, workload: Workload): Question {
  const { abi } = workloadContracts().Workshop;
  const args = [BigInt(random.pick([1, 2, 3, 5, 100, 255, 256, 257]))];
  const to = workload.addressOf('Workshop');
  const transaction = { to, data: encodeFunctionData({ abi, functionName: 'view_', args }) };
  if (random.chance(0.3)) return callQuestion(reading, transaction);
  const from = random.pick(workload.senders).address;
  const priced = { ...transaction, from, maxFeePerGas: '0x174876e800', maxPriorityFeePerGas: '0x1' };
  return callQuestion(reading, priced, { [from]: { balance: richly } });
}

/** Reads slots of one account, of which some are overridden and the others are the block's. */
function mergedCall(reading: Reading, random: Random, filled: Corpus['filled']): Question {
  const { address } = random.pick(filled.slice(-200));
  const known = filled.filter((entry) => entry.address === address).slice(-30);
  const slots = random.list(6, () => random.pick(known).slot);
  const reads = slots.flatMap((slot, at): Item[] => [slot, 'SLOAD', at * 32, 'MSTORE']);
  const code = assemble(...reads, slots.length * 32, 0, 'RETURN');
  const put = slots.slice(0, random.below(4)).map((slot) => [slot, random.hex(32)] as const);
  const storage = { [random.chance(0.8) ? 'stateDiff' : 'state']: Object.fromEntries(put) };
  return callQuestion(reading, { to: address, gas: '0xf4240' }, { [address]: { code, ...storage } });
}

async function randomCall(reading: Reading, random: Random, corpus: Corpus): Promise<Question> {
  const made = JSON.parse(JSON.stringify(await callParams(random, corpus))) as unknown[];
  const [transaction, _block, ...overrides] = made;
  return callQuestion(reading, transaction, ...overrides);
}

async function randomEstimate(reading: Reading, random: Random, corpus: Corpus): Promise<Question> {
  const made = JSON.parse(JSON.stringify(await estimateParams(random, corpus))) as unknown[];
  const [transaction, _block, ...overrides] = made;
  return stateQuestion('call', 'eth_estimateGas', reading, (block) => [transaction, block, ...overrides]);
}

/** Of what real transactions do: op-geth does not end with a made-up one whose list never becomes stable, nor does its batch. */
function accessListQuestion(reading: Reading, random: Random, { inputs, senders }: Corpus): Question {
  const from = random.pick(senders);
  const transaction = { ...random.pick(inputs.slice(-200)), from, gas: '0xf4240', gasPrice: '0x3b9aca00' };
  const overrides = { [from]: { balance: richly } };
  return stateQuestion('call', 'eth_createAccessList', reading, (block) => [transaction, block, overrides]);
}

export function nonceQuestion(reading: Reading, address: string): Question {
  return stateQuestion('nonce', 'eth_getTransactionCount', reading, (block) => [address, block]);
}

export function slotQuestion(reading: Reading, { address, slot }: Corpus['filled'][number]): Question {
  return stateQuestion('slot', 'eth_getStorageAt', reading, (block) => [address, slot, block]);
}

function nonceQuestions(reading: Reading, random: Random, workload: Workload): readonly Question[] {
  const { addresses, contracts } = workload.catalogue;
  const accounts = [workload.traits.funder, ...workload.senders, ...workload.authorities];
  return [
    ...accounts.map(({ address }) => address),
    ...[workload.addressOf('Workshop'), ...contracts.slice(-4)],
    ...random.list(4, () => random.pick(addresses)),
  ].map((address) => nonceQuestion(reading, address));
}

/** What is written when a block begins: the parent's hash, the beacon root, and by the first deposit what L1 costs. */
function slotsOfStart({ tag, moment: { head, stack } }: Reading): Corpus['filled'] {
  const number = (tag === 'pending' ? stack.at(-1)?.number : undefined) ?? head.number;
  const timestamp = head.timestamp + secondsPerBlock * (number - head.number);
  const ring = 8191;
  return [
    { address: historyContract, slot: wordOf((number - 1) % ring) },
    ...[0, ring].map((offset) => ({ address: beaconRoots, slot: wordOf((timestamp % ring) + offset) })),
    ...[0, 1, 2, 8].map((slot) => ({ address: l1Block, slot: wordOf(slot) })),
  ];
}

function slotQuestions(reading: Reading, random: Random, filled: Corpus['filled']): readonly Question[] {
  // What this block touches is at the end.
  const recent = filled.slice(-120);
  return [
    ...random.list(14, () => random.pick(recent)),
    ...random.list(6, () => random.pick(filled)),
    ...slotsOfStart(reading),
  ].map((entry) => slotQuestion(reading, entry));
}

function randomCriteria(random: Random, corpus: Corpus): LogCriteria {
  const topic = (): unknown => random.pick<unknown>([null, random.pick(corpus.topics)]);
  return {
    ...(random.chance(0.6)
      ? { address: random.list(random.between(1, 3), () => random.pick(corpus.emitters)) }
      : {}),
    ...(random.chance(0.5)
      ? { topics: [random.pick(corpus.topics), ...(random.chance(0.3) ? [topic()] : [])] }
      : {}),
  };
}

/** Logs of the pre-confirmed blocks, all and some, and of confirmed blocks before them. */
function logQuestions(
  { moment }: Reading,
  random: Random,
  corpus: Corpus,
  oldest: number,
): readonly Question[] {
  const back = (blocks: number): number => Math.max(oldest, moment.head.number - random.below(blocks));
  return [
    logsQuestion(moment, 'pending'),
    ...(corpus.emitters.length === 0
      ? []
      : [logsQuestion(moment, 'pending', randomCriteria(random, corpus))]),
    ...(random.chance(0.3) ? [logsQuestion(moment, back(3))] : []),
    ...(random.chance(0.3) && corpus.emitters.length > 0
      ? [
          logsQuestion(moment, back(60), {
            ...randomCriteria(random, corpus),
            topics: [random.pick(corpus.topics)],
          }),
        ]
      : []),
  ];
}

/** Everything that is asked after a flashblock; `oldest` is the first block that ours holds. */
export async function pendingQuestions(
  moment: Moment,
  random: Random,
  workload: Workload,
  corpus: Corpus,
  oldest: number,
): Promise<readonly Question[]> {
  const reading: Reading = { tag: 'pending', moment };
  const calls: Question[] = [];
  // One after the other: they draw from one source of choices.
  while (calls.length < callsAsked) {
    calls.push(
      await random.weighted<Question | Promise<Question>>([
        [3, () => contextCall(reading, random, workload)],
        [5, () => mergedCall(reading, random, corpus.filled)],
        [12, () => randomCall(reading, random, corpus)],
        [3, () => randomEstimate(reading, random, corpus)],
        [2, () => accessListQuestion(reading, random, corpus)],
        [2, () => simulationQuestion(reading, random, corpus)],
      ]),
    );
  }
  return [
    // First and last, so that a batch of two blocks would show.
    contextCall(reading, random, workload),
    ...calls,
    ...slotQuestions(reading, random, corpus.filled),
    ...nonceQuestions(reading, random, workload),
    receiptsQuestion(reading),
    ...blockQuestions(reading, random, workload),
    ...logQuestions(reading, random, corpus, oldest),
    ...(random.chance(0.25) ? traceQuestions(reading, random) : []),
    contextCall(reading, random, workload),
  ];
}

/** What is asked of both tags when a block was sealed. */
export async function sealedQuestions(
  moment: Moment,
  random: Random,
  workload: Workload,
  corpus: Corpus,
  oldest: number,
): Promise<readonly Question[]> {
  const both = (['latest', 'pending'] as const).flatMap((tag) => {
    const reading: Reading = { tag, moment };
    return [
      ...nonceQuestions(reading, random, workload),
      ...slotQuestions(reading, random, corpus.filled),
      contextCall(reading, random, workload),
      receiptsQuestion(reading),
      ...blockQuestions(reading, random, workload),
      ...(random.chance(0.3) ? traceQuestions(reading, random) : []),
    ];
  });
  return [
    ...both,
    latestLogs(moment),
    await simulationQuestion({ tag: 'latest', moment }, random, corpus),
    ...feeQuestions(moment, random, oldest),
    logsQuestion(moment, 'pending'),
    logsQuestion(moment, moment.head.number),
  ];
}

/**
 * A few of each kind, for a batch that is sent while the state changes. `from` is confirmed at every moment that it may
 * be answered from: logs from there on must be there once, whether their block is sealed or not.
 */
export function racingQuestions(
  moment: Moment,
  random: Random,
  workload: Workload,
  from: number,
): readonly Question[] {
  const reading: Reading = { tag: 'pending', moment };
  const { filled } = workload.catalogue;
  return [
    contextCall(reading, random, workload),
    ...slotQuestions(reading, random, filled).slice(0, 4),
    ...nonceQuestions(reading, random, workload).slice(0, 9),
    receiptsQuestion(reading),
    logsQuestion(moment, 'pending'),
    logsQuestion(moment, from),
    contextCall(reading, random, workload),
  ];
}
