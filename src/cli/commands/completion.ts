import { bashCompletion } from '../../config/completion/bash.ts';
import { fishCompletion } from '../../config/completion/fish.ts';
import { completionModel } from '../../config/completion/model.ts';
import { zshCompletion } from '../../config/completion/zsh.ts';
import type { CommandContext } from '../dispatch.ts';

/** `chain-query completion bash|zsh|fish`: a script for a shell, made of the tables of commands and options. */
export async function run(_options: unknown, { verb, stdout }: CommandContext): Promise<void> {
  const render = { bash: bashCompletion, zsh: zshCompletion, fish: fishCompletion }[verb ?? ''];
  if (render === undefined) throw new Error(`no completion is made for ${verb}`);
  stdout.write(render(completionModel()));
}
