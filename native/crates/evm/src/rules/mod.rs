//! The rules of a chain: forks, and the table of chains that are known by name.

pub(crate) mod preset;
pub(crate) mod spec;
