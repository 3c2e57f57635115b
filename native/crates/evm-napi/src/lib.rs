//! The addon: casts between JavaScript and the core, and nothing else. Strings go in and come out because they
//! cross faster than buffers; every function turns a panic into an exception.

pub mod answer;
pub mod execution;
pub mod memory;
pub mod pooled;
pub mod preconfirmed;
pub mod streams;
pub mod upstream;

use chain_query_evm as core;
use core::{CallOptions, CallRequest, CallResult, Chain, ChainOptions, HotLimits, Lane, Missing, Read};
use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError, Weak};

/// Chains of this process by handle, so that worker threads attach to the one that is there.
static CHAINS: LazyLock<Mutex<HashMap<u32, Weak<Chain>>>> = LazyLock::new(Mutex::default);
static NEXT_ID: AtomicU32 = AtomicU32::new(1);

fn error(why: core::Error) -> napi::Error {
    napi::Error::new(napi::Status::GenericFailure, format!("{}: {why}", why.kind()))
}

fn malformed(text: impl Into<String>) -> napi::Error {
    error(core::Error::Malformed(text.into()))
}

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
    pub odd_transactions_roots: Option<bool>,
    pub preconfirmed_depth: Option<u32>,
}

/// What a block header says.
#[napi(object)]
pub struct NativeHeader {
    pub number: f64,
    pub hash: String,
    pub state_root: String,
}

/// Reads the header of a block (RLP, the whole block or only its header).
#[napi(catch_unwind)]
pub fn read_header(block: &[u8]) -> napi::Result<NativeHeader> {
    let header = core::read_header(block).map_err(error)?;
    Ok(NativeHeader {
        number: header.number as f64,
        hash: header.hash_slow().to_string(),
        state_root: header.state_root.to_string(),
    })
}

/// Sizes for metrics.
#[napi(object)]
pub struct NativeSizes {
    pub accounts: u32,
    pub slots: u32,
    pub code_bytes: u32,
    pub pooled_calls: u32,
    pub history_bytes: f64,
}

/// A chain in memory, shared by the threads that attach to it.
#[napi]
pub struct NativeChain {
    id: u32,
    inner: Arc<Chain>,
}

#[napi]
impl NativeChain {
    /// Makes a chain by preset name or from the `config` object of a genesis file.
    #[napi(factory, catch_unwind)]
    pub fn create(spec: String, options: NativeOptions) -> napi::Result<Self> {
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
    pub fn attach(id: u32) -> napi::Result<Self> {
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

    /// Begins at the genesis block of a genesis file with all of its state; returns its outcome.
    #[napi(catch_unwind)]
    pub fn start_at_genesis(&self, genesis: String) -> napi::Result<Buffer> {
        let (_, outcome, commitment) = core::genesis_block(&genesis).map_err(error)?;
        self.inner.start_at_genesis(&outcome).map_err(error)?;
        self.inner.set_commitment(Some(commitment));
        Ok(outcome.encode().into())
    }

    /// Begins at the block with this header; its state is asked for as it is needed.
    #[napi(catch_unwind)]
    pub fn open(&self, header: &[u8]) -> napi::Result<()> {
        self.inner.open(header).map_err(error)
    }

    /// Makes a block that was executed before the head.
    #[napi(catch_unwind)]
    pub fn apply(&self, header: &[u8], diff: &[u8]) -> napi::Result<()> {
        self.inner.apply(header, diff).map_err(error)
    }

    /// Takes in what `execute` lacked.
    #[napi(catch_unwind)]
    pub fn provide(&self, missing: String, values: &[u8]) -> napi::Result<()> {
        provide(&self.inner.head_view().map_err(error)?, &missing, values)
    }

    /// Takes blocks above `number` off hot state.
    #[napi(catch_unwind)]
    pub fn revert_to(&self, number: i64) -> napi::Result<()> {
        let number = u64::try_from(number).map_err(|_| malformed("a block number is not negative"))?;
        self.inner.revert_to(number).map_err(error)
    }

    /// Hands in the complete state, so that state roots are verified from here on.
    #[napi(catch_unwind)]
    pub fn set_commitment(&self, commitment: &mut NativeCommitment) -> napi::Result<()> {
        self.inner.set_commitment(Some(std::mem::take(&mut commitment.0)));
        Ok(())
    }

    #[napi(catch_unwind)]
    pub fn sizes(&self) -> NativeSizes {
        let (accounts, slots, code_bytes, pooled_calls) = self.inner.sizes();
        let narrow = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        NativeSizes {
            accounts: narrow(accounts),
            slots: narrow(slots),
            code_bytes: narrow(code_bytes),
            pooled_calls: narrow(pooled_calls),
            history_bytes: self.inner.history_bytes() as f64,
        }
    }
}

fn provide(view: &core::View, missing: &str, values: &[u8]) -> napi::Result<()> {
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

/// Every account and slot of a state, gathered to compute its root.
#[napi]
#[derive(Default)]
pub struct NativeCommitment(core::Commitment);

#[napi]
impl NativeCommitment {
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    #[napi(catch_unwind)]
    pub fn add_account(&mut self, address: &[u8], value: &[u8]) -> napi::Result<()> {
        let address = address.try_into().map_err(|_| malformed("an address has 20 bytes"))?;
        self.0.load_account(address, value).map_err(error)
    }

    #[napi(catch_unwind)]
    pub fn add_slot(&mut self, address: &[u8], slot: &[u8], value: &[u8]) -> napi::Result<()> {
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

/// The state after one block. Its answers are texts whose first character says what they are: `=` a value,
/// `r` revert data, `h` a halt, `i` an invalid call, `m` missing keys, `o` outdated, `b` over the step budget,
/// `t` timed out, `c` cancelled, `f` pool full.
#[napi]
pub struct NativeView(Option<Arc<core::View>>);

impl NativeView {
    fn new(view: core::View) -> Self {
        Self(Some(Arc::new(view)))
    }

    fn get(&self) -> napi::Result<&Arc<core::View>> {
        self.0.as_ref().ok_or_else(|| error(core::Error::Unavailable("the state was given back".into())))
    }
}

#[napi]
impl NativeView {
    /// Opens the state after the block with this header.
    #[napi(factory, catch_unwind)]
    pub fn open(chain: &NativeChain, header: &[u8]) -> napi::Result<Self> {
        Ok(Self::new(core::View::open(Arc::clone(&chain.inner), header).map_err(error)?))
    }

    /// Gives the state back: what only this view held is freed now, and not when JavaScript finds the time. Calls that run
    /// in the pool go on; whatever is asked after it fails.
    #[napi]
    pub fn release(&mut self) {
        self.0 = None;
    }

    #[napi(getter)]
    pub fn number(&self) -> napi::Result<f64> {
        Ok(self.get()?.number() as f64)
    }

    #[napi(getter)]
    pub fn hash(&self) -> napi::Result<String> {
        Ok(self.get()?.hash().to_string())
    }

    #[napi(getter)]
    pub fn timestamp(&self) -> napi::Result<f64> {
        Ok(self.get()?.header().timestamp as f64)
    }

    #[napi(catch_unwind)]
    pub fn nonce(&self, address: String) -> napi::Result<String> {
        let address = address.parse().map_err(|_| malformed("an address has 20 bytes"))?;
        Ok(match self.get()?.account(address) {
            Read::Value(account) => format!("=0x{:x}", account.map_or(0, |account| account.nonce)),
            Read::Missing(missing) => format!("m{}", missing.encode()),
            Read::Outdated => "o".into(),
        })
    }

    /// Nonce and balance, with a comma between them.
    #[napi(catch_unwind)]
    pub fn account(&self, address: String) -> napi::Result<String> {
        let address = address.parse().map_err(|_| malformed("an address has 20 bytes"))?;
        Ok(match self.get()?.account(address) {
            Read::Value(account) => {
                let (nonce, balance) =
                    account.map_or_else(Default::default, |account| (account.nonce, account.balance));
                format!("=0x{nonce:x},0x{balance:x}")
            }
            Read::Missing(missing) => format!("m{}", missing.encode()),
            Read::Outdated => "o".into(),
        })
    }

    #[napi(catch_unwind)]
    pub fn storage(&self, address: String, slot: String) -> napi::Result<String> {
        let address = address.parse().map_err(|_| malformed("an address has 20 bytes"))?;
        let slot = slot.parse().map_err(|_| malformed("a slot has 32 bytes"))?;
        Ok(match self.get()?.slot(address, slot) {
            Read::Value(value) => format!("=0x{value:064x}"),
            Read::Missing(missing) => format!("m{}", missing.encode()),
            Read::Outdated => "o".into(),
        })
    }

    /// Runs a call on this thread within a budget of steps. `options` is JSON of the fields few calls have.
    #[napi(catch_unwind)]
    pub fn call(
        &self,
        from: Option<String>,
        to: Option<String>,
        gas: String,
        data: Option<String>,
        options: Option<String>,
        budget: u32,
    ) -> napi::Result<String> {
        let request = request(from, to, gas, data, options)?;
        Ok(render(core::call(self.get()?, &request, &Lane::Inline(u64::from(budget)))))
    }

    /// Keeps what is loaded for a block below the window until `release_loaded`.
    #[napi(catch_unwind)]
    pub fn hold_loaded(&self) -> napi::Result<()> {
        self.get()?.hold_loaded();
        Ok(())
    }

    #[napi(catch_unwind)]
    pub fn release_loaded(&self) {
        // Given back, it has let go of everything.
        if let Ok(view) = self.get() {
            view.release_loaded();
        }
    }

    /// Takes in what a read or call lacked.
    #[napi(catch_unwind)]
    pub fn provide(&self, missing: String, values: &[u8]) -> napi::Result<()> {
        provide(self.get()?, &missing, values)
    }
}

fn request(
    from: Option<String>,
    to: Option<String>,
    gas: String,
    data: Option<String>,
    options: Option<String>,
) -> napi::Result<CallRequest> {
    let address = |text: String| text.parse().map_err(|_| malformed("an address has 20 bytes"));
    let digits = gas.strip_prefix("0x").unwrap_or(&gas);
    Ok(CallRequest {
        from: from.map(address).transpose()?.unwrap_or_default(),
        to: to.map(address).transpose()?,
        gas: u64::from_str_radix(digits, 16).map_err(|_| malformed("gas is a hex number of 64 bits"))?,
        data: data
            .map(|text| text.parse())
            .transpose()
            .map_err(|_| malformed("call data is hex"))?
            .unwrap_or_default(),
        options: options.map(|text| CallOptions::parse(&text)).transpose().map_err(error)?.map(Arc::new),
    })
}

fn render(result: CallResult) -> String {
    match result {
        CallResult::Success(output) => format!("={output}"),
        CallResult::Revert(output) => format!("r{output}"),
        CallResult::Halt(text) => format!("h{text}"),
        CallResult::Invalid(text) => format!("i{text}"),
        CallResult::Missing(missing) => format!("m{}", missing.encode()),
        CallResult::Outdated => "o".into(),
        CallResult::Budget => "b".into(),
        CallResult::Timeout => "t".into(),
        CallResult::Cancelled => "c".into(),
    }
}
