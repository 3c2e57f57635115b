import { createRequire } from 'node:module';
import type { Abi, Hex } from 'viem';

interface SolcOutput {
  readonly contracts?: Readonly<
    Record<
      string,
      Record<
        string,
        { abi: Abi; evm: { bytecode: { object: string }; deployedBytecode: { object: string } } }
      >
    >
  >;
}

export interface Compiled {
  readonly abi: Abi;
  /** What creates it. */
  readonly code: Hex;
  readonly runtime: Hex;
}

/** Every contract of a Solidity source by its name. */
export function compileSolidity(source: string): Readonly<Record<string, Compiled>> {
  // solc is a CommonJS module of 8 MB: only who makes a chain pays for it.
  const solc = createRequire(import.meta.url)('solc') as { compile(input: string): string };
  const output = JSON.parse(
    solc.compile(
      JSON.stringify({
        language: 'Solidity',
        sources: { source: { content: source } },
        settings: {
          optimizer: { enabled: true },
          evmVersion: 'cancun',
          outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object', 'evm.deployedBytecode.object'] } },
        },
      }),
    ),
  ) as SolcOutput;
  const contracts = output.contracts?.['source'];
  if (contracts === undefined) throw new Error(`solc: ${JSON.stringify(output)}`);
  return Object.fromEntries(
    Object.entries(contracts).map(([name, { abi, evm }]) => [
      name,
      { abi, code: `0x${evm.bytecode.object}`, runtime: `0x${evm.deployedBytecode.object}` } as const,
    ]),
  );
}
