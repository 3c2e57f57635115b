//! The least gas that a message succeeds with, searched for as geth does, so that answers are the same.

use crate::evm::call::{Lane, Runs};
use crate::evm::message::{CallRequest, CallResult, Spending, TOO_POOR, reason_of};
use crate::evm::vm;
use crate::rules::spec::Stack;
use crate::state::view::View;
use alloy_eips::eip4844::DATA_GAS_PER_BLOB;
use alloy_hardforks::EthereumHardforks;
use alloy_primitives::{KECCAK256_EMPTY, U256};
use revm::Database;
use revm::context_interface::Cfg;
use revm::context_interface::result::ResultGas;
use std::sync::Arc;

/// What a plain transfer uses.
const TRANSFER_GAS: u64 = 21_000;
/// What a call with a value gives its callee.
const CALL_STIPEND: u64 = 2_300;
/// How much too high an answer may be: a client adds more than that anyway.
const ERROR_RATIO: f64 = 0.015;

/// Estimates the gas of a message, of at most `cap`. A gas of zero is one that was not given.
pub(crate) fn estimate(view: &Arc<View>, request: &CallRequest, cap: u64, lane: &Lane) -> CallResult {
    let mut runs = match Runs::begin(view, request, lane) {
        Ok(runs) => runs,
        Err(result) => return result,
    };
    let mut search = Search { view, request, runs: &mut runs };
    let result = search.run(cap).map_or_else(|ended| ended, |gas| CallResult::Json(format!("\"0x{gas:x}\"")));
    runs.end(result)
}

struct Search<'a, 'v> {
    view: &'a View,
    request: &'a CallRequest,
    runs: &'a mut Runs<'v>,
}

/// How a run with some gas ended.
enum Tried {
    Succeeded(ResultGas),
    /// More gas may help.
    LacksGas,
    Failed(CallResult),
}

impl Tried {
    const fn succeeded(&self) -> bool {
        matches!(self, Self::Succeeded(_))
    }
}

impl Search<'_, '_> {
    fn run(&mut self, cap: u64) -> Result<u64, CallResult> {
        let mut high = self.highest()?.min(cap);
        // Fields that cost more may come with a plain transfer: it is run, too.
        if self.is_plain_transfer() && matches!(self.try_with(TRANSFER_GAS), Ok(tried) if tried.succeeded()) {
            return Ok(TRANSFER_GAS);
        }
        let used = match self.try_with(high)? {
            Tried::Succeeded(used) => used,
            Tried::LacksGas => {
                return Err(CallResult::Invalid(format!("gas required exceeds allowance ({high})")));
            }
            Tried::Failed(result) => return Err(result),
        };
        let mut low = used.tx_gas_used().saturating_sub(1);
        // Most succeed with what they used before refunds, and what calls hold back.
        let most = used.total_gas_spent().max(used.floor_gas());
        let likely = most.saturating_add(CALL_STIPEND).saturating_mul(64) / 63;
        if likely < high {
            if self.try_with(likely)?.succeeded() { high = likely } else { low = likely }
        }
        while low.saturating_add(1) < high && (high - low) as f64 / high as f64 >= ERROR_RATIO {
            let middle = (low + (high - low) / 2).min(low.saturating_mul(2));
            if self.try_with(middle)?.succeeded() { high = middle } else { low = middle }
        }
        Ok(high)
    }

    /// The most gas that the message may have, by its own limit, the fork and what its sender can pay for.
    fn highest(&mut self) -> Result<u64, CallResult> {
        let header = self.view.header();
        let given = (self.request.gas >= TRANSFER_GAS).then_some(self.request.gas);
        let high = given.unwrap_or(header.gas_limit).min(self.transaction_cap());
        let Spending { fee_cap, value, blobs, blob_fee_cap } = Spending::of(self.view, self.request);
        if fee_cap.is_zero() {
            return Ok(high);
        }
        let sender = self.runs.db().basic(self.request.from).unwrap_or_else(|never| match never {});
        let mut available = sender.unwrap_or_default().balance;
        if value >= available {
            return Err(CallResult::Invalid("insufficient funds for transfer".into()));
        }
        available -= value;
        if blobs > 0 && self.view.spec().is_cancun_active_at_timestamp(header.timestamp) {
            let blob_gas = U256::from(blobs as u64 * DATA_GAS_PER_BLOB);
            let fee = blob_gas.saturating_mul(blob_fee_cap);
            if fee >= available {
                return Err(CallResult::Invalid(TOO_POOR.into()));
            }
            available -= fee;
        }
        Ok(u64::try_from(available / fee_cap).map_or(high, |allowance| high.min(allowance)))
    }

    /// The most that a transaction may have by the fork of the block, which may be pretended (EIP-7825). As in geth, forks by
    /// time count from London on only.
    fn transaction_cap(&self) -> u64 {
        let (spec, header) = (self.view.spec(), self.request.header_on(self.view.header()));
        match spec.stack {
            Stack::Ethereum if !spec.is_london_active_at_block(header.number) => u64::MAX,
            Stack::Ethereum => spec.eth_env(&header).cfg_env.tx_gas_limit_cap(),
            Stack::Op => spec.op_env(&header).cfg_env.tx_gas_limit_cap(),
        }
    }

    fn is_plain_transfer(&mut self) -> bool {
        let (Some(to), true) = (self.request.to, self.request.data.is_empty()) else {
            return false;
        };
        let account = self.runs.db().basic(to).unwrap_or_else(|never| match never {});
        account.is_none_or(|account| account.code_hash == KECCAK256_EMPTY)
    }

    fn try_with(&mut self, gas: u64) -> Result<Tried, CallResult> {
        let request = CallRequest { gas, ..self.request.clone() };
        let spec = self.view.spec();
        let done = match self.runs.run(&request, |message, db| vm::run(spec, message, db)) {
            Ok(done) => done,
            // A price beyond 128 bits: what its sender can pay for is less than anything needs.
            Err(CallResult::Invalid(refusal)) if gas < TRANSFER_GAS && reason_of(&refusal) == TOO_POOR => {
                return Ok(Tried::LacksGas);
            }
            Err(CallResult::Invalid(refusal)) => return Err(refused(gas, &refusal)),
            Err(other) => return Err(other),
        };
        Ok(match (done.result, done.gas) {
            (CallResult::Success(_), Some(used)) => Tried::Succeeded(used),
            (CallResult::Invalid(refusal), _) if is_intrinsic(&refusal) => Tried::LacksGas,
            (CallResult::Invalid(refusal), _) => return Err(refused(gas, &refusal)),
            (CallResult::Halt(text), _) if text == vm::OUT_OF_GAS => Tried::LacksGas,
            (result, _) => Tried::Failed(result),
        })
    }
}

fn refused(gas: u64, refusal: &str) -> CallResult {
    let reason = reason_of(refusal);
    // What is said about the rules is not about the gas.
    let is_bare = reason.len() == refusal.len();
    CallResult::Invalid(if is_bare { refusal.into() } else { format!("failed with {gas} gas: {reason}") })
}

fn is_intrinsic(refusal: &str) -> bool {
    reason_of(refusal).starts_with(vm::INTRINSIC_GAS_TOO_LOW)
}
