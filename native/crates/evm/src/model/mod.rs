//! What a chain consists of, and what holds without executing anything.

pub(crate) mod base_time;
pub(crate) mod claim;
pub(crate) mod code;
pub(crate) mod diff;
pub(crate) mod facts;
pub(crate) mod genesis;
pub(crate) mod header;
pub(crate) mod key;
pub(crate) mod outcome;
pub(crate) mod proof;
pub(crate) mod told;
pub(crate) mod transaction;
pub(crate) mod trie;
pub(crate) mod verify;
