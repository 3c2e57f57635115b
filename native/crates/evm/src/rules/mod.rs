//! The rules of a chain: its forks, and those that are not known here.

pub(crate) mod native;
pub(crate) mod spec;
mod unknown;
