//! Blocks, transactions and receipts in the bytes that the chain commits to, for `debug_getRaw*`.

use crate::base::error::{Error, malformed};
use crate::json::receipts::read_list;
use crate::json::streams::join;
use crate::model::header::read_header;
use crate::model::transaction::{StackReceipt, StackTransaction};
use crate::model::verify::decode;
use crate::rules::spec::{ChainSpec, Stack};
use alloy_consensus::TxEnvelope;
use alloy_eips::Encodable2718;
use op_alloy_consensus::OpTxEnvelope;

/// A block (RLP) put together from all there is of one that grows, in order: the last piece's header is its own.
pub fn raw_block(spec: &ChainSpec, pieces: &[&[u8]]) -> Result<Vec<u8>, Error> {
    match spec.stack {
        Stack::Ethereum => join::<TxEnvelope>(pieces).map(alloy_rlp::encode),
        Stack::Op => join::<OpTxEnvelope>(pieces).map(alloy_rlp::encode),
    }
}

/// One transaction of a block or piece (RLP), in the form of EIP-2718.
pub fn raw_transaction(spec: &ChainSpec, rlp: &[u8], index: usize) -> Result<Vec<u8>, Error> {
    match spec.stack {
        Stack::Ethereum => transaction::<TxEnvelope>(rlp, index),
        Stack::Op => transaction::<OpTxEnvelope>(rlp, index),
    }
}

fn transaction<T: StackTransaction>(rlp: &[u8], index: usize) -> Result<Vec<u8>, Error> {
    let found = decode::<T>(rlp)?.body.transactions.get(index).map(Encodable2718::encoded_2718);
    found.ok_or_else(|| malformed("block", format!("it has no transaction {index}")))
}

/// The receipts of a block, each as the receipts root commits to it, from their JSON and the block's header (RLP).
pub fn raw_receipts(spec: &ChainSpec, header: &[u8], receipts: &str) -> Result<Vec<Vec<u8>>, Error> {
    match spec.stack {
        Stack::Ethereum => committed::<TxEnvelope>(spec, header, receipts),
        Stack::Op => committed::<OpTxEnvelope>(spec, header, receipts),
    }
}

fn committed<T: StackTransaction>(spec: &ChainSpec, header: &[u8], text: &str) -> Result<Vec<Vec<u8>>, Error> {
    let header = read_header(header)?;
    let receipts = read_list::<T>(spec, &header, text)?;
    Ok(receipts.iter().map(|receipt| receipt.for_root(spec, &header).encoded_2718()).collect())
}
