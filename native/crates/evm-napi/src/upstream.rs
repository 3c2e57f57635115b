//! What other nodes say, checked: blocks, receipts and proofs as JSON-RPC gives them.

use crate::chain::NativeChain;
use crate::errors::{Result, error, malformed};
use chain_query_evm as core;
use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

#[napi]
impl NativeChain {
    /// Makes a block's RLP from the JSON of `eth_getBlockByHash` with whole transactions, and checks it.
    #[napi(catch_unwind)]
    pub fn block_from_json(&self, text: String) -> Result<Buffer> {
        Ok(core::block_from_json(self.inner.spec(), &text).map_err(error)?.into())
    }

    /// Makes the bytes of transactions from their JSON, each of which must hash to the hash it has there.
    #[napi(catch_unwind)]
    pub fn transactions_from_json(&self, text: String) -> Result<Vec<Buffer>> {
        let transactions = core::transactions_from_json(self.inner.spec(), &text).map_err(error)?;
        Ok(transactions.into_iter().map(Buffer::from).collect())
    }

    /// Makes the outcome of a block, with an empty diff, from the JSON of `eth_getBlockReceipts`, and checks it.
    #[napi(catch_unwind)]
    pub fn outcome_from_json(&self, block: &[u8], receipts: String) -> Result<Buffer> {
        Ok(core::outcome_from_json(self.inner.spec(), block, &receipts).map_err(error)?.encode().into())
    }
}

/// The hash of the header in a block's JSON, whose transactions may be left out.
#[napi(catch_unwind)]
pub fn header_hash(text: String) -> Result<String> {
    Ok(core::header_hash_from_json(&text).map_err(error)?.to_string())
}

/// The Keccak-256 hash of some bytes.
#[napi(js_name = "keccak256", catch_unwind)]
pub fn keccak256(bytes: &[u8]) -> Buffer {
    core::keccak256(bytes).to_vec().into()
}

/// Checks the JSON of `eth_getProof`; gives the account and then each slot in their stored form.
#[napi(catch_unwind)]
pub fn check_proof(state_root: String, address: String, slots: Vec<String>, proof: String) -> Result<Vec<Buffer>> {
    let word = |text: &String| text.parse().map_err(|_| malformed("a hash or slot has 32 bytes"));
    let address = address.parse().map_err(|_| malformed("an address has 20 bytes"))?;
    let slots = slots.iter().map(word).collect::<Result<Vec<_>>>()?;
    let values = core::check_proof(word(&state_root)?, address, &slots, &proof).map_err(error)?;
    Ok(values.into_iter().map(Buffer::from).collect())
}
