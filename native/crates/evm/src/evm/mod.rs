//! Executing calls and blocks on a view.

pub(crate) mod block;
pub(crate) mod call;
pub(crate) mod create;
pub(crate) mod database;
pub(crate) mod effects;
pub(crate) mod factory;
pub(crate) mod message;
pub(crate) mod meter;
pub(crate) mod opcodes;
mod pairing;
pub(crate) mod precompiles;
pub(crate) mod taken;
pub(crate) mod transaction;
pub(crate) mod vm;
