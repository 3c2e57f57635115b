//! Block headers.

use crate::errors::{Result, error};
use chain_query_evm as core;
use napi_derive::napi;

/// What a block header says.
#[napi(object)]
pub struct NativeHeader {
    pub number: f64,
    pub hash: String,
    pub state_root: String,
}

/// Reads the header of a block (RLP, the whole block or only its header).
#[napi(catch_unwind)]
pub fn read_header(block: &[u8]) -> Result<NativeHeader> {
    let header = core::read_header(block).map_err(error)?;
    Ok(NativeHeader {
        number: header.number as f64,
        hash: header.hash_slow().to_string(),
        state_root: header.state_root.to_string(),
    })
}
