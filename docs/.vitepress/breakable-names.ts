import type { MarkdownRenderer } from 'vitepress';

/** Lets long names break between their words, so that tables of them fit: variables, keys of files, metrics. */
export function breakableNames(md: MarkdownRenderer): void {
  const other = md.renderer.rules.code_inline;
  md.renderer.rules.code_inline = (tokens, index, options, env, self) => {
    const html = other?.(tokens, index, options, env, self) ?? '';
    const name = tokens[index]?.content ?? '';
    const isName = /^[A-Za-z]+(?:_[A-Za-z0-9]+)+$|^[a-z]+(?:[A-Z][a-z0-9]*)+$/.test(name);
    const apart = name.replaceAll('_', '_<wbr>').replaceAll(/([a-z])([A-Z])/g, '$1<wbr>$2');
    return isName ? html.replace(`>${name}<`, `>${apart}<`) : html;
  };
}
