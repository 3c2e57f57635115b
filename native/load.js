import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { addonFile, addonPackage, PLATFORMS } from './platforms.js';

/** Loads the addon of a platform: the one built in this checkout, else the one that npm installed. */
export function loadAddon({ folder, platform, version, require }) {
  const built = join(folder, addonFile(platform));
  if (existsSync(built)) return require(built);
  const name = addonPackage(platform);
  let manifest;
  try {
    manifest = require.resolve(`${name}/package.json`);
  } catch (cause) {
    throw new Error(whatIsMissing(platform, version), { cause });
  }
  const installed = require(manifest).version;
  // They are released together, and nothing else holds them together where packages are named one by one.
  if (installed !== version)
    throw new Error(`${name} is ${installed} and the rest is ${version}: run npm install ${name}@${version}`);
  const file = join(dirname(manifest), addonFile(platform));
  try {
    return require(file);
  } catch (cause) {
    throw new Error(`the native core of ${name} cannot be loaded: ${cause.message}`, { cause });
  }
}

/** Why there is no addon, and what to do. */
function whatIsMissing(platform, version) {
  const name = addonPackage(platform);
  if (Object.hasOwn(PLATFORMS, platform))
    return `the native core for this platform (${platform}) is not installed: run npm install ${name}@${version}, or npm run build:native in a checkout. There are packages for ${listed()}`;
  return `there is no native core for this platform (${platform}): there are packages for ${listed()}. With Rust installed, npm run build:native in a checkout makes one`;
}

function listed() {
  return Object.keys(PLATFORMS).join(', ');
}
