import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Abi, AbiFunction, Hex } from 'viem';
import {
  type Decoded,
  decodeResult,
  decodeRevert,
  encodeCall,
  functionsOf,
  readAbi,
  signatureOf,
} from './abi.ts';
import { Field } from './field.tsx';
import type { Wanted } from './method-form.tsx';
import type { Exchange } from './rpc.ts';
import { type Selector, SelectorPicker, selectorValue } from './selector.tsx';

/** A call, and how its answer is read. */
export interface WantedCall extends Wanted {
  readonly abi: Abi;
  readonly item: AbiFunction;
  readonly viem: string;
}

const EXAMPLE = 'function count() view returns (uint256)';

/** A call of a contract by its ABI. */
export function CallForm({
  onChange,
}: {
  readonly onChange: (wanted: WantedCall | string) => void;
}): JSX.Element {
  const [abiText, setAbiText] = useState(EXAMPLE);
  const [chosen, setChosen] = useState('');
  const [to, setTo] = useState('');
  const [args, setArgs] = useState<readonly string[]>([]);
  const [block, setBlock] = useState<Selector>({ kind: 'pending', text: '' });
  const read = readSafely(abiText);
  const functions = typeof read === 'string' ? [] : functionsOf(read);
  const item = functions.find((one) => signatureOf(one) === chosen) ?? functions[0];
  useEffect(() => {
    onChange(typeof read === 'string' ? read : wantedOf(read, item, { to, args, block }));
  }, [abiText, chosen, to, args, block]);
  return (
    <>
      <Field
        label="ABI"
        value={abiText}
        rows={3}
        onInput={setAbiText}
        hint="A signature a line (balanceOf(address) returns (uint256)), or the JSON of a compiler."
      />
      {functions.length > 1 && (
        <label class="field">
          <span>Function</span>
          <select
            value={item === undefined ? '' : signatureOf(item)}
            onChange={(event) => setChosen(event.currentTarget.value)}
          >
            {functions.map((one) => (
              <option key={signatureOf(one)} value={signatureOf(one)}>
                {signatureOf(one)}
              </option>
            ))}
          </select>
        </label>
      )}
      <Field label="Contract" value={to} onInput={setTo} placeholder="0x… (20 bytes)" />
      {item?.inputs.map((input, at) => (
        <Field
          key={`${signatureOf(item)}.${at}`}
          label={`${input.name ?? at} (${input.type})`}
          value={args[at] ?? ''}
          onInput={(text) => setArgs(Object.assign([...args], { [at]: text }))}
        />
      ))}
      <SelectorPicker label="Block" value={block} onChange={setBlock} />
    </>
  );
}

export function readSafely(text: string): Abi | string {
  try {
    return readAbi(text);
  } catch (error) {
    return `The ABI cannot be read: ${(error as Error).message.split('\n')[0]}`;
  }
}

function wantedOf(
  abi: Abi,
  item: AbiFunction | undefined,
  { to, args, block }: { readonly to: string; readonly args: readonly string[]; readonly block: Selector },
): WantedCall | string {
  if (item === undefined) return 'The ABI has no function';
  const address = to.trim();
  if (!/^0x[\da-f]{40}$/i.test(address)) return 'The contract is an address of 20 bytes';
  try {
    const data = encodeCall(item, args);
    const params = [{ to: address, data }, selectorValue(block)];
    return { method: 'eth_call', params, abi, item, viem: viemCall(item, address, data, block) };
  } catch (error) {
    return (error as Error).message.split('\n')[0] ?? 'It cannot be encoded';
  }
}

function viemCall(item: AbiFunction, to: string, data: Hex, block: Selector): string {
  const at = selectorValue(block);
  const where =
    block.kind === 'number'
      ? `blockNumber: ${BigInt(at || 0)}n`
      : block.kind === 'hash'
        ? `blockHash: '${at}'`
        : `blockTag: '${at}'`;
  return `// ${signatureOf(item)}\nconsole.log(await client.call({ to: '${to}', data: '${data}', ${where} }));`;
}

/** What an answer to it means. */
export function readAnswer(
  { abi, item }: WantedCall,
  { result, error }: Exchange,
): { readonly decoded?: readonly Decoded[]; readonly revert?: string } {
  if (error !== undefined) {
    const revert = decodeRevert(abi, error.data);
    return revert === undefined ? {} : { revert };
  }
  try {
    return { decoded: decodeResult(item, result as Hex) };
  } catch {
    return { revert: 'The answer is not what the ABI says it returns.' };
  }
}
