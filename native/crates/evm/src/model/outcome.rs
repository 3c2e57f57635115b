//! All that executing one block gave, in the bytes that TypeScript reads (`decodeOutcome`).

use crate::base::bytes::Writer;
use crate::model::base_time::timestamp_ms;
use crate::model::diff::Diff;
use alloy_consensus::Header;
use alloy_primitives::{Address, B256, Bloom, Bytes, Log, U256};

/// A block with its receipts, logs and state diff.
#[derive(Debug, Clone)]
pub struct Outcome {
    pub hash: B256,
    pub header: Header,
    /// RLP of the whole block.
    pub block: Bytes,
    pub receipts: Vec<ReceiptRecord>,
    pub diff: Diff,
}

/// One receipt with what is served beside it.
#[derive(Debug, Clone)]
pub struct ReceiptRecord {
    pub transaction_hash: B256,
    pub kind: u8,
    pub from: Address,
    pub to: Option<Address>,
    pub contract_address: Option<Address>,
    pub status: Status,
    pub gas_used: u64,
    pub cumulative_gas_used: u64,
    pub effective_gas_price: u128,
    pub bloom: Bloom,
    pub extras: Vec<(Extra, U256)>,
    pub logs: Vec<Log>,
}

/// How a receipt says whether its transaction succeeded.
#[derive(Debug, Clone, Copy)]
pub enum Status {
    Code(bool),
    Root(B256),
}

/// Fields only some receipts have. The numbers are those of `receiptExtra` in TypeScript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Extra {
    BlobGasUsed = 1,
    BlobGasPrice = 2,
    DepositNonce = 3,
    DepositReceiptVersion = 4,
    L1GasPrice = 5,
    L1GasUsed = 6,
    L1Fee = 7,
    L1BaseFeeScalar = 8,
    L1BlobBaseFee = 9,
    L1BlobBaseFeeScalar = 10,
    OperatorFeeScalar = 11,
    OperatorFeeConstant = 12,
    DaFootprintGasScalar = 13,
}

impl Extra {
    /// Whether one has this number.
    pub(crate) const fn is_known(number: u8) -> bool {
        number >= Self::BlobGasUsed as u8 && number <= Self::DaFootprintGasScalar as u8
    }
}

pub(crate) const HAS_TO: u8 = 1;
pub(crate) const HAS_CONTRACT: u8 = 2;
pub(crate) const HAS_ROOT: u8 = 4;
pub(crate) const SUCCEEDED: u8 = 8;

impl Outcome {
    /// Writes the bytes that TypeScript reads.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.u64(self.header.number);
        out.raw(self.hash.as_slice());
        out.raw(self.header.parent_hash.as_slice());
        out.u64(self.header.timestamp);
        // 0 where it is not known.
        out.u64(timestamp_ms(self.header.timestamp, &self.block).unwrap_or_default());
        out.bytes(&alloy_rlp::encode(&self.header));
        out.bytes(&self.block);
        out.bytes(&self.diff.encode());
        out.len(self.receipts.len());
        for receipt in &self.receipts {
            receipt.encode(&mut out);
        }
        out.len(self.receipts.iter().map(|receipt| receipt.logs.len()).sum());
        for (index, receipt) in self.receipts.iter().enumerate() {
            for log in &receipt.logs {
                encode_log(&mut out, index, log);
            }
        }
        out.0
    }
}

impl ReceiptRecord {
    fn encode(&self, out: &mut Writer) {
        let mut flags = 0;
        flags |= if self.to.is_some() { HAS_TO } else { 0 };
        flags |= if self.contract_address.is_some() { HAS_CONTRACT } else { 0 };
        flags |= match self.status {
            Status::Root(_) => HAS_ROOT,
            Status::Code(true) => SUCCEEDED,
            Status::Code(false) => 0,
        };
        out.raw(self.transaction_hash.as_slice());
        out.u8(self.kind);
        out.u8(flags);
        out.raw(self.from.as_slice());
        for address in [self.to, self.contract_address].into_iter().flatten() {
            out.raw(address.as_slice());
        }
        if let Status::Root(root) = self.status {
            out.raw(root.as_slice());
        }
        out.u64(self.gas_used);
        out.u64(self.cumulative_gas_used);
        out.bytes(&U256::from(self.effective_gas_price).to_be_bytes_trimmed_vec());
        out.raw(self.bloom.as_slice());
        out.len(self.logs.len());
        out.len(self.extras.len());
        for (extra, value) in &self.extras {
            out.u8(*extra as u8);
            out.bytes(&value.to_be_bytes_trimmed_vec());
        }
    }
}

fn encode_log(out: &mut Writer, transaction: usize, log: &Log) {
    out.len(transaction);
    out.raw(log.address.as_slice());
    out.len(log.topics().len());
    for topic in log.topics() {
        out.raw(topic.as_slice());
    }
    out.bytes(&log.data.data);
}
