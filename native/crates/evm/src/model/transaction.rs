//! What differs between the two stacks in transactions and receipts, so that blocks run through one code.

use crate::model::outcome::Extra;
use crate::rules::spec::ChainSpec;
use alloy_consensus::transaction::SignerRecoverable;
use alloy_consensus::{
    Eip658Value, Header, ReceiptEnvelope, Transaction, TransactionEnvelope, TxEnvelope, TxReceipt,
};
use alloy_eips::eip2718::Encodable2718;
use alloy_hardforks::EthereumHardforks;
use alloy_op_hardforks::OpHardforks;
use alloy_primitives::{B256, Log, U256};
use alloy_rlp::Decodable;
use op_alloy_consensus::{OpReceiptEnvelope, OpTxEnvelope};
use op_revm::transaction::estimate_tx_compressed_size;
use op_revm::{L1BlockInfo, OpSpecId};
use revm::Database;
use serde::de::DeserializeOwned;

/// Type of deposit transactions.
pub(crate) const DEPOSIT: u8 = 0x7e;

/// A transaction of one stack.
pub(crate) trait StackTransaction:
    Clone
    + Transaction
    + TransactionEnvelope
    + SignerRecoverable
    + Encodable2718
    + Decodable
    + alloy_rlp::Encodable
    + DeserializeOwned
{
    type Receipt: StackReceipt;
}

impl StackTransaction for TxEnvelope {
    type Receipt = ReceiptEnvelope;
}

impl StackTransaction for OpTxEnvelope {
    type Receipt = OpReceiptEnvelope;
}

/// A receipt of one stack.
pub(crate) trait StackReceipt: TxReceipt<Log = Log> + Encodable2718 + Clone + DeserializeOwned {
    /// Writes the state root that receipts before Byzantium hold in place of a status.
    fn set_root(&mut self, root: B256);
    /// What the receipts root is computed from, where it is not the receipt itself.
    fn for_root(&self, spec: &ChainSpec, header: &Header) -> Self;
    /// The nonce a deposit ran with.
    fn deposit_nonce(&self) -> Option<u64>;
    fn deposit_version(&self) -> Option<u64>;
}

impl StackReceipt for ReceiptEnvelope {
    fn set_root(&mut self, root: B256) {
        // Typed receipts came after Byzantium and always hold a status.
        if let Self::Legacy(receipt) = self {
            receipt.receipt.status = Eip658Value::PostState(root);
        }
    }

    fn for_root(&self, _: &ChainSpec, _: &Header) -> Self {
        self.clone()
    }

    fn deposit_nonce(&self) -> Option<u64> {
        None
    }

    fn deposit_version(&self) -> Option<u64> {
        None
    }
}

impl StackReceipt for OpReceiptEnvelope {
    fn set_root(&mut self, _: B256) {}

    /// Between Regolith and Canyon the receipts root was computed without the deposit nonce.
    fn for_root(&self, spec: &ChainSpec, header: &Header) -> Self {
        let mut receipt = self.clone();
        if let Self::Deposit(deposit) = &mut receipt
            && spec.is_regolith_active_at_timestamp(header.timestamp)
            && !spec.is_canyon_active_at_timestamp(header.timestamp)
        {
            deposit.receipt.deposit_nonce = None;
        }
        receipt
    }

    fn deposit_nonce(&self) -> Option<u64> {
        Self::deposit_nonce(self)
    }

    fn deposit_version(&self) -> Option<u64> {
        Self::deposit_receipt_version(self)
    }
}

/// Fields of blob transactions.
pub(crate) fn blob_extras(spec: &ChainSpec, header: &Header, tx: &impl Transaction) -> Vec<(Extra, U256)> {
    let (Some(used), Some(excess)) = (tx.blob_gas_used(), header.excess_blob_gas) else {
        return Vec::new();
    };
    let price = spec.blob_params_at(header.timestamp).map_or(0, |params| params.calc_blob_fee(excess));
    vec![(Extra::BlobGasUsed, U256::from(used)), (Extra::BlobGasPrice, U256::from(price))]
}

/// Fields of OP-stack transactions that pay for L1 data, from the state after the block's L1 attributes.
pub(crate) fn l1_extras<DB: Database>(
    spec: &ChainSpec,
    header: &Header,
    db: &mut DB,
    transactions: &[&[u8]],
) -> Result<Vec<Vec<(Extra, U256)>>, DB::Error> {
    let fork = alloy_op_evm::spec(spec, header);
    let info = L1BlockInfo::try_fetch(db, U256::from(header.number), fork)?;
    let ecotone = spec.is_ecotone_active_at_timestamp(header.timestamp) && !info.empty_ecotone_scalars;
    let list = transactions.iter().map(|raw| {
        if raw.first() == Some(&DEPOSIT) {
            return Vec::new();
        }
        // Compressing takes most of the time, and three fields need it: once is enough.
        let size = fork.is_enabled_in(OpSpecId::FJORD).then(|| estimate_tx_compressed_size(raw));
        let (gas, fee) = size.map_or_else(|| data_cost(&info, raw, fork), |size| data_cost_by_size(&info, size));
        let overhead = info.l1_fee_overhead.filter(|_| !ecotone).unwrap_or_default();
        let gas = gas.saturating_add(overhead);
        let mut extras = vec![(Extra::L1GasPrice, info.l1_base_fee), (Extra::L1GasUsed, gas), (Extra::L1Fee, fee)];
        if ecotone {
            extras.push((Extra::L1BaseFeeScalar, info.l1_base_fee_scalar));
            extras.extend(info.l1_blob_base_fee.map(|value| (Extra::L1BlobBaseFee, value)));
            extras.extend(info.l1_blob_base_fee_scalar.map(|value| (Extra::L1BlobBaseFeeScalar, value)));
        }
        extras.extend(info.operator_fee_scalar.map(|value| (Extra::OperatorFeeScalar, value)));
        extras.extend(info.operator_fee_constant.map(|value| (Extra::OperatorFeeConstant, value)));
        if let Some(scalar) = info.da_footprint_gas_scalar {
            extras.push((Extra::DaFootprintGasScalar, U256::from(scalar)));
            // From Jovian on this field holds the transaction's DA footprint.
            let bytes = size.unwrap_or_default() / 1_000_000;
            extras.push((Extra::BlobGasUsed, U256::from(bytes.saturating_mul(u64::from(scalar)))));
        }
        extras
    });
    Ok(list.collect())
}

/// Gas and fee for the data of a transaction on L1, before Fjord.
fn data_cost(info: &L1BlockInfo, raw: &[u8], fork: OpSpecId) -> (U256, U256) {
    let mut info = info.clone();
    info.clear_tx_l1_cost();
    (info.data_gas(raw, fork), info.calculate_tx_l1_cost(raw, fork))
}

/// The same from Fjord on, by the estimated size of the data when it is compressed, in millionths of a byte. op-revm's functions
/// would each compress it again; a test holds this against them.
fn data_cost_by_size(info: &L1BlockInfo, size: u64) -> (U256, U256) {
    let size = U256::from(size);
    let calldata = info.l1_base_fee.saturating_mul(U256::from(16)).saturating_mul(info.l1_base_fee_scalar);
    let (price, scalar) = (info.l1_blob_base_fee, info.l1_blob_base_fee_scalar);
    let blobs = price.unwrap_or_default().saturating_mul(scalar.unwrap_or_default());
    let fee = size.saturating_mul(calldata.saturating_add(blobs)).wrapping_div(U256::from(1_000_000_000_000_u64));
    (size.saturating_mul(U256::from(16)).wrapping_div(U256::from(1_000_000)), fee)
}

/// Whether signatures must be in the lower half of the curve (EIP-2).
pub(crate) fn signatures_are_canonical(spec: &ChainSpec, number: u64) -> bool {
    spec.is_homestead_active_at_block(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_by_size_is_that_of_op_revm() {
        for length in [1_usize, 100, 130, 1_000, 60_000] {
            let raw: Vec<u8> = (0..length).map(|at| (at * at % 251) as u8 | 1).collect();
            for fees in [[0, 0, 0, 0], [7, 1_368, 1, 810_949], [3_000_000_000, u32::MAX.into(), u64::MAX, 5]] {
                let [l1_base_fee, l1_base_fee_scalar, blob_fee, blob_scalar] = fees.map(U256::from);
                let info = L1BlockInfo {
                    l1_base_fee,
                    l1_base_fee_scalar,
                    l1_blob_base_fee: Some(blob_fee),
                    l1_blob_base_fee_scalar: Some(blob_scalar),
                    ..Default::default()
                };
                let expected = data_cost(&info, &raw, OpSpecId::FJORD);
                assert_eq!(data_cost_by_size(&info, estimate_tx_compressed_size(&raw)), expected, "{length}");
            }
        }
    }
}
