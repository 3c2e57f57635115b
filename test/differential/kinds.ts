import type { RpcError } from '../support/servers/rpc-client.ts';

/** Classes of failure that two servers must agree on, by the words that geth and ours use for them; first match wins. */
const kinds: readonly (readonly [kind: string, words: RegExp])[] = [
  // Of a system contract that is overridden; why it fails is told in too many words.
  ['system call', /system call failed/],
  ['revert', /execution reverted/i],
  ['crash', /handler crashed/],
  ['invalid opcode', /invalid opcode/i],
  ['timeout', /timeout|time limit|timed out/i],
  ['intrinsic gas', /intrinsic gas/],
  ['block gas limit', /block gas limit reached/],
  ['block order', /must be in order/],
  ['nonce', /nonce too (low|high)/],
  ['early withdrawals', /ethash does not support withdrawals|withdrawals set before Shanghai/],
  ['floor gas', /floor data gas/],
  ['initcode size', /max initcode size|initcode.*(limit|size)/i],
  ['funds', /insufficient (funds|balance)/i],
  ['tip above cap', /priority fee.*(higher|greater) than max fee/i],
  ['fee below base fee', /less than block base fee/i],
  ['blob fee', /blob gas fee|blob base fee/i],
  ['blob hashes', /blob/i],
  ['authorization list', /EIP-7702|auth(orization)? list/i],
  ['fee styles', /both gasPrice and/],
  ['zero price', /must be non-zero after london/],
  ['chain id', /chain ?id/i],
  ['out of gas', /out of gas|gas uint64 overflow/i],
  // One kind for both ends of the stack: revm calls a DUP or SWAP of what is not there an overflow.
  ['allowance', /exceeds allowance/],
  ['stack', /stack (underflow|limit|overflow)/i],
  ['jump', /invalid jump/i],
  ['write protection', /write protection|static/i],
  ['return data', /return data out of bounds/i],
  ['call depth', /call depth/i],
  ['collision', /collision/i],
  ['code size', /max code size/i],
  ['0xef code', /begin with 0xef/i],
  ['nonce overflow', /nonce (uint64 )?overflow|nonce has max/i],
  ['block not found', /(header|block)( for hash| #.*| 0x[0-9a-f]*)? not found|unknown block/i],
  ['transaction index', /transaction index \d+ out of range|no transaction in genesis/],
  ['not canonical', /not currently canonical/i],
  ['no block', /neither block nor hash/],
  ['beyond head', /beyond (current )?head/],
  ['percentile', /reward percentile/],
  ['range', /block range/i],
  ['criteria limit', /exceed max/i],
  ['pending logs', /pending logs/],
  ['storage key', /storage key|hex string (too long|invalid)|invalid hex string/i],
  ['override', /override|both 'state' and/i],
  // Every precompile has its own words in geth; only that it failed is common ground.
  [
    'precompile',
    /precompile|elliptic|pairing|bn254|bn256|point|invalid input length|invalid final flag|subgroup|field element|curve|kzg|proof|versioned hash|length exceeded|malformed|coordinate|parameter|encoding|modulus/i,
  ],
];

export function kindOf(error: RpcError): string {
  const kind = kinds.find(([, words]) => words.test(error.message))?.[0];
  // What exactly is wrong with a parameter is told in too many words to compare; a range is worth telling apart.
  if (error.code === -32602) return kind === 'range' || kind === 'beyond head' ? kind : 'invalid params';
  return kind ?? `other: ${error.message}`;
}
