import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { addonPath } from './addon-path.js';

if (!existsSync(addonPath)) {
  throw new Error(
    `The native core is not built for this platform: ${addonPath} is missing. Run npm run build:native.`,
  );
}

/** The exports of the addon. A namespace object, because an addon's names are not visible to the module linker. */
export const native = createRequire(import.meta.url)(addonPath);
