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

    /// The transactions of a block or piece (RLP) as `eth_getBlockByHash` lists them: a JSON object each.
    /// With `only`, counted from these, none but that one.
    #[napi(catch_unwind)]
    pub fn transactions_json(
        &self,
        block: &[u8],
        first: u32,
        block_hash: String,
        senders: Option<&[u8]>,
        deposit_nonces: Option<Vec<i64>>,
        only: Option<u32>,
    ) -> Result<Vec<String>> {
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
            only: only.map(|only| only as usize),
        };
        core::transactions_json(self.inner.spec(), block, &context).map_err(error)
    }

    /// A block (RLP) put together from all there is of one that grows, in order.
    #[napi(catch_unwind)]
    pub fn raw_block(&self, pieces: Vec<Uint8Array>) -> Result<Uint8Array> {
        let pieces: Vec<&[u8]> = pieces.iter().map(AsRef::as_ref).collect();
        core::raw_block(self.inner.spec(), &pieces).map(Uint8Array::new).map_err(error)
    }

    /// One transaction of a block or piece (RLP), in the form of EIP-2718.
    #[napi(catch_unwind)]
    pub fn raw_transaction(&self, block: &[u8], index: u32) -> Result<Uint8Array> {
        core::raw_transaction(self.inner.spec(), block, index as usize).map(Uint8Array::new).map_err(error)
    }

    /// The receipts of a block, each as the receipts root commits to it, from their JSON and the block's header (RLP).
    #[napi(catch_unwind)]
    pub fn raw_receipts(&self, header: &[u8], receipts: String) -> Result<Vec<Uint8Array>> {
        let all = core::raw_receipts(self.inner.spec(), header, &receipts).map_err(error)?;
        Ok(all.into_iter().map(Uint8Array::new).collect())
    }
}
