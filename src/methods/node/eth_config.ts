import { headerOf } from '../../head/block-answers.ts';
import type { Snapshot } from '../../head/snapshot.ts';
import { StateUnavailableError } from '../../primitives/errors.ts';
import { type GenesisFacts, servedConfig } from '../../rules/served-config.ts';
import type { Method, MethodContext } from '../method.ts';

const forkSchema = {
  type: 'object',
  required: ['activationTime', 'blobSchedule', 'chainId', 'forkId', 'precompiles', 'systemContracts'],
} as const;
const optionalFork = { oneOf: [{ type: 'null' }, forkSchema] } as const;

export const ethConfig: Method = {
  name: 'eth_config',
  summary:
    'The forks of the chain by the rules of this node: that of the head, the next and the last one (EIP-7910).',
  rules: ['B12', 'B16'],
  params: [],
  result: {
    name: 'config',
    description: 'Fork ids need the first block: where that is not held, an upstream is asked for it.',
    schema: {
      type: 'object',
      required: ['current', 'next', 'last'],
      properties: { current: forkSchema, next: optionalFork, last: optionalFork },
    },
  },
  async handle(_params, context) {
    const { snapshot, settings } = context;
    const { chainConfig } = settings.services;
    const genesis = (await heldGenesis(snapshot)) ?? (await askedGenesis(context));
    const { timestamp } = await snapshot.viewAt({ kind: 'tag', tag: 'latest' });
    return JSON.stringify(servedConfig(chainConfig, genesis, timestamp));
  },
};

async function heldGenesis(snapshot: Snapshot): Promise<GenesisFacts | undefined> {
  const json = await headerOf(snapshot, { kind: 'number', number: 0, hex: '0x0' });
  return json === undefined ? undefined : genesisOf(JSON.parse(json));
}

async function askedGenesis(context: MethodContext): Promise<GenesisFacts> {
  const { services } = context.settings;
  const request = { kind: 'request', method: 'eth_getBlockByNumber', params: ['0x0', false] } as const;
  const answer = await services.passOn(request, context);
  if (answer.kind === 'error') throw new StateUnavailableError('no upstream knows the first block');
  context.namesUpstream();
  return genesisOf(JSON.parse(answer.json));
}

function genesisOf(header: unknown): GenesisFacts {
  const { hash, timestamp } = (header ?? {}) as { readonly hash?: unknown; readonly timestamp?: unknown };
  if (typeof hash !== 'string' || !/^0x[0-9a-f]{64}$/.test(hash)) {
    throw new StateUnavailableError('no upstream knows the first block');
  }
  return { hash, timestamp: Number(timestamp) };
}
