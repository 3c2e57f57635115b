import { existsSync, readdirSync, readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import Negotiator from 'negotiator';

interface Asset {
  readonly type: string;
  /** Its name has a hash of its content: it never changes. */
  readonly isImmutable: boolean;
  readonly bodies: ReadonlyMap<string, Buffer>;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

/** As the build writes them beside each file. */
const ENCODINGS = { br: '.br', gzip: '.gz' } as const;

/**
 * Nothing but our own files, and nothing inline: what a contract, a chain or an upstream calls itself can be shown, and can
 * never run. No other page may frame or embed this one.
 */
export const PAGE_HEADERS = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=()',
} as const;

const NOT_BUILT = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Chain Query</title>
<h1>The dashboard is not built</h1><p>Run <code>npm run build:web</code> in the checkout, and start the node again.</p>
<p><a href="/readyz">/readyz</a> and <a href="/metrics">/metrics</a> are here.</p></html>
`;

/** The compiled program has the page beside its rooms; the sources find what was built in a checkout. */
export const WEB_FOLDER = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? '../../../dist/web/' : '../../web/', import.meta.url),
);

/** The files of the page, read once: there are few, and they are small. */
export class Assets {
  readonly #files: ReadonlyMap<string, Asset>;

  constructor(folder = WEB_FOLDER) {
    this.#files = existsSync(join(folder, 'index.html')) ? readAssets(folder) : notBuilt();
  }

  /** Answers with the file of a path; false when there is none. */
  answer(path: string, request: IncomingMessage, response: ServerResponse): boolean {
    const asset = this.#files.get(path);
    if (asset === undefined) return false;
    const encoding = new Negotiator(request).encoding([...asset.bodies.keys()]) ?? 'identity';
    const body = asset.bodies.get(encoding) ?? asset.bodies.get('identity');
    response.writeHead(200, {
      ...PAGE_HEADERS,
      'content-type': asset.type,
      'content-length': body?.length ?? 0,
      'cache-control': asset.isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache',
      vary: 'accept-encoding',
      ...(encoding !== 'identity' && { 'content-encoding': encoding }),
    });
    response.end(request.method === 'HEAD' ? undefined : body);
    return true;
  }
}

function notBuilt(): ReadonlyMap<string, Asset> {
  const bodies = new Map([['identity', Buffer.from(NOT_BUILT)]]);
  return new Map([['/', { type: TYPES['.html'] ?? '', isImmutable: false, bodies }]]);
}

function readAssets(folder: string): ReadonlyMap<string, Asset> {
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  const files = new Map<string, Asset>();
  for (const name of names) {
    const type = TYPES[extname(name)];
    if (type === undefined) continue;
    const bodies = new Map<string, Buffer>();
    for (const [encoding, suffix] of Object.entries(ENCODINGS)) {
      const file = join(folder, name + suffix);
      if (existsSync(file)) bodies.set(encoding, readFileSync(file));
    }
    bodies.set('identity', readFileSync(join(folder, name)));
    const path = name === 'index.html' ? '/' : `/${name.replaceAll('\\', '/')}`;
    files.set(path, { type, isImmutable: path.startsWith('/assets/'), bodies });
  }
  return files;
}
