import type { Method } from './method.ts';

/** One request of a method, and what was answered. */
export interface DocExchange {
  readonly request: string;
  readonly response: unknown;
}

/** A real exchange that a page shows. */
export interface MethodExample {
  /** Where it is from. */
  readonly from: string;
  readonly exchanges: readonly DocExchange[];
}

/** The page docs/methods.md: every method, where its answer comes from, and the way to its own page. */
export function renderMethodDocs(methods: Iterable<Method>): string {
  const rows = [...methods].map(
    ({ name, summary, dedicatedOnly, ...method }) =>
      `| [\`${name}\`](methods/${name}.md) | ${summary} | ${sourceOf(method)} | ${dedicatedOnly === true ? 'dedicated' : 'both'} |`,
  );
  return [
    '# Methods',
    '',
    GENERATED,
    '',
    '*Served here*: from the copy of this node, and from no other node. *Sent on*: to `--send-to`, or the upstreams. What else',
    '`--forward METHOD` names is *passed on* untouched; named there, some reads by hash are asked of an upstream where the copy does',
    'not hold them. What others had a part in says so: `x-chain-source: upstream` ([more](sending.md)). On a public listener some',
    'methods are refused (B9).',
    '',
    '| method | | answered | listeners |',
    '|---|---|---|---|',
    ...rows,
    '| what else `--forward` names | As the upstream answers. | passed on | both |',
    '',
  ].join('\n');
}

/** Where the answer of a method comes from. */
function sourceOf({ source, rules }: Pick<Method, 'source' | 'rules'>): string {
  if (source !== undefined) return source;
  return rules.includes('B17')
    ? 'served here; by an upstream what enters native contracts, or is of blocks whose rules are not known here'
    : 'served here';
}

function costOf({ cost = 1 }: Pick<Method, 'cost'>): string {
  return typeof cost === 'number' ? String(cost) : cost.words;
}

const GENERATED = '<!-- Generated from src/methods by `npm run docs`. -->';

/** The page of one method. */
export function renderMethodPage(method: Method, example: MethodExample): string {
  const { name, summary, rules, dedicatedOnly, params, result } = method;
  const where = dedicatedOnly === true ? ' On a dedicated listener only.' : '';
  const lines = [`# ${name}`, '', GENERATED, '', `${summary}${where} Rules: ${rules.join(', ')}.`, ''];
  lines.push(`Answered: ${sourceOf(method)}. Costs, in units of a client's rate: ${costOf(method)}.`, '');
  if (params.length > 0) {
    lines.push('| # | parameter | | |', '|---|---|---|---|');
    for (const [index, param] of params.entries()) {
      const need = param.required ? 'required' : 'optional';
      lines.push(`| ${index} | \`${param.name}\` | ${need} | ${param.description} |`);
    }
    lines.push('');
  }
  lines.push(`Returns \`${result.name}\`: ${result.description}`, '', '## An exchange', '');
  for (const { request, response } of example.exchanges) lines.push(...shown(request, response));
  lines.push(`From ${example.from}. [All methods](../methods.md)`, '');
  return lines.join('\n');
}

function shown(request: string, response: unknown): readonly string[] {
  const asked: unknown = JSON.parse(request);
  const [short, shortAsked] = [shortened(response, MAX_ITEMS), shortened(asked, MAX_ASKED)];
  const isCut = (part: unknown, whole: unknown): string =>
    JSON.stringify(part) === JSON.stringify(whole) ? '' : ' (shortened)';
  return [
    `Request${isCut(shortAsked, asked)}:`,
    '',
    '```json',
    JSON.stringify(shortAsked),
    '```',
    '',
    `Response${isCut(short, response)}:`,
    '',
    '```json',
    JSON.stringify(short, undefined, 2),
    '```',
    '',
  ];
}

const MAX_TEXT = 130;
const MAX_ITEMS = 2;
/** Of a list in a request. */
const MAX_ASKED = 8;
const MAX_DEPTH = 7;

/** A value with its long texts, lists and objects cut, and how much was. */
function shortened(value: unknown, items: number, depth = 0): unknown {
  if (typeof value === 'string') {
    return value.length > MAX_TEXT ? `${value.slice(0, 66)}… ${value.length - 66} more characters` : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  if (depth === MAX_DEPTH) return '…';
  if (Array.isArray(value)) {
    const more = value.length - items;
    const first = value.slice(0, items).map((one) => shortened(one, items, depth + 1));
    return more > 0 ? [...first, `… ${more} more`] : first;
  }
  const entries = Object.entries(value);
  return Object.fromEntries(entries.map(([name, one]) => [name, shortened(one, items, depth + 1)]));
}
