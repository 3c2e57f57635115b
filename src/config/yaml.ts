import { isScalar, parseDocument, visit } from 'yaml';
import { UsageError } from './usage-error.ts';

type Document = ReturnType<typeof parseDocument>;

/**
 * Reads YAML that people write. What is wrong with it is told by its kind and line alone: the
 * line may hold a credential.
 */
export function readYaml(text: string, what = ''): Document {
  // The library compares each key of a map with all others, and shows each of thousands of mistakes.
  const document = parseDocument(text, { uniqueKeys: false, prettyErrors: false, stringKeys: true });
  const mistake = document.errors[0] ?? document.warnings[0];
  if (mistake !== undefined) {
    throw notYaml(what, mistake.code.toLowerCase().replaceAll('_', ' '), text, mistake.pos[0]);
  }
  const again = repeatedKey(document);
  if (again !== undefined) throw notYaml(what, 'duplicate key', text, again);
  return document;
}

/** The value of a document. */
export function plainValue(document: Document, what = ''): unknown {
  try {
    // References would let a small file stand for a huge one; nothing needs them.
    return document.toJS({ maxAliasCount: 0 });
  } catch {
    throw new UsageError(`${what === '' ? '' : `${what} `}must not use aliases`);
  }
}

/** Where a key stands that its map has already. */
function repeatedKey(document: Document): number | undefined {
  let found: number | undefined;
  visit(document, {
    Map: (_, map) => {
      const seen = new Set<unknown>();
      for (const { key } of map.items) {
        const name = isScalar(key) ? key.value : key;
        if (seen.has(name)) {
          found = (isScalar(key) ? key.range?.[0] : undefined) ?? 0;
          return visit.BREAK;
        }
        seen.add(name);
      }
      return undefined;
    },
  });
  return found;
}

function notYaml(what: string, mistake: string, text: string, at: number): UsageError {
  const line = text.slice(0, at).split('\n').length;
  return new UsageError(`${what === '' ? '' : `${what} is `}not YAML: ${mistake} in line ${line}`);
}
