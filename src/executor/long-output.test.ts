import { setImmediate as nextTurn } from 'node:timers/promises';
import { native } from '@chain-query/native';
import { expect, it } from 'vitest';
import {
  executeOfficialChain,
  HEAD,
  loadFrom,
  restoreLast,
  runCode,
} from '../../test/support/serve/executor.ts';
import { giveBack } from '../primitives/owned-bytes.ts';

it.each([
  ['success', 'f3'],
  ['revert', 'fd'],
])('a long output of a %s is JSON in bytes, whose memory can be given back at once', async (kind, end) => {
  const outcomes = await executeOfficialChain();
  const view = restoreLast(outcomes, loadFrom(outcomes)).view(outcomes[HEAD]?.header ?? new Uint8Array());
  const bytes = 2 ** 20;
  // PUSH3 bytes; PUSH0; RETURN or REVERT
  const long = runCode(`0x62${bytes.toString(16).padStart(6, '0')}5f${end}`);
  const result = await view.call({ ...long, gas: '0x2faf080' });
  expect(result.kind).toBe(kind);
  if (!('output' in result) || typeof result.output === 'string') throw new Error('not in bytes');
  expect(result.output.toString()).toBe(`"0x${'00'.repeat(bytes)}"`);
  const before = native.nativeMemory().live;
  giveBack(result.output);
  expect(result.output).toHaveLength(0);
  // The addon hears of it in a later turn.
  await nextTurn();
  await nextTurn();
  expect(before - native.nativeMemory().live).toBeGreaterThan(2 * bytes - 100_000);
  giveBack(result.output);
});
