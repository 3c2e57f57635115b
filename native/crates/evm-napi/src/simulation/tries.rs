//! Tries of complete states.

use crate::chain::NativeChain;
use crate::errors::{Result, error, malformed};
use chain_query_evm as core;
use core::StateTrie;
use napi_derive::napi;

/// A block whose trie is kept.
#[napi(object)]
pub struct NativeKeptTrie {
    pub number: f64,
    pub hash: String,
}

/// Every account and slot of a state, gathered to a trie.
#[napi]
#[derive(Default)]
pub struct NativeTrie(StateTrie);

#[napi]
impl NativeTrie {
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    #[napi(catch_unwind)]
    pub fn add_account(&mut self, address: &[u8], value: &[u8]) -> Result<()> {
        let address = address.try_into().map_err(|_| malformed("an address has 20 bytes"))?;
        self.0.load_account(address, value).map_err(error)
    }

    /// Adds a slot of an account that was added before it.
    #[napi(catch_unwind)]
    pub fn add_slot(&mut self, address: &[u8], slot: &[u8], value: &[u8]) -> Result<()> {
        let address = address.try_into().map_err(|_| malformed("an address has 20 bytes"))?;
        let slot = slot.try_into().map_err(|_| malformed("a slot has 32 bytes"))?;
        self.0.load_slot(address, slot, value).map_err(error)
    }
}

#[napi]
impl NativeChain {
    /// The most keys that a trie may have to be kept.
    #[napi(getter)]
    pub fn max_trie_keys(&self) -> u32 {
        u32::try_from(self.inner.tries().max_keys()).unwrap_or(u32::MAX)
    }

    /// Whether the trie of a block is kept.
    #[napi(catch_unwind)]
    pub fn has_trie(&self, hash: String) -> Result<bool> {
        let hash = hash.parse().map_err(|_| malformed("a hash has 32 bytes"))?;
        Ok(self.inner.tries().has(hash))
    }

    /// The highest block at or below `number` whose trie is kept.
    #[napi(catch_unwind)]
    pub fn nearest_trie(&self, number: f64) -> Option<NativeKeptTrie> {
        let (number, hash) = self.inner.tries().nearest(number as u64)?;
        Some(NativeKeptTrie { number: number as f64, hash: hash.to_string() })
    }

    /// Keeps the trie of the state after the block with this header; false if it is not that of its state, or is too large.
    #[napi(catch_unwind)]
    pub fn keep_trie(&self, header: &[u8], trie: &mut NativeTrie) -> Result<bool> {
        let header = core::read_header(header).map_err(error)?;
        Ok(self.inner.tries().keep(&header, std::mem::take(&mut trie.0)))
    }

    /// Keeps the trie of the block with this header, made from its parent's and the block's diff; false if that is not kept.
    #[napi(catch_unwind)]
    pub fn extend_trie(&self, header: &[u8], diff: &[u8]) -> Result<bool> {
        let header = core::read_header(header).map_err(error)?;
        self.inner.tries().extend(&header, diff).map_err(error)
    }
}
