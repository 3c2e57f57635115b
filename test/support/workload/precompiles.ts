import type { Random } from '../random.ts';
import known from './precompile-inputs.json' with { type: 'json' };

// Inputs, good and bad, as the EIPs of each precompile publish them.
const inputsByNumber = new Map(Object.entries(known).map(([number, inputs]) => [Number(number), inputs]));

const numbers = [...Array.from({ length: 0x11 }, (_, at) => at + 1), 0x100];

export const precompileAddresses: readonly string[] = numbers.map(
  (number) => `0x${number.toString(16).padStart(40, '0')}`,
);

function modexpInput(random: Random): string {
  const lengths = random.list(3, () => random.pick([0, 1, 2, 31, 32, 33, 64]));
  const head = lengths.map((length) => length.toString(16).padStart(64, '0')).join('');
  return `0x${head}${lengths.map((length) => random.hex(length).slice(2)).join('')}`;
}

/** Something to hand to a precompile: a known input, one broken in one way, or noise. */
export function precompileInput(random: Random, address: string): string {
  const inputs = inputsByNumber.get(Number(address)) ?? [];
  if (inputs.length === 0 || random.chance(0.15)) {
    if (Number(address) === 5 && random.chance(0.8)) return modexpInput(random);
    return random.hex(random.pick([0, 1, 31, 32, 33, 64, 96, 128, 192, 213, 256]));
  }
  const input = random.pick(inputs);
  return random.weighted([
    [6, () => input],
    [1, () => input.slice(0, 2 + 2 * random.below(input.length / 2))],
    [1, () => `${input}${random.hex(random.between(1, 40)).slice(2)}`],
    [
      2,
      () => {
        if (input.length <= 2) return input;
        const at = 2 + 2 * random.below((input.length - 2) / 2);
        return `${input.slice(0, at)}${random.hex(1).slice(2)}${input.slice(at + 2)}`;
      },
    ],
  ]);
}
