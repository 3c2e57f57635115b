import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';

const outDir = join(import.meta.dirname, '../dist/web');

/** Compresses every file beside itself, as hard as it goes: the node only chooses one. */
function compressAhead(): Plugin {
  return {
    name: 'compress-ahead',
    closeBundle() {
      for (const name of readdirSync(outDir, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(?:html|js|css|svg)$/.test(name)) continue;
        const file = join(outDir, name);
        const bytes = readFileSync(file);
        writeFileSync(`${file}.br`, brotliCompressSync(bytes));
        writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  root: import.meta.dirname,
  plugins: [compressAhead()],
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir,
    emptyOutDir: true,
    target: 'es2022',
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
  },
  // `vite web` shows edits at once, of a node that runs.
  server: {
    host: '127.0.0.1',
    proxy: { '/dashboard': 'http://127.0.0.1:8547', '/rpc': { target: 'http://127.0.0.1:8547', ws: true } },
  },
});
