import { isDeepStrictEqual } from 'node:util';
import type { Difference } from './comparison.ts';

const pathsShown = 6;
const examplesShown = 2;
const textShown = 1200;

interface Spot {
  readonly path: string;
  readonly upstream: unknown;
  readonly ours: unknown;
}

/** Where two answers differ, as deep inside as possible. */
function spots(upstream: unknown, ours: unknown, path = ''): readonly Spot[] {
  if (isDeepStrictEqual(upstream, ours)) return [];
  const areObjects = [upstream, ours].every((value) => typeof value === 'object' && value !== null);
  if (!areObjects || Array.isArray(upstream) !== Array.isArray(ours)) return [{ path, upstream, ours }];
  const [theirs, own] = [upstream as Record<string, unknown>, ours as Record<string, unknown>];
  const keys = new Set([...Object.keys(theirs), ...Object.keys(own)]);
  return [...keys].flatMap((key) => spots(theirs[key], own[key], `${path}.${key}`));
}

const clip = (value: unknown): string => {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length > textShown ? `${text.slice(0, textShown)}… (${text.length} characters)` : text;
};

/** What differences have in common that have the same cause, more often than not. */
function kindOf({ request, upstream, ours }: Difference): string {
  const paths = spots(upstream, ours).map(({ path }) => path.replaceAll(/\.\d+/g, '[]'));
  return `${request.method} at ${[...new Set(paths)].slice(0, pathsShown).join(', ')}`;
}

function show({ what, request, asked, upstream, ours, head }: Difference): void {
  console.log(`  ${what}; block ${head} was the last that both had`);
  console.log(`    request  ${clip(request)}`);
  if (asked !== request) console.log(`    upstream was asked ${clip(asked)}`);
  for (const spot of spots(upstream, ours).slice(0, pathsShown)) {
    console.log(`    ${spot.path}`);
    console.log(`      upstream ${clip(spot.upstream)}`);
    console.log(`      ours     ${clip(spot.ours)}`);
  }
}

/** Prints differences by kind, a few of each: one cause must not hide another. */
export function showDifferences(differences: readonly Difference[]): void {
  for (const [kind, alike] of Map.groupBy(differences, kindOf)) {
    console.log(`\n${alike.length} differences in ${kind}`);
    for (const difference of alike.slice(0, examplesShown)) show(difference);
  }
}
