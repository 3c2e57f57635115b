import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { schemaValue } from '../support/schemas/arbitrary.ts';
import { allMethods } from '../support/schemas/methods.ts';
import { mutantOf } from '../support/schemas/mutant.ts';
import { conformanceDir } from '../support/servers/paths.ts';

/** Parameters of every method that is served: what its schemas allow, what the official vectors ask, and both with something broken. */
export const paramsByMethod: ReadonlyMap<string, fc.Arbitrary<unknown>> = new Map(
  [...allMethods().values()].map(({ name, params }) => {
    const allowed = fc
      .tuple(fc.tuple(...params.map(({ schema }) => schemaValue(schema))), fc.nat(9))
      .map(([all, cut]) => (cut < all.length ? all.slice(0, cut) : all));
    const asked = vectorParams(name);
    const real = asked.length === 0 ? allowed : fc.constantFrom(...asked);
    return [name, fc.oneof(allowed, real, mutantOf(allowed), mutantOf(real))];
  }),
);

/** What the official vectors ask a method: blocks and transactions that the official chain has. */
function vectorParams(method: string): readonly unknown[] {
  const dir = join(conformanceDir, 'vectors', method);
  const lines = readIfPresent(dir).flatMap((file) => readFileSync(join(dir, file), 'utf8').split('\n'));
  return lines
    .filter((line) => line.startsWith('>> '))
    .map((line) => (JSON.parse(line.slice(3)) as { readonly params?: unknown }).params ?? []);
}

function readIfPresent(dir: string): readonly string[] {
  try {
    return readdirSync(dir).filter((file) => file.endsWith('.io'));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
