//! Blocks and transactions as nodes send them in JSON.

use crate::base::error::{Error, malformed};
use crate::model::header::read_header;
use crate::model::transaction::{DEPOSIT, StackTransaction, signatures_are_canonical};
use crate::model::verify::decode;
use crate::rules::spec::{ChainSpec, Stack};
use alloy_consensus::{Block, BlockBody, Header, TxEnvelope};
use alloy_eips::eip4895::Withdrawals;
use alloy_op_hardforks::OpHardforks;
use alloy_primitives::{Address, B256, U64, U128};
use alloy_rlp::Encodable;
use op_alloy_consensus::OpTxEnvelope;
use serde::Serialize;

#[derive(Serialize)]
struct ListedHeader {
    hash: B256,
    #[serde(flatten)]
    header: Header,
}

/// A header (RLP, also of a whole block) as `newHeads` has it; with another hash than its own where it is not sealed yet.
pub fn header_json(bytes: &[u8], hash: Option<B256>) -> Result<String, Error> {
    let header = read_header(bytes)?;
    let listed = ListedHeader { hash: hash.unwrap_or_else(|| header.hash_slow()), header };
    serde_json::to_string(&listed).map_err(|why| malformed("block header", why))
}

/// A block without its transactions.
#[derive(Serialize)]
struct ListedBlock {
    #[serde(flatten)]
    header: ListedHeader,
    size: U64,
    uncles: Vec<B256>,
    #[serde(skip_serializing_if = "Option::is_none")]
    withdrawals: Option<Withdrawals>,
}

/// A block as `eth_getBlockByHash` has it, but for its transactions; with another hash than its own where it is not sealed
/// yet. `pieces` (RLP) are the whole block, or in order all there is of one that grows: the last one's header is its own.
pub fn block_json(spec: &ChainSpec, pieces: &[&[u8]], hash: Option<B256>) -> Result<String, Error> {
    match spec.stack {
        Stack::Ethereum => block_shell::<TxEnvelope>(pieces, hash),
        Stack::Op => block_shell::<OpTxEnvelope>(pieces, hash),
    }
}

/// The whole of a block from its pieces.
pub(super) fn join<T: StackTransaction>(pieces: &[&[u8]]) -> Result<Block<T>, Error> {
    let (last, first) = pieces.split_last().ok_or_else(|| malformed("block", "there is nothing of it"))?;
    let mut block = decode::<T>(last)?;
    let mut transactions = Vec::new();
    for piece in first {
        transactions.append(&mut decode::<T>(piece)?.body.transactions);
    }
    transactions.append(&mut block.body.transactions);
    block.body.transactions = transactions;
    Ok(block)
}

fn block_shell<T: StackTransaction>(pieces: &[&[u8]], hash: Option<B256>) -> Result<String, Error> {
    let block = join::<T>(pieces)?;
    let size = block.length();
    let Block { header, body: BlockBody { ommers, withdrawals, .. } } = block;
    let hash = hash.unwrap_or_else(|| header.hash_slow());
    let uncles = ommers.iter().map(Header::hash_slow).collect();
    listed_block(header, hash, size, uncles, withdrawals).map_err(|why| malformed("block", why))
}

/// A block without its transactions, of its parts.
pub(crate) fn listed_block(
    header: Header,
    hash: B256,
    size: usize,
    uncles: Vec<B256>,
    withdrawals: Option<Withdrawals>,
) -> serde_json::Result<String> {
    let header = ListedHeader { hash, header };
    serde_json::to_string(&ListedBlock { header, size: U64::from(size), uncles, withdrawals })
}

/// What is known of transactions besides their bytes.
#[derive(Debug, Default)]
pub struct TransactionContext<'a> {
    /// The index of the first one in its block.
    pub first: u64,
    pub block_hash: B256,
    /// All of them, or none: then they are recovered, which takes most of the time.
    pub senders: &'a [Address],
    /// Of deposits only, in order; what is not there is 0.
    pub deposit_nonces: &'a [u64],
    /// The only one that is wanted, counted from these; all without it.
    pub only: Option<usize>,
}

/// A transaction with what it does not hold itself.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Listed<'a, T> {
    #[serde(flatten)]
    transaction: &'a T,
    block_hash: B256,
    block_number: U64,
    block_timestamp: U64,
    transaction_index: U64,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<Address>,
    /// What was paid, if the transaction only says what would be paid at most.
    #[serde(skip_serializing_if = "Option::is_none")]
    gas_price: Option<U128>,
    #[serde(flatten)]
    deposit: Option<ListedDeposit>,
}

/// What the receipt of a deposit says of it, and what alloy leaves out.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedDeposit {
    nonce: U64,
    #[serde(skip_serializing_if = "Option::is_none")]
    deposit_receipt_version: Option<U64>,
    /// Null for one that creates a contract.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<()>,
}

/// The transactions of a block or of a piece of it (RLP), each as `eth_getBlockByHash` lists it.
pub fn transactions_json(
    spec: &ChainSpec,
    rlp: &[u8],
    context: &TransactionContext<'_>,
) -> Result<Vec<String>, Error> {
    match spec.stack {
        Stack::Ethereum => list::<TxEnvelope>(spec, rlp, context),
        Stack::Op => list::<OpTxEnvelope>(spec, rlp, context),
    }
}

fn list<T: StackTransaction + Serialize>(
    spec: &ChainSpec,
    rlp: &[u8],
    context: &TransactionContext<'_>,
) -> Result<Vec<String>, Error> {
    let block = decode::<T>(rlp)?;
    let (header, transactions) = (&block.header, &block.body.transactions);
    if ![0, transactions.len()].contains(&context.senders.len()) {
        return Err(malformed("senders", "there is not one for each transaction"));
    }
    let canonical = signatures_are_canonical(spec, header.number);
    let version = spec.is_canyon_active_at_timestamp(header.timestamp).then_some(U64::ONE);
    let mut nonces = context.deposit_nonces.iter();
    let mut all = Vec::with_capacity(if context.only.is_some() { 1 } else { transactions.len() });
    for (index, tx) in transactions.iter().enumerate() {
        let is_deposit = tx.ty() == DEPOSIT;
        let nonce = if is_deposit { nonces.next().copied().unwrap_or_default() } else { 0 };
        if context.only.is_some_and(|only| only != index) {
            continue;
        }
        let from = match context.senders.get(index) {
            // A deposit names its sender itself.
            _ if is_deposit => None,
            Some(sender) => Some(*sender),
            None => {
                let signer = if canonical { tx.recover_signer() } else { tx.recover_signer_unchecked() };
                Some(signer.map_err(|why| malformed("block", why))?)
            }
        };
        let paid = tx.gas_price().is_none().then(|| tx.effective_gas_price(header.base_fee_per_gas));
        let listed = Listed {
            transaction: tx,
            block_hash: context.block_hash,
            block_number: U64::from(header.number),
            block_timestamp: U64::from(header.timestamp),
            transaction_index: U64::from(context.first.saturating_add(index as u64)),
            from,
            gas_price: paid.map(U128::from),
            deposit: is_deposit.then(|| ListedDeposit {
                nonce: U64::from(nonce),
                deposit_receipt_version: version,
                to: tx.is_create().then_some(()),
            }),
        };
        all.push(serde_json::to_string(&listed).map_err(|why| malformed("transaction", why))?);
    }
    Ok(all)
}
