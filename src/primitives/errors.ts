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
