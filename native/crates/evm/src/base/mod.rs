//! What everything stands on: errors, bytes, locks, limits, threads, memory, words of reverts.

pub(crate) mod allocation;
pub(crate) mod bytes;
pub(crate) mod error;
pub(crate) mod limits;
pub(crate) mod locks;
pub(crate) mod parallel;
pub(crate) mod pool;
pub(crate) mod revert;
