import { configText } from '../../rules/chains.ts';
import { activationTimes, type BlobChange, withBlobChange } from '../../rules/own-config.ts';
import type { ChainConfig } from '../../rules/row.ts';
import type { Store } from '../../store/interface.ts';

/** Name under which a store keeps the changes of blob parameters that were adopted: upstreams name them for a while only. */
const ADOPTED_META = 'adoptedBlobs';

/** The rules of a copy with the blob parameters that were adopted for it; those that they have themselves win. */
export async function withAdopted(store: Pick<Store, 'getMeta'>, rules: string): Promise<string> {
  const changes = await adoptedIn(store);
  if (changes.length === 0) return rules;
  const own = JSON.parse(configText(rules)) as ChainConfig;
  const times = activationTimes(own);
  const further = changes.filter(({ activationTime }) => !times.has(activationTime));
  return JSON.stringify(further.reduce((config, change) => withBlobChange(config, change) ?? config, own));
}

/** Keeps a change of blob parameters that was adopted. */
export async function keepAdopted(
  store: Pick<Store, 'getMeta' | 'setMeta'>,
  { activationTime, blobSchedule }: BlobChange,
): Promise<void> {
  const others = (await adoptedIn(store)).filter((change) => change.activationTime !== activationTime);
  await store.setMeta(ADOPTED_META, JSON.stringify([...others, { activationTime, blobSchedule }]));
}

async function adoptedIn(store: Pick<Store, 'getMeta'>): Promise<readonly BlobChange[]> {
  return JSON.parse((await store.getMeta(ADOPTED_META)) ?? '[]') as readonly BlobChange[];
}
