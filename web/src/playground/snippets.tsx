import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { DashboardFacts } from '../../../src/rpc/admin/state.ts';
import { Code } from './code.tsx';

type Endpoint = DashboardFacts['endpoints'][number];

const KEY_VARIABLE = 'CHAIN_QUERY_KEY';

/** The line for a shell. A key is a variable there: lines end in chats and histories. */
export function curlLine(
  endpoint: Endpoint,
  hasKey: boolean,
  method: string,
  params: readonly unknown[],
): string {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }).replaceAll("'", `'\\''`);
  const key = hasKey ? ` -H "x-api-key: $${KEY_VARIABLE}"` : '';
  return `curl -s ${urlOf(endpoint)} -H 'content-type: application/json'${key} -d '${body}'`;
}

/** The same with viem. */
export function viemLines(endpoint: Endpoint, hasKey: boolean, action: string): string {
  const options = hasKey
    ? `, { fetchOptions: { headers: { 'x-api-key': process.env.${KEY_VARIABLE} } } }`
    : '';
  return [
    `import { createPublicClient, http } from 'viem';`,
    `const client = createPublicClient({ transport: http('${urlOf(endpoint)}'${options}) });`,
    action,
  ].join('\n');
}

/** What `client.request` of viem asks. */
export function viemRequest(method: string, params: readonly unknown[]): string {
  return `console.log(await client.request({ method: '${method}', params: ${JSON.stringify(params)} }));`;
}

function urlOf({ address, tls }: Endpoint): string {
  return `${tls ? 'https' : 'http'}://${address}`;
}

/** A text to take along. */
export function Snippet({ label, text }: { readonly label: string; readonly text: string }): JSX.Element {
  const [copied, setCopied] = useState(false);
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => {
        setCopied(true);
        setTimeout(() => setCopied(false), 1_500);
      },
      () => setCopied(false),
    );
  };
  return (
    <div class="snippet">
      <header>
        <span>{label}</span>
        <button
          type="button"
          class="quiet"
          onClick={copy}
          aria-label={`${copied ? 'copied' : 'copy'} ${label}`}
        >
          {copied ? 'copied' : 'copy'}
        </button>
      </header>
      <Code label={label} text={text} />
    </div>
  );
}
