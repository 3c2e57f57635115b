import type { Random } from '../../support/random.ts';
import { blockParams } from '../block-requests.ts';
import { callParams } from '../calls.ts';
import type { Corpus } from '../corpus.ts';

type Fields = Record<string, unknown>;

/** Traces, each as often as its number says: those of a call go anywhere, those of blocks are the same few again and again. */
export const traceMethods = [
  [14, 'debug_traceCall'],
  [8, 'debug_traceTransaction'],
  [2, 'debug_traceBlockByNumber'],
  [2, 'debug_traceBlockByHash'],
] as const;

function flags(random: Random, names: readonly string[]): Fields {
  const given = names.filter(() => random.chance(0.4));
  return Object.fromEntries(given.map((name) => [name, random.chance(0.85)]));
}

function structLogger(random: Random): Fields {
  const made = flags(random, ['enableMemory', 'disableStack', 'disableStorage', 'enableReturnData']);
  if (random.chance(0.8)) return made;
  // A limit counts bytes, and words of memory and storage are longer by `0x` here.
  const limit = random.pick([0, 1, 300, 2_000, 20_000]);
  return { ...made, limit, enableMemory: false, disableStorage: true };
}

/** What a trace is asked to be; of whole blocks each opcode is asked for now and then only. */
function traceConfig(random: Random, isBlock: boolean): Fields {
  return random.weighted<Fields>([
    [isBlock ? 1 : 8, () => structLogger(random)],
    [6, () => ({ tracer: 'callTracer', tracerConfig: flags(random, ['onlyTopCall', 'withLog']) })],
    [
      8,
      () => ({
        tracer: 'prestateTracer',
        tracerConfig: flags(random, ['diffMode', 'disableCode', 'disableStorage']),
      }),
    ],
    [3, () => ({ tracer: '4byteTracer' })],
    [1, () => ({ tracer: 'noopTracer' })],
    [1, () => ({ tracer: random.pick(['callTracer', 'prestateTracer']) })],
  ]);
}

/** Params of one of these methods. */
export async function traceParams(random: Random, corpus: Corpus, method: string): Promise<unknown[]> {
  const isBlock = method.startsWith('debug_traceBlock');
  const config = traceConfig(random, isBlock);
  if (method === 'debug_traceCall') {
    const [call, block = 'latest', stateOverrides, blockOverrides] = await callParams(random, corpus);
    // What never ends would be all opcodes of 50 million gas.
    const most = config['tracer'] === undefined ? '0x30d40' : '0x4c4b40';
    const gas = (call as Fields)['gas'] === undefined ? { gas: most } : {};
    return [
      { ...(call as Fields), ...gas },
      block,
      {
        ...config,
        ...(random.chance(0.15)
          ? { txIndex: `0x${random.below(random.pick([2, 4, 30])).toString(16)}` }
          : {}),
        ...(stateOverrides === undefined ? {} : { stateOverrides }),
        ...(blockOverrides === undefined ? {} : { blockOverrides }),
      },
    ];
  }
  const named = method === 'debug_traceTransaction' ? 'eth_getTransactionByHash' : method;
  return [...blockParams(random, corpus, named).slice(0, 1), ...(random.chance(0.97) ? [config] : [])];
}
