import type { Random } from '../support/random.ts';

type Container = Record<string, unknown> | unknown[];

/** Every place inside `value`, containers included, as the container and the key in it. */
function places(value: unknown): readonly (readonly [container: Container, key: string])[] {
  if (typeof value !== 'object' || value === null) return [];
  const container = value as Container;
  return Object.keys(container).flatMap((key) => [
    [container, key] as const,
    ...places((container as Record<string, unknown>)[key]),
  ]);
}

const wrong = (random: Random, old: unknown): unknown => {
  const text = typeof old === 'string' ? old : '0x12';
  return random.pick<unknown>([
    null,
    0,
    1,
    -1,
    1.5,
    true,
    '',
    '0x',
    'x',
    [],
    {},
    [text],
    { value: text },
    text.slice(2),
    text.slice(0, -1),
    `${text}0`,
    `${text}00`,
    `0x0${text.slice(2)}`,
    `${text.slice(0, -1)}g`,
    ` ${text}`,
    text.toUpperCase(),
    `0x${text.slice(2).toUpperCase()}`,
    `0x${'f'.repeat(65)}`,
    `0x1${'0'.repeat(64)}`,
    '0xffffffffffffffff',
    '0x10000000000000000',
  ]);
};

/** Breaks good params in one place, the way clients do: a wrong type, bad hex, one too many, one too few. */
export function mutate(random: Random, params: unknown[]): unknown {
  return random.weighted<unknown>([
    [2, () => params.slice(0, -1)],
    [1, () => []],
    [2, () => [...params, random.pick<unknown>([null, {}, 'latest', '0x1'])]],
    [1, () => random.pick<unknown>([null, {}, { 0: params[0] }, 'latest', 7])],
    [
      14,
      () => {
        const copy = structuredClone(params);
        const spots = places(copy);
        if (spots.length === 0) return copy;
        const [container, key] = random.pick(spots);
        const holder = container as Record<string, unknown>;
        if (random.chance(0.1) && !Array.isArray(container)) delete holder[key];
        else holder[key] = wrong(random, holder[key]);
        return copy;
      },
    ],
  ]);
}
