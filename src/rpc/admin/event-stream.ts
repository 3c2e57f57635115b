import type { ServerResponse } from 'node:http';

export interface EventStreamOptions {
  readonly maxClients: number;
  /** A client that has so much to take yet is cut: its page connects again and begins with what is true then. */
  readonly maxQueuedBytes: number;
}

export const EVENT_STREAM_OPTIONS: EventStreamOptions = { maxClients: 32, maxQueuedBytes: 256 * 1_024 };

/** Server-sent events to several pages: each text is made once, and nobody is waited for. */
export class EventStream {
  readonly #options: EventStreamOptions;
  readonly #clients = new Set<ServerResponse>();

  constructor(options: EventStreamOptions = EVENT_STREAM_OPTIONS) {
    this.#options = options;
  }

  get clients(): number {
    return this.#clients.size;
  }

  /** Takes a client, beginning with this event; false when there are too many. */
  take(response: ServerResponse, first: string): boolean {
    if (this.#clients.size >= this.#options.maxClients) return false;
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
    this.#clients.add(response);
    response.on('close', () => this.#clients.delete(response));
    response.write(first);
    return true;
  }

  /** Sends an event to all. */
  send(text: string): void {
    for (const client of this.#clients) {
      if (client.writableLength > this.#options.maxQueuedBytes) client.destroy();
      else client.write(text);
    }
  }
}

/** An event as it is sent; JSON has no line breaks of its own. */
export function eventText(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}
