const names: Readonly<Record<number, string>> = {
  0x00: 'STOP ADD MUL SUB DIV SDIV MOD SMOD ADDMOD MULMOD EXP SIGNEXTEND',
  0x10: 'LT GT SLT SGT EQ ISZERO AND OR XOR NOT BYTE SHL SHR SAR CLZ',
  0x20: 'KECCAK256',
  0x30: 'ADDRESS BALANCE ORIGIN CALLER CALLVALUE CALLDATALOAD CALLDATASIZE CALLDATACOPY CODESIZE CODECOPY GASPRICE EXTCODESIZE EXTCODECOPY RETURNDATASIZE RETURNDATACOPY EXTCODEHASH',
  0x40: 'BLOCKHASH COINBASE TIMESTAMP NUMBER PREVRANDAO GASLIMIT CHAINID SELFBALANCE BASEFEE BLOBHASH BLOBBASEFEE',
  0x50: 'POP MLOAD MSTORE MSTORE8 SLOAD SSTORE JUMP JUMPI PC MSIZE GAS JUMPDEST TLOAD TSTORE MCOPY PUSH0',
  0x80: 'DUP1 DUP2 DUP3 DUP4 DUP5 DUP6 DUP7 DUP8',
  0x90: 'SWAP1 SWAP2 SWAP3 SWAP4',
  0xa0: 'LOG0 LOG1 LOG2 LOG3 LOG4',
  0xf0: 'CREATE CALL CALLCODE RETURN DELEGATECALL CREATE2',
  0xfa: 'STATICCALL',
  0xfd: 'REVERT INVALID SELFDESTRUCT',
};

const opcodes = new Map<string, number>();
for (const [first, group] of Object.entries(names)) {
  group.split(' ').forEach((name, offset) => {
    opcodes.set(name, Number(first) + offset);
  });
}

/** An opcode's name, a number to push with the shortest PUSH, hex to push as it is, or raw code. */
export type Item = string | number | bigint | Uint8Array;

export function opcode(name: string): number {
  const code = opcodes.get(name);
  if (code === undefined) throw new Error(`no opcode ${name}`);
  return code;
}

function push(hex: string): string {
  const length = hex.length / 2;
  if (length > 32) throw new Error(`cannot push ${length} bytes`);
  return (0x5f + length).toString(16) + hex;
}

/** Bytecode as hex. Zero is pushed as PUSH1 0, since PUSH0 only exists from Shanghai on. */
export function assemble(...items: readonly Item[]): string {
  let code = '';
  for (const item of items) {
    if (item instanceof Uint8Array) code += Buffer.from(item).toString('hex');
    else if (typeof item === 'string' && item.startsWith('0x')) code += push(item.slice(2));
    else if (typeof item === 'string') code += opcode(item).toString(16).padStart(2, '0');
    else {
      const hex = item.toString(16);
      code += push(hex.length % 2 === 0 ? hex : `0${hex}`);
    }
  }
  return `0x${code}`;
}

export function raw(hex: string): Uint8Array {
  return Buffer.from(hex.slice(2), 'hex');
}

/** Puts `hex` into memory from `at` on, a word at a time. */
export function store(hex: string, at = 0): Item[] {
  const digits = hex.slice(2);
  const items: Item[] = [];
  for (let offset = 0; offset < digits.length; offset += 64) {
    items.push(`0x${digits.slice(offset, offset + 64).padEnd(64, '0')}`, at + offset / 2, 'MSTORE');
  }
  return items;
}
