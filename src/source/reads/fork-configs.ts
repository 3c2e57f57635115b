import { parseObject } from '../../primitives/parse.ts';
import { SourceError } from '../errors.ts';
import type { JsonObject, ReadOptions, UpstreamAnswer } from '../interface.ts';
import type { Upstreams } from '../pool/upstreams.ts';
import { shaped } from './shape.ts';

/** Whether a server that was asked for `eth_config` does not offer it. Many have it fail instead: op-geth's crashes. */
export function isNotOffered({ type }: SourceError): boolean {
  return ['unsupported', 'refused', 'unauthorized', 'overloaded'].includes(type.code);
}

/** `eth_config` (EIP-7910) of each upstream that answers; undefined of one that does not offer it. */
export async function readForkConfigs(
  pool: Upstreams,
  { signal }: ReadOptions,
): Promise<readonly UpstreamAnswer<JsonObject | undefined>[]> {
  const trusted = pool.upstreams.filter(({ name }) => pool.trusts(name));
  const answers = await Promise.all(
    trusted.map(async (upstream): Promise<UpstreamAnswer<JsonObject | undefined>[]> => {
      try {
        const config = await upstream.request('eth_config', [], signal);
        return [
          { value: shaped(upstream, () => parseObject(config, 'eth_config')), upstream: upstream.name },
        ];
      } catch (error) {
        if (!(error instanceof SourceError)) throw error;
        return isNotOffered(error) ? [{ value: undefined, upstream: upstream.name }] : [];
      }
    }),
  );
  return answers.flat();
}
