import type { Method } from '../method.ts';

export const netVersion: Method = {
  name: 'net_version',
  summary: 'The network id.',
  rules: ['B12'],
  params: [],
  result: { name: 'version', description: 'The chain id in decimal.', schema: { type: 'string' } },
  handle(_params, { settings }) {
    return `"${settings.chainId}"`;
  },
};
