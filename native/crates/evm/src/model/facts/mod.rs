//! What follows from bytes and rules alone: fees of blocks, transactions on their way to a pool.

pub(crate) mod fees;
pub(crate) mod raw;
