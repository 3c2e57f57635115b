import { fromHex, type Hex } from '../../primitives/hex.ts';

const ERROR_SELECTOR = '0x08c379a0';
const PANIC_SELECTOR = '0x4e487b71';

/** As geth words them. */
const PANIC_REASONS: ReadonlyMap<bigint, string> = new Map([
  [0x00n, 'generic panic'],
  [0x01n, 'assert(false)'],
  [0x11n, 'arithmetic underflow or overflow'],
  [0x12n, 'division or modulo by zero'],
  [0x21n, 'enum overflow'],
  [0x22n, 'invalid encoded storage byte array accessed'],
  [0x31n, 'out-of-bounds array access; popping on an empty array'],
  [0x32n, 'out-of-bounds access of an array or bytesN'],
  [0x41n, 'out of memory'],
  [0x51n, 'uninitialized function'],
]);

/** The text of `Error(string)` or `Panic(uint256)` revert data, as geth decodes it; undefined for any other. */
export function decodeRevertReason(data: Hex): string | undefined {
  const body = fromHex(`0x${data.slice(10)}`);
  switch (data.slice(0, 10)) {
    case ERROR_SELECTOR:
      return decodeString(body);
    case PANIC_SELECTOR: {
      const code = word(body, 0);
      if (code === undefined) return undefined;
      return PANIC_REASONS.get(code) ?? `unknown panic code: 0x${code.toString(16)}`;
    }
    default:
      return undefined;
  }
}

/** An ABI string whose last word need not be padded: geth does not ask for it, and contracts leave it out. */
function decodeString(body: Uint8Array): string | undefined {
  const offset = word(body, 0);
  if (offset === undefined || offset + 32n > BigInt(body.length)) return undefined;
  const length = word(body, Number(offset));
  if (length === undefined || offset + 32n + length > BigInt(body.length)) return undefined;
  const start = Number(offset) + 32;
  return new TextDecoder().decode(body.subarray(start, start + Number(length)));
}

function word(bytes: Uint8Array, offset: number): bigint | undefined {
  if (offset + 32 > bytes.length) return undefined;
  return BigInt(`0x${Buffer.from(bytes.subarray(offset, offset + 32)).toString('hex')}`);
}
