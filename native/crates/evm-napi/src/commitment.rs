//! The complete state, to compute its root.

use crate::errors::{Result, error, malformed};
use alloy_primitives::{B256, Bytes};
use chain_query_evm as core;
use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;

/// An account with its proof; all of what is not there is zero or empty.
#[napi(object)]
pub struct NativeAccountProof {
    pub nonce: String,
    pub balance: String,
    pub code_hash: String,
    pub storage_hash: String,
    pub nodes: Vec<String>,
    pub slots: Vec<NativeSlotProof>,
}

#[napi(object)]
pub struct NativeSlotProof {
    pub value: String,
    pub nodes: Vec<String>,
}

fn texts(nodes: Vec<Bytes>) -> Vec<String> {
    nodes.iter().map(ToString::to_string).collect()
}

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

    /// Proves an account and some of its slots (32 bytes each). Goes over all of the state.
    #[napi(catch_unwind)]
    pub fn prove(&mut self, address: &[u8], slots: Vec<Uint8Array>) -> Result<NativeAccountProof> {
        let address = address.try_into().map_err(|_| malformed("an address has 20 bytes"))?;
        let word = |slot: &Uint8Array| B256::try_from(slot.as_ref()).map_err(|_| malformed("a slot has 32 bytes"));
        let slots = slots.iter().map(word).collect::<Result<Vec<_>>>()?;
        let core::AccountProof { account, nodes, slots } = self.0.prove(address, &slots);
        let account = account.unwrap_or(core::NO_ACCOUNT);
        Ok(NativeAccountProof {
            nonce: format!("{:#x}", account.nonce),
            balance: format!("{:#x}", account.balance),
            code_hash: account.code_hash.to_string(),
            storage_hash: account.storage_root.to_string(),
            nodes: texts(nodes),
            slots: slots
                .into_iter()
                .map(|slot| NativeSlotProof { value: format!("{:#x}", slot.value), nodes: texts(slot.nodes) })
                .collect(),
        })
    }
}
