import {
  type Abi,
  type AbiEvent,
  type AbiFunction,
  type AbiParameter,
  decodeErrorResult,
  decodeEventLog,
  decodeFunctionResult,
  encodeEventTopics,
  encodeFunctionData,
  type Hex,
  parseAbi,
} from 'viem';

/** A value by its name and type. Values are text here: nothing that a contract says becomes markup. */
export interface Decoded {
  readonly name: string;
  readonly type: string;
  readonly value: string;
}

export interface DecodedLog {
  readonly event: string;
  readonly values: readonly Decoded[];
}

export interface WireLog {
  readonly address: string;
  readonly topics: readonly Hex[];
  readonly data: Hex;
  readonly blockNumber: string;
  readonly logIndex: string;
  readonly transactionHash: string;
  readonly blockHash: string;
  readonly removed: boolean;
}

const VALUE_SHOWN = 2_000;

/** Reads what was pasted: JSON of a compiler, or signatures as people write them, one a line. */
export function readAbi(text: string): Abi {
  const trimmed = text.trim();
  if (trimmed === '') return [];
  if (/^[[{]/.test(trimmed)) {
    const parsed = JSON.parse(trimmed) as Abi | { readonly abi?: Abi };
    if (Array.isArray(parsed)) return parsed as Abi;
    const { abi } = parsed as { readonly abi?: Abi };
    return abi ?? ([parsed] as unknown as Abi);
  }
  const lines = trimmed
    .split(/\n|;/)
    .map((line) => line.trim())
    .filter((line) => line !== '')
    .map((line) =>
      /^(?:function|event|error|struct|constructor|fallback|receive)\b/.test(line)
        ? line
        : `function ${line}`,
    );
  return parseAbi(lines);
}

export function functionsOf(abi: Abi): readonly AbiFunction[] {
  return abi.filter((item) => item.type === 'function');
}

export function eventsOf(abi: Abi): readonly AbiEvent[] {
  return abi.filter((item) => item.type === 'event');
}

/** `name(type,type)`. */
export function signatureOf({ name, inputs }: AbiFunction | AbiEvent): string {
  return `${name}(${inputs.map(({ type }) => type).join(',')})`;
}

/** A value as it is encoded, of what was typed. */
export function readValue(parameter: AbiParameter, text: string): unknown {
  const { type } = parameter;
  if (type.endsWith(']') || type.startsWith('tuple')) return convert(parameter, JSON.parse(text) as unknown);
  return convert(parameter, text.trim());
}

function convert(parameter: AbiParameter, value: unknown): unknown {
  const { type } = parameter;
  const array = /^(.*)\[\d*\]$/.exec(type);
  if (array !== null && Array.isArray(value)) {
    const item = { ...parameter, type: array[1] ?? '' };
    return value.map((one) => convert(item, one));
  }
  if (type.startsWith('tuple') && 'components' in parameter) {
    const fields = value as Readonly<Record<string, unknown>>;
    const entries = parameter.components.map((part, at) => {
      const name = part.name ?? String(at);
      return [name, convert(part, Array.isArray(value) ? value[at] : fields[name])] as const;
    });
    return Object.fromEntries(entries);
  }
  if (/^u?int/.test(type)) return BigInt(String(value));
  if (type === 'bool') return value === true || value === 'true' || value === '1';
  return type === 'string' ? String(value) : value;
}

export function encodeCall(item: AbiFunction, texts: readonly string[]): Hex {
  const args = item.inputs.map((input, at) => readValue(input, texts[at] ?? ''));
  return encodeFunctionData({ abi: [item], functionName: item.name, args });
}

/** Topics of an event, with those of its indexed values that are given. */
export function encodeTopics(
  item: AbiEvent,
  texts: Readonly<Record<string, string>>,
): readonly (Hex | Hex[] | null)[] {
  const indexed = item.inputs.filter((input) => input.indexed === true);
  const given = indexed.map((input, at) => {
    const text = texts[input.name ?? String(at)] ?? '';
    return text === '' ? null : readValue(input, text);
  });
  return encodeEventTopics({ abi: [item], eventName: item.name, args: given });
}

export function decodeResult(item: AbiFunction, data: Hex): readonly Decoded[] {
  const value: unknown = decodeFunctionResult({ abi: [item], functionName: item.name, data });
  const values = item.outputs.length === 1 ? [value] : (value as readonly unknown[]);
  return item.outputs.map((output, at) => named(output, at, values[at]));
}

/** Why a call reverted: by the contract's own errors, or those that every compiler knows. */
export function decodeRevert(abi: Abi, data: unknown): string | undefined {
  if (typeof data !== 'string' || data.length < 10) return undefined;
  try {
    const { errorName, args = [] } = decodeErrorResult({ abi, data: data as Hex });
    return `${errorName}(${args.map(shown).join(', ')})`;
  } catch {
    return undefined;
  }
}

/** Undefined where none of the events is the log's. */
export function decodeLog(abi: Abi, log: Pick<WireLog, 'topics' | 'data'>): DecodedLog | undefined {
  for (const item of eventsOf(abi)) {
    try {
      const { args } = decodeEventLog({ abi: [item], data: log.data, topics: log.topics as [Hex, ...Hex[]] });
      const byName = (args ?? {}) as Readonly<Record<string, unknown>>;
      const values = item.inputs.map((input, at) =>
        named(input, at, byName[input.name ?? String(at)] ?? byName[at]),
      );
      return { event: item.name, values };
    } catch {
      // Another event's.
    }
  }
  return undefined;
}

function named({ name, type }: AbiParameter, at: number, value: unknown): Decoded {
  return { name: name === undefined || name === '' ? `value ${at}` : name, type, value: shown(value) };
}

function shown(value: unknown): string {
  const plain = (_: string, part: unknown): unknown => (typeof part === 'bigint' ? part.toString() : part);
  const whole =
    typeof value === 'string' ? value : (JSON.stringify(value, plain, 1) ?? '').replace(/^"(.*)"$/, '$1');
  return whole.length > VALUE_SHOWN ? `${whole.slice(0, VALUE_SHOWN)}… (${whole.length} characters)` : whole;
}
