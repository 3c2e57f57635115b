import { type Hex, zeroAddress } from 'viem';
import type { PrivateKeyAccount } from 'viem/accounts';
import type { Action, Draft } from './draft.ts';

type Authorization = Awaited<ReturnType<PrivateKeyAccount['signAuthorization']>>;

/** Mostly good; now and then one of those that a chain has to skip. */
function authorize(draft: Draft, authority: PrivateKeyAccount, nonce: number): Promise<Authorization> {
  const { random } = draft;
  const target: Hex = random.weighted([
    [3, () => draft.address('Workshop')],
    [2, () => draft.address(random.pick(['Counter', 'Token', 'Proxy'] as const))],
    [2, () => zeroAddress],
    // To another delegation, to a precompile, to nothing.
    [1, () => random.pick(draft.authorities).address],
    [1, () => random.pick(['0x0000000000000000000000000000000000000004', random.hex(20) as Hex])],
  ]);
  return authority.signAuthorization({
    address: target,
    chainId: random.weighted([
      [8, () => draft.traits.chainId],
      [2, () => 0],
      [1, () => draft.traits.chainId + 1],
    ]),
    nonce: random.chance(0.1) ? nonce + 3 : nonce,
  });
}

/** What a delegating account can be asked to do by anybody. */
function use(draft: Draft): Hex {
  const { random } = draft;
  return random.weighted<Hex>([
    [1, () => '0x'],
    [2, () => draft.encode('Workshop', 'put', [BigInt(random.below(9)), 2n, 5n])],
    [2, () => draft.encode('Counter', 'bump', [1n])],
    [1, () => draft.encode('Workshop', 'emitting', [BigInt(random.below(5)), 1n, '0x12', 3n])],
    [1, () => draft.encode('Workshop', 'fail', [BigInt(random.below(7))])],
    [1, () => draft.encode('Workshop', 'flash', [random.hex(32), 1n])],
    // Raises the account's nonce.
    [1, () => draft.encode('Workshop', 'create', ['0x6001600055', 0n])],
  ]);
}

const sponsored: Action = async (draft) => {
  const { random, catalogue } = draft;
  const sponsor = random.pick(draft.senders);
  const authorizations: Authorization[] = [];
  for (let left = random.pick([1, 1, 2, 3]); left > 0; left -= 1) {
    const authority = draft.freeAuthority();
    if (authority === undefined) break;
    catalogue.contract(authority.address);
    for (const slot of [0, 4]) catalogue.slot(authority.address, slot);
    authorizations.push(await authorize(draft, authority, draft.nonceOf(authority)));
  }
  if (authorizations.length === 0) return;
  // The call may raise the nonce of whom it calls: one that nothing after it in the block counts on.
  const called = random.chance(0.7) ? draft.freeAuthority() : undefined;
  const to = called?.address ?? draft.address('Workshop');
  await draft.sendDelegations(sponsor, authorizations, { to, data: use(draft) });
};

const selfSponsored: Action = async (draft) => {
  const authority = draft.freeAuthority();
  if (authority === undefined) return;
  const authorization = await authorize(draft, authority, draft.nonceOf(authority) + 1);
  const to = draft.random.chance(0.7) ? authority.address : draft.address('Counter');
  await draft.sendDelegations(authority, [authorization], { to, data: use(draft) });
};

const callDelegated: Action = async (draft) => {
  const authority = draft.freeAuthority();
  if (authority === undefined) return;
  const data = use(draft);
  draft.catalogue.call(authority.address, data);
  await draft.send({ to: authority.address, data, value: BigInt(draft.random.pick([0, 1])) });
};

const sendDelegated: Action = async (draft) => {
  const authority = draft.freeAuthority();
  if (authority === undefined) return;
  await draft.send({ to: draft.address('Workshop'), data: use(draft) }, authority);
};

export const delegationActions: readonly (readonly [weight: number, act: Action])[] = [
  [6, sponsored],
  [4, selfSponsored],
  [5, callDelegated],
  [2, sendDelegated],
];
