//! JSON of blocks.

use crate::chain::NativeChain;
use crate::errors::{Result, error, malformed};
use chain_query_evm as core;
use core::TransactionContext;
use napi::bindgen_prelude::Uint8Array;
use napi_derive::napi;

#[napi]
impl NativeChain {
    /// A header (RLP, also of a whole block) as `newHeads` has it; with another hash than its own where it is not sealed yet.
    #[napi(catch_unwind)]
    pub fn header_json(&self, header: &[u8], hash: Option<String>) -> Result<String> {
        let hash = hash.map(|hash| hash.parse()).transpose();
        core::header_json(header, hash.map_err(|_| malformed("a block hash has 32 bytes"))?).map_err(error)
    }

    /// A block as `eth_getBlockByHash` has it, but for its transactions; with another hash than its own where it is not
    /// sealed yet. `pieces` (RLP) are the whole block, or in order all there is of one that grows.
    #[napi(catch_unwind)]
    pub fn block_json(&self, pieces: Vec<Uint8Array>, hash: Option<String>) -> Result<String> {
        let hash = hash.map(|hash| hash.parse()).transpose();
        let hash = hash.map_err(|_| malformed("a block hash has 32 bytes"))?;
        let pieces: Vec<&[u8]> = pieces.iter().map(AsRef::as_ref).collect();
        core::block_json(self.inner.spec(), &pieces, hash).map_err(error)
    }

    /// The transactions of a block or piece (RLP) as `eth_getBlockByHash` lists them: a JSON array.
    #[napi(catch_unwind)]
    pub fn transactions_json(
        &self,
        block: &[u8],
        first: u32,
        block_hash: String,
        senders: Option<&[u8]>,
        deposit_nonces: Option<Vec<i64>>,
    ) -> Result<String> {
        let (senders, rest) = senders.unwrap_or_default().as_chunks();
        if !rest.is_empty() {
            return Err(malformed("an address has 20 bytes"));
        }
        let senders: Vec<_> = senders.iter().map(core::Address::from).collect();
        let nonces = deposit_nonces.unwrap_or_default().into_iter().map(u64::try_from);
        let nonces = nonces.collect::<Result<Vec<_>, _>>().map_err(|_| malformed("a nonce is not negative"))?;
        let context = TransactionContext {
            first: u64::from(first),
            block_hash: block_hash.parse().map_err(|_| malformed("a block hash has 32 bytes"))?,
            senders: &senders,
            deposit_nonces: &nonces,
        };
        core::transactions_json(self.inner.spec(), block, &context).map_err(error)
    }
}
