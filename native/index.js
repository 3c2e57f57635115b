import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { loadAddon } from './load.js';
import { platformName } from './platforms.js';

const require = createRequire(import.meta.url);

/** The exports of the addon. A namespace object, because an addon's names are not visible to the module linker. */
export const native = loadAddon({
  folder: fileURLToPath(new URL('.', import.meta.url)),
  platform: platformName(process),
  version: require('./package.json').version,
  require,
});
