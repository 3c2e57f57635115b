import { Turns } from '../../primitives/turns.ts';
import type { ChainOptions, DevChain } from '../chain.ts';
import { startChild } from './child.ts';
import { openGate } from './gate.ts';
import { CHAIN_ID, GAS_LIMIT, writeGenesis } from './genesis.ts';
import { DEPOSITOR } from './l1-attributes.ts';
import { MinedBlock } from './mined-block.ts';

const MAX_WAITING = 1_000;

/**
 * anvil writes the nonce after a deposit into its receipt, where the one before it belongs. Of the highest nonce both
 * are the same, and so the receipts root is right.
 */
const ANVIL_ALLOC = { [DEPOSITOR]: { balance: '0x0', nonce: '0xffffffffffffffff' } } as const;

/**
 * A chain that anvil runs. Its own pending block has neither a state root nor the randomness of the block to come, so
 * each block so far is mined and taken back. Nobody sees that: requests wait at a gate meanwhile.
 */
export async function startAnvilChain({ command, folder, host, port }: ChainOptions): Promise<DevChain> {
  const genesisFile = await writeGenesis(folder, ANVIL_ALLOC);
  const child = startChild(command, [
    ...['--host', '127.0.0.1', '--port', '0', '--network', 'optimism', '--hardfork', 'jovian'],
    ...['--chain-id', String(CHAIN_ID), '--gas-limit', String(Number(GAS_LIMIT))],
    ...['--init', genesisFile, '--accounts', '2', '--no-mining', '--order', 'fifo'],
    // Blocks are final when there are two on top.
    ...['--slots-in-an-epoch', '1'],
  ]);
  try {
    const address = await child.waitFor('port', (output) => /Listening on (\S+)/.exec(output)?.[1]);
    const anvil = `http://${address}`;
    const turns = new Turns(MAX_WAITING);
    const gate = await openGate({ host, port }, { target: anvil, turns });
    return {
      client: 'anvil',
      url: gate.url,
      genesisFile,
      failed: child.failed,
      open: () => turns.take(() => MinedBlock.open(anvil, turns)),
      async [Symbol.asyncDispose]() {
        await gate[Symbol.asyncDispose]();
        await child[Symbol.asyncDispose]();
      },
    };
  } catch (error) {
    await child[Symbol.asyncDispose]();
    throw error;
  }
}
