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
    ({ name, summary, source, dedicatedOnly }) =>
      `| [\`${name}\`](methods/${name}.md) | ${summary} | ${source ?? 'served here'} | ${dedicatedOnly === true ? 'dedicated' : 'both'} |`,
  );
  return [
    '# Methods',
    '',
    GENERATED,
    '',
    '*Served here*: from this node’s own copy, and from no other node. *Sent on*: to `--send-to`, or the upstreams. What',
    '`--forward METHOD` names is *passed on* untouched, and nothing that is in this table. What others had a part in says so:',
    '`x-chain-source: upstream` ([more](sending.md)). On a public listener some methods are refused (B9).',
    '',
    '| method | | answered | listeners |',
    '|---|---|---|---|',
    ...rows,
    '| what `--forward` names | As the upstream answers. | passed on | both |',
    '',
  ].join('\n');
}

const GENERATED = '<!-- Generated from src/methods by `npm run docs`. -->';

/** The page of one method. */
export function renderMethodPage(method: Method, example: MethodExample): string {
  const { name, summary, rules, dedicatedOnly, params, result, source } = method;
  const where = dedicatedOnly === true ? ' On a dedicated listener only.' : '';
  const lines = [`# ${name}`, '', GENERATED, '', `${summary}${where} Rules: ${rules.join(', ')}.`, ''];
  if (source !== undefined) lines.push(`Answered: ${source}.`, '');
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
  const isCut = (short: unknown, whole: unknown): string =>
    JSON.stringify(short) === JSON.stringify(whole) ? '' : ' (shortened)';
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
