//! `eth_getBlockByHash` with whole transactions, as the block's RLP.

use crate::base::error::{Error, malformed};
use crate::json::part::{Part, read_typed};
use crate::model::transaction::StackTransaction;
use crate::model::verify::{check_ommers, check_transactions, check_withdrawals, same};
use crate::rules::spec::{ChainSpec, Stack};
use alloy_consensus::{Block, BlockBody, EMPTY_OMMER_ROOT_HASH, Header, TxEnvelope};
use alloy_eips::eip4895::{Withdrawal, Withdrawals};
use alloy_primitives::{B256, keccak256};
use op_alloy_consensus::OpTxEnvelope;
use serde::Deserialize;
use serde_json::{Map, Value};

/// What a block's JSON has beside the fields of its header.
#[derive(Deserialize)]
struct Contents {
    hash: B256,
    transactions: Vec<Value>,
    #[serde(default)]
    uncles: Vec<B256>,
    #[serde(default)]
    withdrawals: Vec<Withdrawal>,
}

/// Makes the RLP of a block from its JSON. The header must hash to the block's hash, and the contents must be those the
/// header commits to; the hashes and senders that the JSON gives for transactions are not looked at.
pub fn block_from_json(spec: &ChainSpec, text: &str) -> Result<Vec<u8>, Error> {
    match spec.stack {
        Stack::Ethereum => read_block::<TxEnvelope>(spec, text),
        Stack::Op => read_block::<OpTxEnvelope>(spec, text),
    }
}

/// The hash of the header that a block's JSON has, with or without its transactions.
pub fn header_hash_from_json(text: &str) -> Result<B256, Error> {
    Ok(read_header(text)?.1.hash_slow())
}

fn read_header(text: &str) -> Result<(Value, Header), Error> {
    let mut fields: Map<String, Value> = serde_json::from_str(text).map_err(|why| malformed("block", why))?;
    fields.retain(|_, field| !field.is_null());
    let fields = Value::Object(fields);
    let header = Header::deserialize(&fields).map_err(|why| malformed("block", why))?;
    Ok((fields, header))
}

fn read_block<T: StackTransaction>(spec: &ChainSpec, text: &str) -> Result<Vec<u8>, Error> {
    let (fields, header) = read_header(text)?;
    let Contents { hash, transactions, uncles, withdrawals } =
        serde_json::from_value(fields).map_err(|why| malformed("block", why))?;
    same(&header, "hash", hash, header.hash_slow()).map_err(|error| Part::Header.blame(error))?;
    let has_ommers = header.ommers_hash != EMPTY_OMMER_ROOT_HASH;
    same(&header, "uncles", has_ommers, !uncles.is_empty()).map_err(|error| Part::Uncles.blame(error))?;
    if has_ommers {
        return Err(Error::Unsupported(format!(
            "block {} {hash} has uncles, which are not read from JSON",
            header.number
        )));
    }
    let transactions = read_transactions::<T>(transactions)?;
    let withdrawals = header.withdrawals_root.map(|_| Withdrawals::new(withdrawals));
    let block = Block { header, body: BlockBody { transactions, ommers: Vec::new(), withdrawals } };
    check_transactions(spec, &block).map_err(|error| Part::Transactions.blame(error))?;
    check_ommers(&block).map_err(|error| Part::Uncles.blame(error))?;
    check_withdrawals(spec, &block).map_err(|error| Part::Withdrawals.blame(error))?;
    Ok(alloy_rlp::encode(block))
}

fn read_transactions<T: StackTransaction>(transactions: Vec<Value>) -> Result<Vec<T>, Error> {
    let transactions = transactions.into_iter().enumerate().map(|(index, value)| {
        read_typed("block transactions", index, value, |fields| {
            // anvil shows blobs and hashes them into its transactions root. A block does not hold them.
            for sidecar in ["blobs", "commitments", "proofs", "cellProofs"] {
                fields.remove(sidecar);
            }
            // Nodes write a truth value, alloy reads a quantity.
            if let Some(is_system) = fields.get("isSystemTx").and_then(Value::as_bool) {
                fields.insert("isSystemTx".into(), if is_system { "0x1" } else { "0x0" }.into());
            }
        })
    });
    transactions.collect()
}

/// Makes the bytes of transactions from a list of them as JSON. Each must hash to the hash that its JSON has: no root vouches
/// for them yet.
pub fn transactions_from_json(spec: &ChainSpec, text: &str) -> Result<Vec<Vec<u8>>, Error> {
    match spec.stack {
        Stack::Ethereum => encode_transactions::<TxEnvelope>(text),
        Stack::Op => encode_transactions::<OpTxEnvelope>(text),
    }
}

fn encode_transactions<T: StackTransaction>(text: &str) -> Result<Vec<Vec<u8>>, Error> {
    #[derive(Deserialize)]
    struct Named {
        hash: B256,
    }
    let wrong = |why| malformed("block transactions", why);
    let values: Vec<Value> = serde_json::from_str(text).map_err(wrong)?;
    let named = values.iter().map(Named::deserialize).collect::<Result<Vec<_>, _>>().map_err(wrong)?;
    let transactions = read_transactions::<T>(values)?;
    named
        .iter()
        .zip(transactions)
        .map(|(Named { hash }, transaction)| {
            let bytes = transaction.encoded_2718();
            let found = keccak256(&bytes);
            if found == *hash {
                return Ok(bytes);
            }
            Err(Error::InvalidBlock(format!("transactions: one is said to be {hash}, and is {found}")))
        })
        .collect()
}
