import { expect, it } from 'vitest';
import { readRoot } from './cql/root.ts';
import { FORM } from './cql/schema.ts';
import { otherForm } from './form.ts';

it('says who wrote another form, and what to do', () => {
  expect(otherForm('the store', 4, 3)).toBe(
    'the store has form 4, which a newer release wrote, and this program reads form 3: use that release, or one after it (docs/upgrading.md)',
  );
  expect(otherForm('the store', 2, 3)).toBe(
    'the store has form 2, and this program reads form 3 and no longer the older one: use the release that wrote it, or copy the chain into a new one (docs/upgrading.md)',
  );
  for (const none of [undefined, null, 'x', 1.5])
    expect(otherForm('it', none, 3)).toBe('it does not say its form, and this program reads form 3');
});

it.each([
  [FORM + 1, 'a newer release wrote'],
  [FORM - 1, 'no longer the older one'],
])('refuses a store in CQL of form %i', async (form, words) => {
  const rows = async (): Promise<never[]> =>
    [{ form, holder: '', epoch: 0n, seq: 0n, root: null }] as never[];
  for (const extent of ['committed', 'under way'] as const)
    await expect(readRoot({ rows, rowsNow: rows }, 'chain', extent)).rejects.toMatchObject({
      code: 'schema',
      message: expect.stringContaining(words) as string,
    });
});
