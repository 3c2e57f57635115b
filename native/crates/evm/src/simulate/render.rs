//! A simulated block as JSON.

use super::message::Transaction;
use crate::base::revert::reason;
use crate::json::listed_block;
use alloy_consensus::{Header, Transaction as _, TxEnvelope};
use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::{Address, B256, Bytes, Log, U64, U128};
use alloy_rlp::Encodable;
use serde::Serialize;
use serde_json::{Error, Value};

/// The code of a call that halted, and of one that reverted.
const VM_ERROR: i32 = -32015;
const REVERTED: i32 = 3;

/// A call that ran, whichever way it ended.
#[derive(Debug, Default)]
pub(super) struct RanCall {
    pub(super) succeeded: bool,
    pub(super) output: Bytes,
    pub(super) reverted: Option<Bytes>,
    pub(super) halted: Option<String>,
    /// Each with its index in the block.
    pub(super) logs: Vec<(usize, Log)>,
    pub(super) used: u64,
    /// Before refunds.
    pub(super) peak: u64,
}

/// A block with what its calls gave.
pub(super) struct Block<'a> {
    pub(super) header: &'a Header,
    pub(super) hash: B256,
    pub(super) transactions: &'a [Transaction],
    pub(super) senders: &'a [Address],
    pub(super) calls: &'a [RanCall],
    pub(super) withdrawals: Option<&'a Withdrawals>,
    pub(super) is_whole: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a> {
    #[serde(flatten)]
    transaction: &'a TxEnvelope,
    block_hash: B256,
    block_number: U64,
    block_timestamp: U64,
    transaction_index: U64,
    from: Address,
    #[serde(skip_serializing_if = "Option::is_none")]
    gas_price: Option<U128>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedCall<'a> {
    return_data: &'a Bytes,
    logs: Vec<ListedLog<'a>>,
    gas_used: U64,
    max_used_gas: U64,
    status: U64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<CallError<'a>>,
}

#[derive(Serialize)]
struct CallError<'a> {
    message: String,
    code: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Bytes>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedLog<'a> {
    address: Address,
    topics: &'a [B256],
    data: &'a Bytes,
    block_number: U64,
    transaction_hash: B256,
    transaction_index: U64,
    block_hash: B256,
    block_timestamp: U64,
    log_index: U64,
    removed: bool,
}

impl Block<'_> {
    /// Appends the JSON of it.
    pub(super) fn write(&self, out: &mut Vec<u8>) -> Result<(), Error> {
        let shell =
            listed_block(self.header.clone(), self.hash, self.size(), Vec::new(), self.withdrawals.cloned())?;
        out.extend_from_slice(shell.strip_suffix('}').unwrap_or(&shell).as_bytes());
        out.extend_from_slice(b",\"transactions\":");
        if self.is_whole {
            let list = (0..).zip(self.transactions.iter().zip(self.senders));
            let list = list.map(|(index, (tx, from))| self.transaction(index, tx, *from));
            serde_json::to_writer(&mut *out, &list.collect::<Result<Vec<_>, _>>()?)?;
        } else {
            let hashes: Vec<B256> = self.transactions.iter().map(|tx| tx.hash).collect();
            serde_json::to_writer(&mut *out, &hashes)?;
        }
        out.extend_from_slice(b",\"calls\":");
        let calls: Vec<ListedCall<'_>> = (0..)
            .zip(self.calls.iter().zip(self.transactions))
            .map(|(index, (call, tx))| self.call(index, call, tx.hash))
            .collect();
        serde_json::to_writer(&mut *out, &calls)?;
        out.push(b'}');
        Ok(())
    }

    fn transaction(&self, index: u64, tx: &Transaction, from: Address) -> Result<Value, Error> {
        let envelope = &tx.envelope;
        let paid =
            envelope.gas_price().is_none().then(|| envelope.effective_gas_price(self.header.base_fee_per_gas));
        let mut value = serde_json::to_value(Listed {
            transaction: envelope,
            block_hash: self.hash,
            block_number: U64::from(self.header.number),
            block_timestamp: U64::from(self.header.timestamp),
            transaction_index: U64::from(index),
            from,
            gas_price: paid.map(U128::from),
        })?;
        if let Some(fields) = value.as_object_mut()
            && envelope.is_legacy()
        {
            fields.insert("v".into(), "0x0".into());
        }
        Ok(value)
    }

    fn call<'c>(&self, index: u64, call: &'c RanCall, transaction_hash: B256) -> ListedCall<'c> {
        let logs = call.logs.iter().map(|(log_index, log)| ListedLog {
            address: log.address,
            topics: log.data.topics(),
            data: &log.data.data,
            block_number: U64::from(self.header.number),
            transaction_hash,
            transaction_index: U64::from(index),
            block_hash: self.hash,
            block_timestamp: U64::from(self.header.timestamp),
            log_index: U64::from(*log_index),
            removed: false,
        });
        let error = match (&call.reverted, &call.halted) {
            (Some(data), _) => Some(CallError {
                message: reason(data)
                    .map_or_else(|| "execution reverted".into(), |why| format!("execution reverted: {why}")),
                code: REVERTED,
                data: Some(data),
            }),
            (None, Some(why)) => Some(CallError { message: why.clone(), code: VM_ERROR, data: None }),
            (None, None) => None,
        };
        ListedCall {
            return_data: &call.output,
            logs: logs.collect(),
            gas_used: U64::from(call.used),
            max_used_gas: U64::from(call.peak),
            status: U64::from(u8::from(call.succeeded)),
            error,
        }
    }

    /// Of the block's RLP.
    fn size(&self) -> usize {
        let list = |payload_length: usize| payload_length + alloy_rlp::length_of_length(payload_length);
        let transactions = self.transactions.iter().map(|tx| match tx.envelope.is_legacy() {
            true => tx.bytes.len(),
            false => tx.bytes.length(),
        });
        let withdrawals = self.withdrawals.map_or(0, Encodable::length);
        list(self.header.length() + list(transactions.sum()) + list(0) + withdrawals)
    }
}
