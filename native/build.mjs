// Builds the addon with cargo and puts it where index.js looks for it.
import { spawnSync } from 'node:child_process';
import { copyFileSync, renameSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { addonPath } from './addon-path.js';

const LIBRARY = {
  darwin: 'libchain_query_evm_napi.dylib',
  linux: 'libchain_query_evm_napi.so',
  win32: 'chain_query_evm_napi.dll',
};

const workspace = fileURLToPath(new URL('.', import.meta.url));
const library = LIBRARY[process.platform];
if (library === undefined) throw new Error(`no build for ${process.platform}`);

const cargo = spawnSync('cargo', ['build', '--release', '--locked', '-p', 'chain-query-evm-napi'], {
  cwd: workspace,
  stdio: 'inherit',
});
if (cargo.error !== undefined) throw new Error(`cargo cannot be started: ${cargo.error.message}`);
if (cargo.status !== 0) process.exit(cargo.status ?? 1);

const target = resolve(workspace, process.env.CARGO_TARGET_DIR ?? 'target');
// Renamed into place: overwriting a library that a running process has mapped would crash that process.
const staged = `${addonPath}.tmp-${process.pid}`;
copyFileSync(join(target, 'release', library), staged);
renameSync(staged, addonPath);
