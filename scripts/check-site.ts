// Looks at the pages that `vitepress build docs` made: every link within the site must lead to a page, and every anchor to a
// place on it; nothing may be loaded from elsewhere. The last line is `N passed, N failed`, of links.
import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';

const BASE = process.env['DOCS_BASE'] ?? '/';
const dist = fileURLToPath(new URL('../docs/.vitepress/dist/', import.meta.url));
const pages = new Map(
  globSync('**/*.html', { cwd: dist }).map((path) => [path, readFileSync(join(dist, path), 'utf8')]),
);
const anchors = new Map(
  [...pages].map(([path, html]) => [
    path,
    new Set(Array.from(html.matchAll(/ id="([^"]+)"/g), ([, id = '']) => id)),
  ]),
);
const broken = new Set<string>();
let sound = 0;

/** The file that an address within the site is of. */
function fileOf(page: string, address: string): string {
  const path = address.startsWith(BASE) ? address.slice(BASE.length) : posix.join(dirname(page), address);
  if (path === '' || path.endsWith('/')) return `${path}index.html`;
  return posix.extname(path) === '' || !existsSync(join(dist, path)) ? `${path}.html` : path;
}

function check(page: string, href: string): void {
  const [address = '', anchor] = href.replaceAll('&amp;', '&').split('#');
  const file = address === '' ? page : fileOf(page, decodeURIComponent(address));
  const isThere =
    existsSync(join(dist, file)) &&
    (anchor === undefined || anchor === '' || (anchors.get(file)?.has(decodeURIComponent(anchor)) ?? false));
  if (isThere) sound += 1;
  else broken.add(`${page}: ${href}`);
}

for (const [page, html] of pages) {
  for (const [, href = ''] of html.matchAll(/<a [^>]*href="([^"]+)"/g)) {
    if (!/^[a-z]+:/.test(href)) check(page, href);
  }
  // What a browser loads by itself.
  for (const [, source = ''] of html.matchAll(/<(?:script|img|link|source)\b[^>]*(?:src|href)="([^"]+)"/g)) {
    if (/^(?:[a-z]+:)?\/\//.test(source)) broken.add(`${page} loads ${source}`);
    else if (!source.startsWith('data:')) check(page, source);
  }
}
if (pages.size === 0) broken.add('no page was built');
for (const line of broken) console.error(line);
console.log(`${pages.size} pages`);
console.log(`${sound} passed, ${broken.size} failed`);
process.exitCode = broken.size === 0 ? 0 : 1;
