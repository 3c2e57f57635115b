import type { ForwardCall } from '../../executor/interface.ts';
import type { Snapshot } from '../../head/snapshot.ts';
import type { MethodContext, MethodSettings } from '../../methods/method.ts';
import { LoadBudget } from '../../primitives/load-budget.ts';
import type { Task } from './task.ts';

/** What one call of a request runs with. */
export class CallContext implements MethodContext {
  readonly settings: MethodSettings;
  readonly forward: ForwardCall | undefined;
  readonly #task: Task;
  #isForwarded = false;
  #snapshot: Snapshot;

  constructor(snapshot: Snapshot, settings: MethodSettings, task: Task, forward?: ForwardCall) {
    this.#snapshot = snapshot;
    this.settings = settings;
    this.#task = task;
    this.forward =
      forward &&
      ((request, blockHash, context) => {
        this.#isForwarded = true;
        return forward(request, blockHash, context);
      });
  }

  get snapshot(): Snapshot {
    return this.#snapshot;
  }

  answerFrom(snapshot: Snapshot): void {
    this.#snapshot = snapshot;
  }

  namesUpstream(): void {
    this.#isForwarded = true;
  }

  /** Whether an upstream was asked for the answer. */
  get isForwarded(): boolean {
    return this.#isForwarded;
  }

  get signal(): AbortSignal {
    return this.#task.signal;
  }

  get isOver(): boolean {
    return this.#task.isOver;
  }

  get client(): string {
    return this.#task.caller.client;
  }

  get budget(): LoadBudget {
    this.#task.budget ??= new LoadBudget(this.settings.loads);
    return this.#task.budget;
  }

  charge(units: number): void {
    if (units > 0) this.#task.rate?.charge(units);
  }

  get session(): object | undefined {
    return this.#task.caller.session;
  }

  whenSettled(effect: (isAnswered: boolean) => void): void {
    this.#task.whenSettled(this, effect);
  }
}
