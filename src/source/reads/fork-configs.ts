import { parseObject } from '../../primitives/parse.ts';
import { SourceError } from '../errors.ts';
import type { JsonObject, ReadOptions, UpstreamAnswer } from '../interface.ts';
import type { Upstreams } from '../pool/upstreams.ts';
import { shaped } from './shape.ts';

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
        const { code } = error.type;
        // Servers that forward what they know have many words for what they do not.
        const isNone = code === 'unsupported' || code === 'refused' || code === 'unauthorized';
        return isNone ? [{ value: undefined, upstream: upstream.name }] : [];
      }
    }),
  );
  return answers.flat();
}
