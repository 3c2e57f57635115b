// Builds the addon with cargo and puts it where index.js looks for it. With a platform that the compiler is told to build
// for (`node build.mjs --target x86_64-unknown-linux-musl --platform linux-x64-musl`), puts that platform's beside it.
import { spawnSync } from 'node:child_process';
import { copyFileSync, renameSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { addonFile, PLATFORMS, platformName } from './platforms.js';

const LIBRARY = {
  darwin: 'libchain_query_evm_napi.dylib',
  linux: 'libchain_query_evm_napi.so',
  win32: 'chain_query_evm_napi.dll',
};

const { values } = parseArgs({ options: { target: { type: 'string' }, platform: { type: 'string' } } });
if ((values.target === undefined) !== (values.platform === undefined))
  throw new Error('--target and --platform go together: a Rust target, and what its package is called');
const platform = values.platform ?? platformName(process);
if (values.platform !== undefined && !Object.hasOwn(PLATFORMS, platform))
  throw new Error(`no package is called ${platform}: there are ${Object.keys(PLATFORMS).join(', ')}`);
const workspace = fileURLToPath(new URL('.', import.meta.url));
const library = LIBRARY[platform.split('-', 1)[0]];
if (library === undefined) throw new Error(`no build for ${platform}`);

const target = values.target === undefined ? [] : ['--target', values.target];
const cargo = spawnSync(
  'cargo',
  ['build', '--release', '--locked', '-p', 'chain-query-evm-napi', ...target],
  { cwd: workspace, stdio: 'inherit' },
);
if (cargo.error !== undefined) throw new Error(`cargo cannot be started: ${cargo.error.message}`);
if (cargo.status !== 0) process.exit(cargo.status ?? 1);

const built = resolve(workspace, process.env.CARGO_TARGET_DIR ?? 'target', values.target ?? '', 'release');
const addon = join(workspace, addonFile(platform));
// Renamed into place: overwriting a library that a running process has mapped would crash that process.
const staged = `${addon}.tmp-${process.pid}`;
copyFileSync(join(built, library), staged);
renameSync(staged, addon);
