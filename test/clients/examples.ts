import { readFileSync } from 'node:fs';
import { symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { repoRoot } from '../support/servers/paths.ts';
import { runToEnd, tempDir } from '../support/servers/process.ts';

/** What examples are written for, and what stands in its place here. */
type Places = Readonly<Record<string, string>>;

/** Examples of a page by their names, which stand behind the language: "```ts reads". */
export function examplesOf(page: string): ReadonlyMap<string, string> {
  const text = readFileSync(join(repoRoot, page), 'utf8');
  const blocks = text.matchAll(/^```(?:ts|sh) ([\w-]+)\n([\s\S]*?)^```$/gm);
  return new Map([...blocks].map(([, name = '', code = '']) => [name, code]));
}

/** An example with what stands here in the place of what it is written for. */
export function placed(example: string, places: Places): string {
  return Object.entries(places).reduce((code, [written, here]) => code.replaceAll(written, here), example);
}

/** Runs a TypeScript example of a page as a program of its own; what it prints. */
export async function runExample(page: string, name: string, places: Places): Promise<string> {
  const example = examplesOf(page).get(name);
  if (example === undefined) throw new Error(`${page} has no example ${name}`);
  const all = { '@chain-query/client': join(repoRoot, 'packages/client/src/index.ts'), ...places };
  await using folder = await tempDir('example');
  await symlink(join(repoRoot, 'node_modules'), join(folder.path, 'node_modules'));
  await writeFile(join(folder.path, 'package.json'), '{"type":"module"}');
  const file = join(folder.path, `${name}.ts`);
  await writeFile(file, placed(example, all));
  return await runToEnd(process.execPath, [file]);
}
