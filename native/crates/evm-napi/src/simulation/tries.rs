//! Tries of complete states.

use crate::answer::{Answer, guarded};
use crate::chain::NativeChain;
use crate::errors::{Result, error, malformed};
use alloy_primitives::{Address, B256};
use chain_query_evm as core;
use core::{Chain, StateTrie};
use napi::bindgen_prelude::{Buffer, Env, Object, ToNapiValue};
use napi_derive::napi;
use std::sync::Arc;

/// A block whose trie is kept.
#[napi(object)]
pub struct NativeKeptTrie {
    pub number: f64,
    pub hash: String,
}

/// Every account and slot of a state, gathered to a trie.
#[napi]
#[derive(Default)]
pub struct NativeTrie(pub(crate) StateTrie);

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

    /// The state root, as hex. Hashes all of it, the first time.
    #[napi(catch_unwind)]
    pub fn root(&self) -> String {
        self.0.root().to_string()
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
    /// All of it is hashed, in the pool.
    #[napi(catch_unwind, ts_return_type = "Promise<boolean>")]
    pub fn keep_trie<'env>(&self, env: &'env Env, header: &[u8], trie: &mut NativeTrie) -> Result<Object<'env>> {
        let header = core::read_header(header).map_err(error)?;
        let trie = std::mem::take(&mut trie.0);
        in_pool(env, &self.inner, move |chain| Ok(chain.tries().keep(&header, trie)), |kept| kept)
    }

    /// Keeps the trie of the block with this header, made in the pool from its parent's and the block's diff; false if that is not kept.
    #[napi(catch_unwind, ts_return_type = "Promise<boolean>")]
    pub fn extend_trie<'env>(&self, env: &'env Env, header: &[u8], diff: &[u8]) -> Result<Object<'env>> {
        let header = core::read_header(header).map_err(error)?;
        let diff = diff.to_vec();
        in_pool(env, &self.inner, move |chain| chain.tries().extend(&header, &diff), |kept| kept)
    }

    /// The JSON of `eth_getProof` for an account and some of its slots, named by `keys`, from the trie of a block; null if that
    /// is not kept. Made in the pool.
    #[napi(catch_unwind, ts_return_type = "Promise<Buffer | null>")]
    pub fn prove<'env>(
        &self,
        env: &'env Env,
        hash: String,
        address: String,
        slots: Vec<String>,
        keys: Vec<String>,
    ) -> Result<Object<'env>> {
        let prove = move |chain: &Chain| {
            let Some(trie) = chain.tries().find(word(&hash)?) else {
                return Ok(None);
            };
            let address: Address = address.parse().map_err(|_| no_word("an address has 20 bytes"))?;
            let slots = slots.iter().map(|slot| word(slot)).collect::<Result<Vec<_>, _>>()?;
            core::proof_json(address, &trie.prove(address, &slots), &keys).map(Some)
        };
        in_pool(env, &self.inner, prove, |json| json.map(Buffer::from))
    }
}

fn no_word(text: &str) -> core::Error {
    core::Error::Malformed(text.into())
}

fn word(text: &str) -> Result<B256, core::Error> {
    text.parse().map_err(|_| no_word("a word has 32 bytes"))
}

/// Has the pool make something, which `give` makes a value of JavaScript on its thread. A full pool refuses with `busy`.
fn in_pool<'env, T: Send + 'static, V: ToNapiValue + 'static>(
    env: &'env Env,
    chain: &Arc<Chain>,
    make: impl FnOnce(&Chain) -> Result<T, core::Error> + Send + 'static,
    give: impl FnOnce(T) -> V + Send + 'static,
) -> Result<Object<'env>> {
    let (answer, promise) = Answer::<V>::new(env)?;
    let job = {
        let (answer, chain) = (Arc::clone(&answer), Arc::clone(chain));
        move || {
            let made = guarded(|| make(&chain).map_err(error)).and_then(|made| made);
            answer.give(move || made.map(give));
        }
    };
    if !chain.pool().submit(job) {
        answer.give(|| Err(error(core::Error::Busy("the pool has no room".into()))));
    }
    Ok(promise)
}
