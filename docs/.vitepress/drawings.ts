import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { MarkdownRenderer } from 'vitepress';

const docs = new URL('../', import.meta.url);

/** Puts drawings (`![…](….svg)`) into the page, so that they take its colours, dark or light. In the repository they have their own. */
export function drawings(md: MarkdownRenderer): void {
  const other = md.renderer.rules.image;
  md.renderer.rules.image = (tokens, index, options, env, self) => {
    const token = tokens[index];
    const source = token?.attrGet('src') ?? '';
    if (!source.endsWith('.svg')) return other?.(tokens, index, options, env, self) ?? '';
    const { relativePath } = env as { readonly relativePath: string };
    const file = fileURLToPath(new URL(source, new URL(relativePath, docs)));
    return readFileSync(file, 'utf8').replace(/<style>.*?<\/style>\n/s, '');
  };
}
