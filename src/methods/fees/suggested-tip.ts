import type { FeeSample } from '../../head/fees.ts';
import type { MethodContext } from '../method.ts';

/** Blocks that are looked at, and again as many where they say too little; as geth. */
const BLOCKS = 20;
/** Tips of each block that count, the lowest of those that are worth mentioning. */
const TIPS_A_BLOCK = 3;
const PERCENTILE = 60;
const IGNORED_BELOW = 2n;
const MAX_TIP = 500_000_000_000n;
/** What a block without tips counts as, and the least that is suggested on OP-stack chains. */
const LEAST_TIP = 1_000_000n;

/** The tip that gets a transaction into one of the next blocks, from those of late: geth's rule, on OP-stack chains op-geth's. */
export async function suggestedTip(context: MethodContext): Promise<bigint> {
  const tip = await (context.settings.services.facts.isOpStack ? ofOneBuilder(context) : ofMarket(context));
  return tip > MAX_TIP ? MAX_TIP : tip;
}

/** A percentile of the lowest tips of late. */
async function ofMarket({ snapshot, settings }: MethodContext): Promise<bigint> {
  const { fees } = settings.services;
  const found: bigint[] = [];
  let waiting = Math.min(BLOCKS, snapshot.head.number);
  for (let number = snapshot.head.number; waiting > 0; number--) {
    waiting--;
    const sample = await fees.sample(snapshot, number);
    // Below what is held: it is told from the others.
    if (sample === undefined) break;
    const tips = tipsOf(sample);
    // One that says little has another one asked.
    if (tips.length <= 1 && found.length + 1 + waiting < 2 * BLOCKS && number > waiting + 1) waiting++;
    found.push(...(tips.length === 0 ? [LEAST_TIP] : tips));
  }
  found.sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  return found[Math.floor(((found.length - 1) * PERCENTILE) / 100)] ?? LEAST_TIP;
}

function tipsOf({ tips }: FeeSample): readonly bigint[] {
  const counted = tips.filter(({ tip, isBuilder }) => tip >= IGNORED_BELOW && !isBuilder);
  return counted.slice(0, TIPS_A_BLOCK).map(({ tip }) => tip);
}

/** With one builder who takes all that fits, a tip matters only where the last block was full: a tenth more than its median. */
async function ofOneBuilder({ snapshot, settings }: MethodContext): Promise<bigint> {
  const sample = await settings.services.fees.sample(snapshot, snapshot.head.number);
  if (sample === undefined || sample.tips.length === 0) return LEAST_TIP;
  const { fees, tips } = sample;
  const largest = tips.reduce((most, { gasUsed }) => Math.max(most, gasUsed), 0);
  if (fees.gasUsed + largest <= fees.gasLimit) return LEAST_TIP;
  const median = tips[Math.floor(tips.length / 2)]?.tip ?? 0n;
  const more = median + median / 10n;
  return more > LEAST_TIP ? more : LEAST_TIP;
}
