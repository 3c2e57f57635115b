//! Views.

use crate::call::{query, render, request};
use crate::chain::NativeChain;
use crate::errors::{Result, error, malformed};
use crate::provide::provide;
use crate::simulation::give;
use chain_query_evm as core;
use core::{Chain, Lane, Read, SimulationRequest};
use napi::bindgen_prelude::{Buffer, Either};
use napi_derive::napi;
use std::sync::Arc;

/// The state after one block. Its answers are texts whose first character says what they are: `=` a value,
/// `r` revert data, `h` a halt, `i` an invalid call, `m` missing keys, `o` outdated, `b` over the step budget,
/// `t` timed out, `c` cancelled, `f` pool full.
#[napi]
pub struct NativeView(Option<Held>);

/// A view, and the chain in whose pool its long calls run.
struct Held {
    chain: Arc<Chain>,
    view: Arc<core::View>,
}

impl NativeView {
    pub(crate) fn new(chain: &NativeChain, view: core::View) -> Self {
        Self(Some(Held { chain: Arc::clone(&chain.inner), view: Arc::new(view) }))
    }

    fn held(&self) -> Result<&Held> {
        self.0.as_ref().ok_or_else(|| error(core::Error::Unavailable("the state was given back".into())))
    }

    pub(crate) fn get(&self) -> Result<&Arc<core::View>> {
        Ok(&self.held()?.view)
    }

    pub(crate) fn chain(&self) -> Result<&Arc<Chain>> {
        Ok(&self.held()?.chain)
    }
}

#[napi]
impl NativeView {
    /// Opens the state after the block with this header.
    #[napi(factory, catch_unwind)]
    pub fn open(chain: &NativeChain, header: &[u8]) -> Result<Self> {
        Ok(Self::new(chain, chain.inner.view(header).map_err(error)?))
    }

    /// Gives the state back: what only this view held is freed now, and not when JavaScript finds the time. Calls that run
    /// in the pool go on; whatever is asked after it fails.
    #[napi]
    pub fn release(&mut self) {
        self.0 = None;
    }

    #[napi(getter)]
    pub fn number(&self) -> Result<f64> {
        Ok(self.get()?.number() as f64)
    }

    #[napi(getter)]
    pub fn hash(&self) -> Result<String> {
        Ok(self.get()?.hash().to_string())
    }

    #[napi(getter)]
    pub fn timestamp(&self) -> Result<f64> {
        Ok(self.get()?.header().timestamp as f64)
    }

    #[napi(catch_unwind)]
    pub fn nonce(&self, address: String) -> Result<String> {
        let address = address.parse().map_err(|_| malformed("an address has 20 bytes"))?;
        Ok(match self.get()?.account(address) {
            Read::Value(account) => format!("=0x{:x}", account.map_or(0, |account| account.nonce)),
            Read::Missing(missing) => format!("m{}", missing.encode()),
            Read::Outdated => "o".into(),
        })
    }

    /// Nonce and balance, with a comma between them.
    #[napi(catch_unwind)]
    pub fn account(&self, address: String) -> Result<String> {
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
    pub fn balance(&self, address: String) -> Result<String> {
        let address = address.parse().map_err(|_| malformed("an address has 20 bytes"))?;
        Ok(match self.get()?.account(address) {
            Read::Value(account) => {
                format!("=0x{:x}", account.map_or_else(Default::default, |account| account.balance))
            }
            Read::Missing(missing) => format!("m{}", missing.encode()),
            Read::Outdated => "o".into(),
        })
    }

    #[napi(catch_unwind)]
    pub fn code(&self, address: String) -> Result<String> {
        let address = address.parse().map_err(|_| malformed("an address has 20 bytes"))?;
        Ok(match self.get()?.code(address) {
            Read::Value(code) => format!("={code}"),
            Read::Missing(missing) => format!("m{}", missing.encode()),
            Read::Outdated => "o".into(),
        })
    }

    #[napi(catch_unwind)]
    pub fn storage(&self, address: String, slot: String) -> Result<String> {
        let address = address.parse().map_err(|_| malformed("an address has 20 bytes"))?;
        let slot = slot.parse().map_err(|_| malformed("a slot has 32 bytes"))?;
        Ok(match self.get()?.slot(address, slot) {
            Read::Value(value) => format!("=0x{value:064x}"),
            Read::Missing(missing) => format!("m{}", missing.encode()),
            Read::Outdated => "o".into(),
        })
    }

    /// Runs a call on this thread within a budget of steps. `options` is JSON of the fields few calls have, `asked` of what
    /// is asked about it beside what it returns.
    #[napi(catch_unwind)]
    #[allow(clippy::too_many_arguments, reason = "strings cross faster than objects")]
    pub fn call(
        &self,
        from: Option<String>,
        to: Option<String>,
        gas: String,
        data: Option<String>,
        options: Option<String>,
        budget: u32,
        asked: Option<String>,
    ) -> Result<String> {
        let request = request(from, to, gas, data, options)?;
        let asked = query(asked.as_deref())?;
        Ok(render(core::query(self.get()?, &request, &asked, &Lane::Inline(u64::from(budget)))))
    }

    /// Runs a simulation on this thread within a budget of steps, with state roots if the trie of this block is kept; see
    /// `NativeSimulation`.
    #[napi(catch_unwind, ts_return_type = "string | Buffer")]
    pub fn simulate(&self, text: String, budget: u32, has_trie: bool) -> Result<Either<String, Buffer>> {
        let request = SimulationRequest::parse(&text).map_err(error)?;
        let tries = has_trie.then(|| self.chain().map(|chain| chain.tries())).transpose()?;
        Ok(give(core::simulate(self.get()?, &request, tries, &Lane::Inline(u64::from(budget)))))
    }

    /// Keeps what is loaded for a block below the window until `release_loaded`.
    #[napi(catch_unwind)]
    pub fn hold_loaded(&self) -> Result<()> {
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
    pub fn provide(&self, missing: String, values: &[u8]) -> Result<()> {
        provide(self.get()?, &missing, values)
    }
}
