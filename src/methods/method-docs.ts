import type { Method } from './method.ts';

/** The page docs/methods.md, generated so that it cannot drift from the code. */
export function renderMethodDocs(methods: Iterable<Method>): string {
  const lines = ['# Methods', '', '<!-- Generated from src/methods by `npm run docs`. -->', ''];
  for (const { name, summary, rules, dedicatedOnly, params, result } of methods) {
    const where = dedicatedOnly === true ? ' On a dedicated listener only.' : '';
    lines.push(`## ${name}`, '', `${summary}${where} Rules: ${rules.join(', ')}.`, '');
    if (params.length > 0) {
      lines.push('| # | parameter | | |', '|---|---|---|---|');
      for (const [index, param] of params.entries()) {
        const need = param.required ? 'required' : 'optional';
        lines.push(`| ${index} | \`${param.name}\` | ${need} | ${param.description} |`);
      }
      lines.push('');
    }
    lines.push(`Returns \`${result.name}\`: ${result.description}`, '');
  }
  return lines.join('\n');
}
