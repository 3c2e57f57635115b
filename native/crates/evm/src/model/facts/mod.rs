//! What follows from bytes and rules alone: fees of blocks, transactions on their way to a pool, proofs of a complete state.

pub(crate) mod fees;
pub(crate) mod prove;
pub(crate) mod raw;
