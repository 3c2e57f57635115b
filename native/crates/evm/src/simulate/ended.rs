//! How calls end, in geth's words.

use super::message::Filled;
use super::refusal::Refusal;
use super::render::RanCall;
use crate::evm::vm::halt_text;
use alloy_consensus::{Receipt, ReceiptEnvelope, ReceiptWithBloom};
use alloy_evm::{EvmError, InvalidTxError};
use alloy_primitives::Log;
use op_revm::OpHaltReason;
use revm::context_interface::result::{ExecutionResult, HaltReason, InvalidTransaction};

/// Why the EVM would not begin, in geth's words.
pub(super) fn refusal(filled: &Filled<'_>, why: &impl EvmError) -> Refusal {
    use InvalidTransaction as I;
    match why.as_invalid_tx_err().and_then(InvalidTxError::as_invalid_tx_err) {
        Some(I::CallGasCostMoreThanGasLimit { initial_gas, gas_limit }) => {
            filled.refuse(-38013, &format!("intrinsic gas too low: have {gas_limit}, want {initial_gas}"))
        }
        Some(I::GasFloorMoreThanGasLimit { gas_floor, gas_limit }) => filled.refuse(
            -32603,
            &format!("insufficient gas for floor data gas cost: have {gas_limit}, want {gas_floor}"),
        ),
        Some(I::CreateInitCodeSizeLimit) => {
            let size = filled.asked.data.len();
            filled.refuse(-38025, &format!("max initcode size exceeded: code size {size} limit {}", 2 * 24_576))
        }
        Some(I::LackOfFundForMaxFee { .. }) => filled.refuse(-38014, "insufficient funds for gas * price + value"),
        Some(other) => filled.refuse(-32603, &other.to_string()),
        None => filled.refuse(-32603, &why.to_string()),
    }
}

/// A call that ran, from what the EVM says of it.
pub(super) fn ended<H: HaltWords>(
    result: ExecutionResult<H>,
    logs: Vec<(usize, Log)>,
    (used, peak): (u64, u64),
    is_capped: bool,
) -> RanCall {
    let call = RanCall { logs, used, peak, ..RanCall::default() };
    match result {
        ExecutionResult::Success { output, .. } => RanCall { succeeded: true, output: output.into_data(), ..call },
        ExecutionResult::Revert { output, .. } => RanCall { reverted: Some(output), ..call },
        ExecutionResult::Halt { reason, .. } => {
            let capped = if is_capped { " (gas limit was capped by the RPC server's global gas cap)" } else { "" };
            RanCall { halted: Some(format!("{}{capped}", reason.words())), ..call }
        }
    }
}

/// The receipt of a transaction of this type.
pub(super) fn envelope(kind: u8, receipt: Receipt) -> ReceiptEnvelope {
    let receipt = ReceiptWithBloom { logs_bloom: receipt.bloom_slow(), receipt };
    match kind {
        1 => ReceiptEnvelope::Eip2930(receipt),
        2 => ReceiptEnvelope::Eip1559(receipt),
        3 => ReceiptEnvelope::Eip4844(receipt),
        4 => ReceiptEnvelope::Eip7702(receipt),
        _ => ReceiptEnvelope::Legacy(receipt),
    }
}

/// What went wrong in a call, in geth's words.
pub(super) trait HaltWords {
    fn words(&self) -> String;
}

impl HaltWords for HaltReason {
    fn words(&self) -> String {
        halt_text(self)
    }
}

impl HaltWords for OpHaltReason {
    fn words(&self) -> String {
        match self {
            Self::Base(base) => halt_text(base),
            Self::FailedDeposit => "failed deposit".into(),
        }
    }
}
