//! Errors, which cross to JavaScript by their code.

use chain_query_evm as core;

/// What kind of error it is: `code` of the exception.
#[derive(Debug)]
pub struct Code(&'static str);

impl AsRef<str> for Code {
    fn as_ref(&self) -> &str {
        self.0
    }
}

/// An exception with a code.
pub type Failure = napi::Error<Code>;
pub type Result<T, E = Failure> = std::result::Result<T, E>;

pub(crate) fn error(why: core::Error) -> Failure {
    Failure::new(Code(why.kind()), why.to_string())
}

pub(crate) fn malformed(text: impl Into<String>) -> Failure {
    error(core::Error::Malformed(text.into()))
}

/// What Node itself refused.
pub(crate) fn refused(why: napi::Error) -> Failure {
    error(core::Error::Unavailable(why.reason.to_string()))
}
