import { describe, expect, it } from 'vitest';
import { runMethod, testSettings } from '../../../test/support/serve/methods.ts';
import {
  debugTraceBlockByHash,
  debugTraceBlockByNumber,
  debugTraceCall,
  debugTraceTransaction,
} from './debug_trace.ts';
import { parseTraceConfig } from './trace-config.ts';

const HASH = `0x${'00'.repeat(31)}ff`;

describe('what a trace is asked to be', () => {
  it.each([
    [undefined, { structLogger: {} }],
    [
      { enableMemory: true, limit: 7, timeout: '5s', whatever: 1 },
      { structLogger: { enableMemory: true, limit: 7 } },
    ],
    [{ tracer: 'callTracer', tracerConfig: { withLog: true } }, { callTracer: { withLog: true } }],
    [{ tracer: 'prestateTracer', tracerConfig: { diffMode: true } }, { prestateTracer: { diffMode: true } }],
    [{ tracer: '4byteTracer' }, '4byteTracer'],
  ])('reads %j', (config, tracer) => {
    expect(parseTraceConfig(config, 'config', testSettings)).toEqual({ tracer, maxBytes: 10 << 20 });
  });

  it.each([
    [{ tracer: '{}' }, 'the tracer "{}" is not supported'],
    [{ tracer: 'callTracer', tracerConfig: { withLog: 1 } }, 'withLog'],
    [{ limit: -1 }, 'limit: expected a whole number'],
    ['x', 'expected an object'],
  ])('refuses %j', (config, words) => {
    expect(() => parseTraceConfig(config, 'config', testSettings)).toThrow(words);
  });
});

describe('traces (B12)', () => {
  it('are of the dedicated listener alone', () => {
    const methods = [debugTraceCall, debugTraceTransaction, debugTraceBlockByNumber, debugTraceBlockByHash];
    expect(methods.every(({ dedicatedOnly }) => dedicatedOnly)).toBe(true);
  });

  it('say what cannot be traced', async () => {
    await expect(runMethod(debugTraceTransaction, [HASH])).rejects.toMatchObject({
      type: { code: 'CALL_FAILED', reason: 'transaction not found' },
    });
    await expect(runMethod(debugTraceBlockByHash, [HASH])).rejects.toMatchObject({
      type: { code: 'BLOCK_NOT_FOUND' },
    });
    await expect(
      runMethod(debugTraceBlockByHash, [HASH], { settings: { compat: true } }),
    ).rejects.toMatchObject({ type: { code: 'CALL_FAILED', reason: `block ${HASH} not found` } });
  });
});
