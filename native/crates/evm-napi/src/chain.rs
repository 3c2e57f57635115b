//! Chains, which the threads of the process share.

use crate::errors::{Result, error, malformed};
use crate::provide::provide;
use crate::simulation::tries::NativeTrie;
use chain_query_evm as core;
use core::{Chain, ChainOptions, HotLimits};
use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

/// Chains of this process by handle, so that worker threads attach to the one that is there.
static CHAINS: LazyLock<Mutex<HashMap<u32, Weak<Chain>>>> = LazyLock::new(Mutex::default);
static NEXT_ID: AtomicU32 = AtomicU32::new(1);

/// Limits of one chain in memory.
#[napi(object)]
pub struct NativeOptions {
    pub window: u32,
    pub entries: u32,
    pub code_bytes: u32,
    pub history_bytes: u32,
    pub pool_threads: u32,
    pub pool_queue: u32,
    pub max_block_gas: f64,
    /// Accounts and slots of the tries that are kept; none where it is not there.
    pub trie_keys: Option<u32>,
    pub odd_transactions_roots: Option<bool>,
    pub preconfirmed_depth: Option<u32>,
}

/// Sizes for metrics.
#[napi(object)]
pub struct NativeSizes {
    pub accounts: u32,
    pub slots: u32,
    pub code_bytes: u32,
    pub pooled_calls: u32,
    pub history_bytes: f64,
    pub trie_blocks: u32,
    pub trie_keys: u32,
}

/// A chain in memory, shared by the threads that attach to it.
#[napi]
pub struct NativeChain {
    id: u32,
    pub(crate) inner: Arc<Chain>,
}

#[napi]
impl NativeChain {
    /// Makes a chain from the `config` object of a genesis file.
    #[napi(factory, catch_unwind)]
    pub fn create(spec: String, options: NativeOptions) -> Result<Self> {
        let odd = options.odd_transactions_roots.unwrap_or_default();
        let spec = core::ChainSpec::parse(&spec).map_err(error)?.with_odd_transactions_roots(odd);
        let depth = options.preconfirmed_depth;
        let options = ChainOptions {
            hot: HotLimits {
                window: options.window as usize,
                entries: options.entries as usize,
                code_bytes: options.code_bytes as usize,
            },
            history_bytes: options.history_bytes as usize,
            pool_threads: options.pool_threads as usize,
            pool_queue: options.pool_queue as usize,
            max_block_gas: options.max_block_gas as u64,
            trie_keys: options.trie_keys.unwrap_or_default() as usize,
        };
        let inner = Arc::new(Chain::new(spec, options).map_err(error)?);
        if let Some(depth) = depth {
            inner.set_preconfirmed_depth(depth as usize);
        }
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        let mut chains = CHAINS.lock().unwrap_or_else(PoisonError::into_inner);
        chains.retain(|_, chain| chain.strong_count() > 0);
        chains.insert(id, Arc::downgrade(&inner));
        Ok(Self { id, inner })
    }

    /// The chain that another thread of this process made.
    #[napi(factory, catch_unwind)]
    pub fn attach(id: u32) -> Result<Self> {
        let chains = CHAINS.lock().unwrap_or_else(PoisonError::into_inner);
        let inner = chains.get(&id).and_then(Weak::upgrade);
        let inner = inner.ok_or_else(|| error(core::Error::Unavailable(format!("there is no chain {id}"))))?;
        Ok(Self { id, inner })
    }

    #[napi(getter)]
    pub fn id(&self) -> u32 {
        self.id
    }

    #[napi(getter)]
    pub fn chain_id(&self) -> String {
        self.inner.spec().chain_id.to_string()
    }

    /// The forks of the chain whose rules are not known, in words.
    #[napi(getter, catch_unwind)]
    pub fn unknown_forks(&self) -> Vec<String> {
        self.inner.spec().unknown_forks()
    }

    /// Takes over the blob parameters of a config of the same chain.
    #[napi(catch_unwind)]
    pub fn adopt_blobs(&self, config: String) -> Result<()> {
        self.inner.spec().adopt_blobs(&config).map_err(error)
    }

    /// Refuses a block whose rules are not known, given whole or by its header alone (RLP).
    #[napi(catch_unwind)]
    pub fn expect_known(&self, block: &[u8]) -> Result<()> {
        self.inner.expect_known(block).map_err(error)
    }

    /// Begins at the genesis block of a genesis file with all of its state; returns its outcome.
    #[napi(catch_unwind)]
    pub fn start_at_genesis(&self, genesis: String) -> Result<Buffer> {
        let (_, outcome, commitment) = core::genesis_block(&genesis).map_err(error)?;
        self.inner.start_at_genesis(&outcome).map_err(error)?;
        self.inner.set_commitment(Some(commitment));
        Ok(outcome.encode().into())
    }

    /// Begins at the block with this header; its state is asked for as it is needed.
    #[napi(catch_unwind)]
    pub fn open(&self, header: &[u8]) -> Result<()> {
        self.inner.open(header).map_err(error)
    }

    /// Makes a block that was executed before the head.
    #[napi(catch_unwind)]
    pub fn apply(&self, header: &[u8], diff: &[u8]) -> Result<()> {
        self.inner.apply(header, diff).map_err(error)
    }

    /// Takes in what `execute` lacked.
    #[napi(catch_unwind)]
    pub fn provide(&self, missing: String, values: &[u8]) -> Result<()> {
        provide(&self.inner.head_view().map_err(error)?, &missing, values)
    }

    /// Takes blocks above `number` off hot state.
    #[napi(catch_unwind)]
    pub fn revert_to(&self, number: i64) -> Result<()> {
        let number = u64::try_from(number).map_err(|_| malformed("a block number is not negative"))?;
        self.inner.revert_to(number).map_err(error)
    }

    /// Hands in the complete state, so that state roots are verified from here on.
    #[napi(catch_unwind)]
    pub fn set_commitment(&self, commitment: &mut NativeTrie) -> Result<()> {
        self.inner.set_commitment(Some(std::mem::take(&mut commitment.0)));
        Ok(())
    }

    #[napi(catch_unwind)]
    pub fn sizes(&self) -> NativeSizes {
        let (accounts, slots, code_bytes, pooled_calls) = self.inner.sizes();
        let (trie_blocks, trie_keys) = self.inner.tries().sizes();
        let narrow = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        NativeSizes {
            accounts: narrow(accounts),
            slots: narrow(slots),
            code_bytes: narrow(code_bytes),
            pooled_calls: narrow(pooled_calls),
            history_bytes: self.inner.history_bytes() as f64,
            trie_blocks: narrow(trie_blocks),
            trie_keys: narrow(trie_keys),
        }
    }
}
