import type { Method } from '../method.ts';

export const web3ClientVersion: Method = {
  name: 'web3_clientVersion',
  summary: 'Name and version of this server.',
  rules: ['B12'],
  params: [],
  result: { name: 'version', description: 'Name, version and platform.', schema: { type: 'string' } },
  handle(_params, { settings }) {
    return JSON.stringify(settings.clientVersion);
  },
};
