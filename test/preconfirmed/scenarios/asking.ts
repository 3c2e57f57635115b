import { Agent, request } from 'node:http';
import { encodeFunctionData } from 'viem';
import type { Random } from '../../support/random.ts';
import type { Answer } from '../../support/servers/rpc-client.ts';
import { workloadContracts } from '../../support/workload/contracts.ts';
import type { Workload } from '../../support/workload/workload.ts';
import type { Named } from '../comparison.ts';
import type { Question, Reading } from '../question.ts';
import { callQuestion, logsQuestion, nonceQuestion, receiptsQuestion, slotQuestion } from '../questions.ts';
import type { Moment } from '../rig.ts';
import type { Truth } from './truth.ts';

/** The questions of a run, as they are at a moment: the requests are always the same. */
export type QuestionsAt = (moment: Moment) => readonly Question[];

const slotsAsked = 3;

/** Chosen once a run, whatever the workload makes of it later. */
export function questionsOf(
  random: Random,
  workload: Workload,
  truth: Truth,
  fromBlock: number,
): QuestionsAt {
  const accounts = [
    ...random.list(3, () => random.pick(workload.senders).address),
    random.pick(workload.authorities).address,
    workload.addressOf('Workshop'),
  ];
  const recent = workload.catalogue.filled.slice(-60);
  const slots = random.list(slotsAsked, () => random.pick(recent));
  const { abi } = workloadContracts().Workshop;
  const data = encodeFunctionData({ abi, functionName: 'view_', args: [1n] });
  const context = { to: workload.addressOf('Workshop'), data };
  return (moment) => {
    const pending: Reading = { tag: 'pending', moment };
    const latest: Reading = { tag: 'latest', moment };
    return [
      // First and last, so that a batch of two blocks would show.
      callQuestion(pending, context),
      ...accounts.flatMap((account) => [nonceQuestion(latest, account), nonceQuestion(pending, account)]),
      ...slots.map((slot) => slotQuestion(pending, slot)),
      receiptsQuestion(pending),
      logsQuestion(moment, 'pending'),
      mixedLogs(moment, truth, fromBlock),
      callQuestion(latest, context),
      callQuestion(pending, context),
    ];
  };
}

/** From a confirmed block through the newest pre-confirmed one; by hash, so that it can be asked when it is over. */
function mixedLogs(moment: Moment, truth: Truth, from: number): Question {
  const rest = logsQuestion(moment, 'pending');
  const chain = truth.chain(moment.head, from);
  const confirmed = chain.map((blockHash) => ({ method: 'eth_getLogs', params: [{ blockHash }] }));
  return {
    kind: 'logs',
    ours: { method: 'eth_getLogs', params: [{ fromBlock: `0x${from.toString(16)}`, toBlock: 'pending' }] },
    oracle: [...confirmed, ...rest.oracle],
    expected: (answers) => {
      const parts = [...answers.slice(0, chain.length), rest.expected(answers.slice(chain.length))];
      const failed = parts.find((answer) => 'error' in answer);
      return failed ?? { result: parts.flatMap((answer) => ('result' in answer ? answer.result : [])) };
    },
  };
}

/** Answers as they came, with what they say they are of. */
export interface Said {
  readonly named: Named;
  readonly body: string;
  /** Two answers over one connection are of one thread, so that the second is never older. */
  readonly connection: unknown;
}

/** Asks over one connection, again and again. */
export class Asker implements Disposable {
  readonly #url: string;
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(url: string) {
    this.#url = url;
  }

  ask(body: string, atLeast?: string): Promise<Said> {
    return new Promise((resolve, reject) => {
      const asked = request(
        this.#url,
        {
          method: 'POST',
          agent: this.#agent,
          headers: {
            'content-type': 'application/json',
            ...(atLeast === undefined ? {} : { 'x-chain-at-least': atLeast }),
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          const header = (name: string): string => String(response.headers[name] ?? 'absent');
          const connection = response.socket;
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () =>
            resolve({
              named: { head: header('x-chain-head'), pending: header('x-chain-pending') },
              body: Buffer.concat(chunks).toString('utf8'),
              connection,
            }),
          );
        },
      );
      asked.on('error', reject);
      asked.end(body);
    });
  }

  [Symbol.dispose](): void {
    this.#agent.destroy();
  }
}

export function bodyOf(questions: readonly Question[]): string {
  return JSON.stringify(questions.map(({ ours }, id) => ({ jsonrpc: '2.0', id, ...ours })));
}

/** A batch's answers; our node keeps their order. */
export function answersIn(body: string): readonly Answer[] {
  const entries = JSON.parse(body) as unknown;
  if (!Array.isArray(entries)) throw new Error(`a batch was answered with ${body.slice(0, 300)}`);
  return entries as readonly Answer[];
}
