import { type CqlStore, openCqlStore } from '../../src/store/cql/index.ts';
import type { CqlStoreOptions } from '../../src/store/cql/options.ts';
import { type CqlReplica, openCqlReplica } from '../../src/store/cql/replica.ts';
import type { Store } from '../../src/store/interface.ts';
import { describeStoreContract } from '../support/store/contract.ts';
import { useCassandra } from './place.ts';

/** Three in `--full`: the contract is the same, and takes ten times as long on two cores. */
const nodes = process.env['FLEET_NODES'] === '3' ? 3 : 1;
const place = useCassandra('contract', nodes);

const fail = (error: unknown): never => {
  throw error;
};

describeStoreContract('cql', ({ undoWindow }) => subject({ undoWindow, indexLag: 4 }));
describeStoreContract('cql, indexed before it is asked', ({ undoWindow }) =>
  subject({ undoWindow, indexLag: 0 }, indexedFirst),
);

describeStoreContract('cql, read by another', async ({ undoWindow }) => {
  const written = await subject({ undoWindow, indexLag: 4 });
  const replica = await openCqlReplica({ ...written.where, viewMs: 60_000 });
  await replica.sync();
  const { store, dispose } = written;
  return {
    store: readElsewhere(store, replica),
    reopen: async () => readElsewhere(await written.reopen(), replica),
    async dispose() {
      await replica.close();
      await dispose();
    },
  };
});

const CHANGES = new Set<string | symbol>([
  'append',
  'prepend',
  'pin',
  'revertTo',
  'prune',
  'mark',
  'setMeta',
]);

/** A store that one process writes and another one reads, which looks after every change. */
function readElsewhere(store: CqlStore, replica: CqlReplica): Store {
  return new Proxy(store, {
    get(target, name) {
      const isRead = name in replica && name !== 'close';
      const owner = isRead ? replica : target;
      const member: unknown = Reflect.get(owner, name, owner);
      if (typeof member !== 'function') return member;
      if (!CHANGES.has(name)) return member.bind(owner) as unknown;
      return async (...values: unknown[]) => {
        const result = await (Reflect.apply(member, target, values) as Promise<unknown>);
        await replica.sync();
        return result;
      };
    },
  });
}

/** The same store, whose changes end only once all of them are indexed that can be. */
function indexedFirst(store: CqlStore): CqlStore {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      if (name !== 'append' && name !== 'revertTo') return member.bind(target) as unknown;
      return async (...values: unknown[]) => {
        await (Reflect.apply(member, target, values) as Promise<void>);
        await target.indexed();
      };
    },
  });
}

async function subject(
  options: Pick<CqlStoreOptions, 'undoWindow' | 'indexLag'>,
  as: (store: CqlStore) => CqlStore = (store) => store,
) {
  const where = place();
  const open = async (): Promise<CqlStore> =>
    as(await openCqlStore({ ...where, ...options, graceMs: 0, viewMs: 60_000 }, { onFailure: fail }));
  let store = await open();
  return {
    store,
    where,
    async reopen() {
      await store.close();
      store = await open();
      return store;
    },
    dispose: () => store.close(),
  };
}
