/** An error that is a code with typed fields; whoever serves it decides on words and numbers by `type.code`. */
export class CodedError<T extends { readonly code: string }> extends Error {
  readonly type: T;

  constructor(type: T, message: string = type.code, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.type = type;
  }
}

/** The request's parameters cannot be understood or contradict each other. */
export class InvalidParamsError extends CodedError<{
  readonly code: 'INVALID_PARAMS';
  /** What the client is told. */
  readonly reason: string;
}> {
  constructor(reason: string) {
    super({ code: 'INVALID_PARAMS', reason }, reason);
  }
}

/** State of a block that this node cannot know: below its anchor, or missing at every source. */
export class StateUnavailableError extends CodedError<{
  readonly code: 'STATE_UNAVAILABLE';
  readonly reason: string;
}> {
  constructor(reason: string) {
    super({ code: 'STATE_UNAVAILABLE', reason }, reason);
  }
}

/** A pre-confirmed block stands on one that has been taken off: the head is about to say so. */
export class TakenOffError extends StateUnavailableError {
  constructor() {
    super('the block below was taken off');
  }
}

/** A request that would have more state loaded than one request may. */
export class StateLimitError extends CodedError<{
  readonly code: 'STATE_LIMIT';
  /** `values` are those that an upstream has to be asked for. */
  readonly what: 'values' | 'bytes';
  readonly limit: number;
}> {}

/** Refused for now: there is too much under way, of this client or of all. */
export class OverloadedError extends CodedError<{ readonly code: 'OVERLOADED' }> {
  constructor(options?: ErrorOptions) {
    super({ code: 'OVERLOADED' }, undefined, options);
  }
}
