//! The complete state, to compute its root.

use crate::errors::{Result, error, malformed};
use chain_query_evm as core;
use napi_derive::napi;

/// Every account and slot of a state, gathered to compute its root.
#[napi]
#[derive(Default)]
pub struct NativeCommitment(pub(crate) core::Commitment);

#[napi]
impl NativeCommitment {
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    #[napi(catch_unwind)]
    pub fn add_account(&mut self, address: &[u8], value: &[u8]) -> Result<()> {
        let address = address.try_into().map_err(|_| malformed("an address has 20 bytes"))?;
        self.0.load_account(address, value).map_err(error)
    }

    #[napi(catch_unwind)]
    pub fn add_slot(&mut self, address: &[u8], slot: &[u8], value: &[u8]) -> Result<()> {
        let address = address.try_into().map_err(|_| malformed("an address has 20 bytes"))?;
        let slot = slot.try_into().map_err(|_| malformed("a slot has 32 bytes"))?;
        self.0.load_slot(address, slot, value).map_err(error)
    }

    /// The state root, as hex.
    #[napi(catch_unwind)]
    pub fn root(&mut self) -> String {
        self.0.root().to_string()
    }
}
