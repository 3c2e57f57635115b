/** What to be wrong about. `field` names what changes; what is left out is a field that every such object has. */
export type Lie =
  | { readonly about: 'header'; readonly field?: string }
  | { readonly about: 'transaction'; readonly field?: string }
  | { readonly about: 'receipt'; readonly field?: string }
  /** The last log of the first receipt that has any is left out. */
  | { readonly about: 'log count' }
  | { readonly about: 'log'; readonly field?: 'data' | 'address' | 'logIndex' }
  | { readonly about: 'storage' }
  /** A slot in a state diff: its value, or that it changed at all. */
  | { readonly about: 'diff value' }
  | { readonly about: 'diff omission' }
  | { readonly about: 'code' }
  | { readonly about: 'balance' }
  | { readonly about: 'nonce' }
  /** Gives block N + 1 to who asks for N. */
  | { readonly about: 'block order' };

interface Call {
  readonly method: string;
  readonly params?: readonly unknown[];
}

type Fields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The same with another last byte, and of the same length. */
export function changeByte(hex: string): string {
  const last = Number.parseInt(hex.at(-1) ?? '', 16);
  return Number.isNaN(last) ? hex : `${hex.slice(0, -1)}${(last ^ 1).toString(16)}`;
}

/** Changes a field if it is there as text; otherwise gives the very same object. */
function changeField(value: unknown, field: string): unknown {
  if (!isFields(value)) return value;
  const old = value[field];
  return typeof old === 'string' && old.length > 2 ? { ...value, [field]: changeByte(old) } : value;
}

/** Changes the first element that `change` has an effect on. */
function changeFirst(list: unknown, change: (element: unknown) => unknown): unknown {
  if (!Array.isArray(list)) return list;
  for (const [at, element] of list.entries()) {
    const changed = change(element);
    if (changed !== element) return list.with(at, changed);
  }
  return list;
}

function changeInside(value: unknown, field: string, change: (inner: unknown) => unknown): unknown {
  if (!isFields(value)) return value;
  const changed = change(value[field]);
  return changed === value[field] ? value : { ...value, [field]: changed };
}

/** Applies to one receipt or to the first of many that it has an effect on. */
function inReceipts(result: unknown, change: (receipt: unknown) => unknown): unknown {
  return Array.isArray(result) ? changeFirst(result, change) : change(result);
}

const withoutLast = (logs: unknown): unknown =>
  Array.isArray(logs) && logs.length > 0 ? logs.slice(0, -1) : logs;

/** Changes, or leaves out, the slots of the first account of a trace that has any in `post`. */
function changeDiff(traces: unknown, leavesOut: boolean): unknown {
  return changeFirst(traces, (trace) =>
    changeInside(trace, 'result', (diff) => {
      const post = isFields(diff) ? diff['post'] : undefined;
      if (!isFields(diff) || !isFields(post)) return diff;
      const [name, account] =
        Object.entries(post).find(([, one]) => {
          const storage = isFields(one) ? one['storage'] : undefined;
          return isFields(storage) && Object.keys(storage).length > 0;
        }) ?? [];
      if (name === undefined || !isFields(account)) return diff;
      const lied = Object.entries(account['storage'] as Fields).map(
        ([slot, value]) => [slot, changeByte(String(value))] as const,
      );
      const storage = leavesOut ? {} : Object.fromEntries(lied);
      const changed = { ...diff, post: { ...post, [name]: { ...account, storage } } };
      const pre = diff['pre'];
      if (!leavesOut || !isFields(pre) || !isFields(pre[name])) return changed;
      return { ...changed, pre: { ...pre, [name]: { ...pre[name], storage: {} } } };
    }),
  );
}

const blockMethods: readonly string[] = ['eth_getBlockByNumber', 'eth_getBlockByHash'];
const receiptMethods: readonly string[] = ['eth_getBlockReceipts', 'eth_getTransactionReceipt'];

/** What is said in place of the truth; the truth itself where the lie is about something else. */
export function lieAbout(lie: Lie | undefined, { method }: Call, truth: unknown): unknown {
  if (lie === undefined) return truth;
  const isBlock = blockMethods.includes(method);
  const isReceipt = receiptMethods.includes(method);
  const isText = typeof truth === 'string';
  switch (lie.about) {
    case 'diff value':
    case 'diff omission':
      return method === 'debug_traceBlockByHash' ? changeDiff(truth, lie.about === 'diff omission') : truth;
    case 'header':
      return isBlock ? changeField(truth, lie.field ?? 'stateRoot') : truth;
    case 'transaction': {
      if (!isBlock) return truth;
      const change = (transaction: unknown): unknown => changeField(transaction, lie.field ?? 'value');
      return changeInside(truth, 'transactions', (transactions) => changeFirst(transactions, change));
    }
    case 'receipt':
      return isReceipt
        ? inReceipts(truth, (receipt) => changeField(receipt, lie.field ?? 'cumulativeGasUsed'))
        : truth;
    case 'log count':
      if (method === 'eth_getLogs') return withoutLast(truth);
      return isReceipt ? inReceipts(truth, (receipt) => changeInside(receipt, 'logs', withoutLast)) : truth;
    case 'log': {
      const change = (log: unknown): unknown => changeField(log, lie.field ?? 'data');
      if (method === 'eth_getLogs') return changeFirst(truth, change);
      return isReceipt
        ? inReceipts(truth, (receipt) => changeInside(receipt, 'logs', (logs) => changeFirst(logs, change)))
        : truth;
    }
    case 'storage':
      if (method === 'eth_getStorageAt' && isText) return changeByte(truth);
      return method === 'eth_getProof'
        ? changeInside(truth, 'storageProof', (proofs) =>
            changeFirst(proofs, (proof) => changeField(proof, 'value')),
          )
        : truth;
    case 'code':
      return method === 'eth_getCode' && isText && truth.length > 2 ? changeByte(truth) : truth;
    case 'balance':
      if (method === 'eth_getBalance' && isText) return changeByte(truth);
      return method === 'eth_getProof' ? changeField(truth, 'balance') : truth;
    case 'nonce':
      if (method === 'eth_getTransactionCount' && isText) return changeByte(truth);
      return method === 'eth_getProof' ? changeField(truth, 'nonce') : truth;
    case 'block order':
      return truth;
    default:
      return lie satisfies never;
  }
}

/** The question that is passed on in place of the one that was asked. */
export function misdirect<T extends Call>(lie: Lie | undefined, call: T): T {
  const [number, ...rest] = call.params ?? [];
  if (lie?.about !== 'block order' || call.method !== 'eth_getBlockByNumber') return call;
  if (typeof number !== 'string' || !number.startsWith('0x')) return call;
  return { ...call, params: [`0x${(Number(number) + 1).toString(16)}`, ...rest] };
}
