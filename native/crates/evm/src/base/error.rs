use std::fmt;

/// Why the core could not do what was asked. Texts are complete sentences for a log or an error message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// Bytes or text handed in do not have the form they must have.
    Malformed(String),
    /// The chain configuration asks for something that is not supported.
    Unsupported(String),
    /// A block is of a fork whose rules are not implemented: nothing is known about whether it is valid.
    UnknownFork(String),
    /// A block does not fit on the head, or its contents do not match its header.
    InvalidBlock(String),
    /// A proof does not show what it is said to show.
    InvalidProof(String),
    /// The block asked for is not held (any more).
    Unavailable(String),
    /// There is no room now for what was handed in.
    Busy(String),
    /// It would take more than a limit of ours allows: nothing is known about whether it is valid.
    Exhausted(String),
    /// It enters a native contract, which nothing here can run: nothing is known about whether it is valid.
    Native(String),
    /// Whoever asked for it does not want it any more.
    Cancelled(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed(text)
            | Self::Unsupported(text)
            | Self::UnknownFork(text)
            | Self::InvalidBlock(text)
            | Self::InvalidProof(text)
            | Self::Unavailable(text)
            | Self::Busy(text)
            | Self::Exhausted(text)
            | Self::Native(text)
            | Self::Cancelled(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

impl Error {
    /// A short name of the kind, stable across versions: TypeScript maps errors by it.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Malformed(_) => "malformed",
            Self::Unsupported(_) => "unsupported",
            Self::UnknownFork(_) => "unknown-fork",
            Self::InvalidBlock(_) => "invalid-block",
            Self::InvalidProof(_) => "invalid-proof",
            Self::Unavailable(_) => "unavailable",
            Self::Busy(_) => "busy",
            Self::Exhausted(_) => "exhausted",
            Self::Native(_) => "native",
            Self::Cancelled(_) => "cancelled",
        }
    }

    /// Says what a limit ended, where this is about a limit.
    pub(crate) fn of(self, what: &str) -> Self {
        match self {
            Self::Exhausted(why) => Self::Exhausted(format!("{what}: {why}")),
            Self::Cancelled(why) => Self::Cancelled(format!("{what}: {why}")),
            other => other,
        }
    }
}

/// Shorthand for `Error::Malformed` around anything printable.
pub(crate) fn malformed(what: &str, why: impl fmt::Display) -> Error {
    Error::Malformed(format!("{what}: {why}"))
}
