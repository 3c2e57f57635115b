import { keccak256 } from '../../executor/native-executor.ts';
import { fromHex, toHex } from '../../primitives/hex.ts';
import { parseBytes } from '../../primitives/parse.ts';
import type { Method } from '../method.ts';
import { anyBytes } from '../param-schemas.ts';
import { hashSchema } from '../schemas.ts';

export const web3Sha3: Method = {
  name: 'web3_sha3',
  summary: 'The Keccak-256 hash of some bytes.',
  rules: ['B12'],
  params: [{ name: 'data', required: true, description: 'The bytes.', schema: anyBytes }],
  result: { name: 'hash', description: '32 bytes.', schema: hashSchema },
  handle(params) {
    return `"${toHex(keccak256(fromHex(parseBytes(params[0], 'invalid argument 0'))))}"`;
  },
};
