//! State that JavaScript loaded.

use crate::errors::{Result, error, malformed};
use chain_query_evm as core;
use core::Missing;

/// Takes in values, each after its length, for the keys of `missing`.
pub(crate) fn provide(view: &core::View, missing: &str, values: &[u8]) -> Result<()> {
    let missing = Missing::decode(missing).map_err(error)?;
    let mut rest = values;
    let mut list = Vec::with_capacity(missing.keys.len());
    while !rest.is_empty() {
        let (length, tail) = rest.split_first_chunk().ok_or_else(|| malformed("loaded state ends early"))?;
        let length = u32::from_le_bytes(*length) as usize;
        let (value, tail) = tail.split_at_checked(length).ok_or_else(|| malformed("loaded state ends early"))?;
        list.push(value);
        rest = tail;
    }
    view.provide(&missing, &list).map_err(error)
}
