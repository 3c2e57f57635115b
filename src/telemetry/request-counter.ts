import { Counter, type Registry } from 'prom-client';

/** Counts answered calls. Labels are hashed when the metrics are asked for, not at every call. */
export class RequestCounter {
  readonly #uncounted: { listener: string; code: number; byMethod: Map<string, number> }[] = [];

  constructor(registry: Registry) {
    const uncounted = this.#uncounted;
    const counter = new Counter({
      name: 'chain_query_requests_total',
      help: 'Answered calls by method, listener and JSON-RPC error code (0 for a result).',
      labelNames: ['method', 'listener', 'code'],
      registers: [],
      collect() {
        for (const { listener, code, byMethod } of uncounted) {
          for (const [method, count] of byMethod) this.inc({ method, listener, code }, count);
          byMethod.clear();
        }
      },
    });
    registry.registerMetric(counter);
  }

  /** What to call for each call that a listener has answered. */
  of(listener: string): (method: string, code: number | undefined) => void {
    const byCode = new Map<number, Map<string, number>>();
    const methodsOf = (code: number): Map<string, number> => {
      let byMethod = byCode.get(code);
      if (byMethod === undefined) {
        byMethod = new Map();
        byCode.set(code, byMethod);
        this.#uncounted.push({ listener, code, byMethod });
      }
      return byMethod;
    };
    return (method, code = 0) => {
      const byMethod = methodsOf(code);
      byMethod.set(method, (byMethod.get(method) ?? 0) + 1);
    };
  }
}
