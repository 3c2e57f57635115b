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
use op_revm::L1BlockInfo;
use op_revm::transaction::estimate_tx_compressed_size;
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
        let mut info = info.clone();
        info.clear_tx_l1_cost();
        let mut gas = info.data_gas(raw, fork);
        if !ecotone {
            gas = gas.saturating_add(info.l1_fee_overhead.unwrap_or_default());
        }
        let mut extras = vec![
            (Extra::L1GasPrice, info.l1_base_fee),
            (Extra::L1GasUsed, gas),
            (Extra::L1Fee, info.calculate_tx_l1_cost(raw, fork)),
        ];
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
            let size = estimate_tx_compressed_size(raw) / 1_000_000;
            extras.push((Extra::BlobGasUsed, U256::from(size.saturating_mul(u64::from(scalar)))));
        }
        extras
    });
    Ok(list.collect())
}

/// Whether signatures must be in the lower half of the curve (EIP-2).
pub(crate) fn signatures_are_canonical(spec: &ChainSpec, number: u64) -> bool {
    spec.is_homestead_active_at_block(number)
}
