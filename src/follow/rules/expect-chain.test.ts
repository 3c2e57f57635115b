import { expect, it } from 'vitest';
import { SourceError } from '../../source/errors.ts';
import { expectChainId } from './chain-rules.ts';

const { signal } = new AbortController();

/** Upstreams that claim these chains; one that claims none is away. */
function upstreams(...claims: (bigint | undefined)[]) {
  const expected: bigint[] = [];
  const source = {
    chainIds: async () => {
      const answers = claims.flatMap((value, at) =>
        value === undefined ? [] : [{ value, upstream: `${at}` }],
      );
      if (answers.length === 0) throw new SourceError({ code: 'unreachable' }, 'away');
      return answers;
    },
    expectChain: (chainId: bigint) => void expected.push(chainId),
    status: () => claims.map(() => ({}) as never),
  };
  return { source, expected };
}

it('refuses to begin where every upstream is of another chain', async () => {
  const { source } = upstreams(5n, 6n);
  await expect(expectChainId(source, 10n, signal)).rejects.toThrow(
    '0 is of chain 5, and this copy is of chain 10',
  );
});

it.each([
  ['one is right', [5n, 10n]],
  ['one is away', [5n, undefined]],
])('goes on where %s, and has the others not be used', async (_, claims) => {
  const { source, expected } = upstreams(...claims);
  await expectChainId(source, 10n, signal);
  expect(expected).toEqual([10n]);
});

it('has them be asked again when nobody answers', async () => {
  const { source, expected } = upstreams(undefined);
  await expect(expectChainId(source, 10n, signal)).rejects.toThrow('away');
  expect(expected).toEqual([10n]);
});
