//! Refusals.

/// Why something is not simulated.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: i32,
    pub(super) message: String,
}

pub(super) fn refuse(code: i32, message: impl Into<String>) -> Refusal {
    Refusal { code, message: message.into() }
}
