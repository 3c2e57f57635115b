import type { WorkloadChain } from '../support/servers/chains.ts';
import { type Answer, type Call, sendBatchNoting } from '../support/servers/rpc-client.ts';
import type { Replica } from './ours.ts';

/** What is asked about a call at a block. */
function requestsAt(to: string, blockHash: string): readonly Call[] {
  const call = { to, gas: '0x100000' };
  const block = { blockHash };
  const tracer = { tracer: 'callTracer' };
  return [
    { method: 'eth_estimateGas', params: [call, block] },
    { method: 'eth_createAccessList', params: [call, block] },
    { method: 'eth_simulateV1', params: [{ blockStateCalls: [{ calls: [call] }] }, block] },
    { method: 'debug_traceCall', params: [call, block, tracer] },
  ];
}

/** What an answer says, whatever its code: that of a revert is ours. */
function wordsOf(answer: Answer | undefined): string {
  if (answer === undefined) return 'nothing';
  return 'result' in answer
    ? JSON.stringify(answer.result)
    : answer.error.message.replace(/reverted.*/, 'reverted');
}

/** Whether estimates, access lists, simulations and traces that only an upstream can make are its own, and named: what is wrong, if anything is. */
export async function checkPassedOn(
  chain: WorkloadChain,
  replica: Replica,
  { to, isBlockPassed }: { readonly to: string; readonly isBlockPassed: boolean },
): Promise<string[]> {
  const wrong: string[] = [];
  const { hash } = await replica.head();
  const block = { method: 'debug_traceBlockByHash', params: [hash, { tracer: 'callTracer' }] };
  for (const request of [...requestsAt(to, hash), ...(isBlockPassed ? [block] : [])]) {
    const [ours, theirs] = await Promise.all(
      [replica.url, chain.url].map((url) => sendBatchNoting(url, [request])),
    );
    const [said, expected] = [wordsOf(ours?.answers[0]), wordsOf(theirs?.answers[0])];
    if (said !== expected)
      wrong.push(`${request.method}: ${said.slice(0, 500)}, not ${expected.slice(0, 500)}`);
    const source = ours?.headers.get('x-chain-source');
    if (source !== 'upstream') wrong.push(`${request.method} comes from ${source}`);
  }
  return wrong;
}
