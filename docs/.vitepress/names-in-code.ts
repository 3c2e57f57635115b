import type { MarkdownRenderer } from 'vitepress';

/** Pages of wide tables: they use the room that the outline would take. */
export const WIDE_PAGES: ReadonlySet<string> = new Set([
  'chains.md',
  'differential.md',
  'endpoints.md',
  'errors.md',
  'limits.md',
  'methods.md',
  'observability.md',
  'options.md',
]);

const LONGEST_FLAG = 34;

/** Keeps options together, and lets long names of wide tables break between their words: variables, keys of files, metrics. */
export function namesInCode(md: MarkdownRenderer): void {
  const other = md.renderer.rules.code_inline;
  md.renderer.rules.code_inline = (tokens, index, options, env, self) => {
    const html = other?.(tokens, index, options, env, self) ?? '';
    const name = tokens[index]?.content ?? '';
    if (/^--[a-z]/.test(name) && name.length <= LONGEST_FLAG)
      return html.replace('<code', '<code class="flag"');
    const { relativePath } = env as { readonly relativePath?: string };
    const isName = /^[A-Za-z]+(?:_[A-Za-z0-9]+)+$|^[a-z]+(?:[A-Z][a-z0-9]*)+$/.test(name);
    if (!isName || !WIDE_PAGES.has(relativePath ?? '')) return html;
    const apart = name.replaceAll('_', '_<wbr>').replaceAll(/([a-z])([A-Z])/g, '$1<wbr>$2');
    return html.replace(`>${name}<`, `>${apart}<`);
  };
}
