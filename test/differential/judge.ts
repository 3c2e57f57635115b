import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repoRoot } from '../support/servers/paths.ts';
import { type Answer, type Call, sendBatch } from '../support/servers/rpc-client.ts';
import { agree, spoil } from './compare.ts';
import type { Chain } from './context.ts';
import type { Deviation } from './deviations/deviation.ts';
import { deviationsOn } from './deviations/deviations.ts';

export interface Mode {
  readonly name: string;
  /** Which deviations count; none at all compares a server with itself. */
  readonly deviations: readonly Deviation[];
}

export function modesOn(chain: Chain): Readonly<Record<'contract' | 'compat' | 'strict', Mode>> {
  const deviations = deviationsOn(chain);
  return {
    contract: { name: 'by contract', deviations },
    compat: {
      name: 'with --compat execution-apis',
      deviations: deviations.filter(({ contractOnly }) => contractOnly !== true),
    },
    strict: { name: 'strictly', deviations: [] },
  };
}

export interface Verdict {
  readonly index: number;
  readonly request: Call;
  /** What geth was asked, where the contract gives the request another meaning. */
  readonly asked: Call;
  readonly geth: Answer;
  readonly ours: Answer;
  readonly passed: boolean;
  /** Deviations that were needed to explain the answer. */
  readonly used: readonly string[];
}

interface Plan {
  readonly asked: Call;
  readonly expected?: Answer;
  readonly used: readonly string[];
}

function plan(request: Call, mode: Mode): Plan {
  let asked = request;
  const used: string[] = [];
  for (const deviation of mode.deviations) {
    const meaning = deviation.means?.(asked);
    if (meaning === undefined) continue;
    used.push(deviation.id);
    if ('answer' in meaning) return { asked, expected: meaning.answer, used };
    asked = meaning.call;
  }
  return { asked, used };
}

function judge(request: Call, geth: Answer, ours: Answer, mode: Mode): string | true | false {
  if (agree(geth, ours)) return true;
  return mode.deviations.find(({ allows }) => allows?.({ request, geth, ours }) === true)?.id ?? false;
}

export interface Urls {
  readonly geth: string;
  /** The geth that is asked for simulations: one that is younger than their standard. */
  readonly simulating: string;
  readonly ours: string;
}

/** geth's answers, in order, whichever of the two was asked. */
async function askGeth({ geth, simulating }: Urls, asked: readonly Call[]): Promise<readonly Answer[]> {
  const isSimulation = ({ method }: Call): boolean => method === 'eth_simulateV1';
  const [simulations, others] = [asked.filter(isSimulation), asked.filter((call) => !isSimulation(call))];
  const [simulated, told] = await Promise.all([
    simulations.length === 0 ? [] : sendBatch(simulating, simulations),
    others.length === 0 ? [] : sendBatch(geth, others),
  ]);
  const [next, nextOther] = [simulated.values(), told.values()];
  return asked.flatMap((call) => (isSimulation(call) ? next : nextOther).next().value ?? []);
}

/** Asks both servers a batch and judges entry by entry. */
export async function judgeBatch(
  urls: Urls,
  requests: readonly { readonly index: number; readonly request: Call }[],
  mode: Mode,
): Promise<readonly Verdict[]> {
  const plans = requests.map(({ request }) => plan(request, mode));
  const [theirs, own] = await Promise.all([
    askGeth(
      urls,
      plans.map(({ asked }) => asked),
    ),
    sendBatch(
      urls.ours,
      requests.map(({ request }) => request),
    ),
  ]);
  return requests.map(({ index, request }, at): Verdict => {
    const [planned, answer, ours] = [plans[at], theirs[at], own[at]];
    if (planned === undefined || answer === undefined || ours === undefined) throw new Error('a short batch');
    const { asked, expected, used } = planned;
    const geth = expected ?? answer;
    const judgement = judge(request, geth, ours, mode);
    return {
      ...{ index, request, asked, geth, ours },
      passed: judgement !== false,
      used: typeof judgement === 'string' ? [...used, judgement] : used,
    };
  });
}

/** How many spoilt answers the comparison would have let through: a test of the test. */
export function undetected(verdicts: readonly Verdict[], mode: Mode): readonly Verdict[] {
  return verdicts
    .filter(({ passed, geth }) => passed && !('error' in geth && geth.error.code === -32603))
    .filter(({ request, geth }) => {
      const judgement = judge(request, geth, spoil(geth), mode);
      // The only deviation that has to let any answer through, for three blocks out of 54.
      return judgement !== false && judgement !== 'constantinople';
    });
}

/** The ids in the document's table; a matcher without a row there, or a row without one, is an error. */
export async function checkDocument(mode: Mode): Promise<void> {
  const text = await readFile(join(repoRoot, 'docs/differential.md'), 'utf8');
  const table = text.split('<!-- deviations -->')[1]?.split('<!-- /deviations -->')[0] ?? '';
  const documented = [...table.matchAll(/^\| `([a-z-]+)`/gm)].map((match) => match[1] ?? '');
  const coded = mode.deviations.map(({ id }) => id);
  const lonely = [
    ...coded.filter((id) => !documented.includes(id)).map((id) => `${id} is not in docs/differential.md`),
    ...documented.filter((id) => !coded.includes(id)).map((id) => `${id} has no matcher`),
  ];
  if (lonely.length > 0) throw new Error(lonely.join('; '));
}
