//! What a block's parts must be by its header, and its receipts as they are stored: the same for a block that was
//! executed and for one that was read from elsewhere.

use crate::base::error::{Error, malformed};
use crate::base::limits::Limits;
use crate::base::parallel;
use crate::model::outcome::{Extra, ReceiptRecord, Status};
use crate::model::transaction::{StackReceipt, StackTransaction, blob_extras, signatures_are_canonical};
use crate::rules::spec::ChainSpec;
use alloy_consensus::transaction::Recovered;
use alloy_consensus::{Block, Eip658Value, Header, TxReceipt, proofs};
use alloy_eips::eip2718::WithEncoded;
use alloy_primitives::{B256, Bloom, U256};
use alloy_rlp::Decodable;

/// Only the one right encoding is taken: alloy reads some others too, and the bytes are stored and read elsewhere.
pub(crate) fn decode<T: StackTransaction>(rlp: &[u8]) -> Result<Block<T>, Error> {
    let block = Block::<T>::decode(&mut &*rlp).map_err(|why| malformed("block", why))?;
    if alloy_rlp::encode(&block) == rlp {
        Ok(block)
    } else {
        Err(malformed("block", "its encoding is not canonical"))
    }
}

/// A transaction with its sender and its bytes.
pub(crate) type Sent<T> = WithEncoded<Recovered<T>>;

/// What can be checked of a block alone, without executing anything.
pub(crate) fn check_contents<T: StackTransaction>(spec: &ChainSpec, block: &Block<T>) -> Result<(), Error> {
    check_transactions(spec, block)?;
    check_ommers(block)?;
    check_withdrawals(spec, block)
}

pub(crate) fn check_transactions<T: StackTransaction>(spec: &ChainSpec, block: &Block<T>) -> Result<(), Error> {
    if spec.odd_transactions_roots {
        return Ok(());
    }
    let root = proofs::calculate_transaction_root(&block.body.transactions);
    same(&block.header, "transactions root", block.header.transactions_root, root)
}

pub(crate) fn check_ommers<T>(block: &Block<T>) -> Result<(), Error> {
    let hash = proofs::calculate_ommers_root(&block.body.ommers);
    same(&block.header, "ommers hash", block.header.ommers_hash, hash)
}

pub(crate) fn check_withdrawals<T>(spec: &ChainSpec, block: &Block<T>) -> Result<(), Error> {
    let header = &block.header;
    if spec.withdrawals_root_is_storage(header.timestamp) {
        // The root says nothing about the list, which must be empty.
        let count = block.body.withdrawals.as_ref().map(|list| list.len());
        return same(header, "number of withdrawals", Some(0), count);
    }
    let root = block.body.withdrawals.as_ref().map(|list| proofs::calculate_withdrawals_root(list));
    same(header, "withdrawals root", header.withdrawals_root, root)
}

/// Finds the senders of all transactions but the first few.
pub(crate) fn recover<T: StackTransaction>(
    spec: &ChainSpec,
    block: &Block<T>,
    first: usize,
    limits: &Limits,
) -> Result<Vec<Sent<T>>, Error> {
    let canonical = signatures_are_canonical(spec, block.header.number);
    parallel::map(block.body.transactions.get(first..).unwrap_or_default(), |index, tx| {
        limits.check()?;
        let index = first + index;
        let signer = if canonical { tx.recover_signer() } else { tx.recover_signer_unchecked() };
        let signer = signer
            .map_err(|why| invalid(&block.header, format!("transaction {index} has no valid signature: {why}")))?;
        Ok(WithEncoded::new(tx.encoded_2718().into(), Recovered::new_unchecked(T::clone(tx), signer)))
    })
}

/// The receipts root and the bloom of all receipts.
pub(crate) fn commit_receipts<R: StackReceipt>(
    spec: &ChainSpec,
    header: &Header,
    receipts: &[R],
) -> (B256, Bloom) {
    let committed: Vec<R> = receipts.iter().map(|receipt| receipt.for_root(spec, header)).collect();
    let root =
        alloy_trie::root::ordered_trie_root_with_encoder(&committed, |receipt, out| receipt.encode_2718(out));
    (root, receipts.iter().fold(Bloom::ZERO, |all, receipt| all | receipt.bloom()))
}

/// Receipts with what is served beside them.
pub(crate) fn records<T: StackTransaction>(
    spec: &ChainSpec,
    header: &Header,
    sent: &[Sent<T>],
    receipts: &[T::Receipt],
    l1: Vec<Vec<(Extra, U256)>>,
) -> Vec<ReceiptRecord> {
    let mut before = 0;
    let list = sent.iter().zip(receipts).zip(l1).map(|((tx, receipt), mut l1)| {
        let (tx, from) = (tx.value().inner(), tx.value().signer());
        let nonce = receipt.deposit_nonce().unwrap_or_else(|| tx.nonce());
        let mut extras = blob_extras(spec, header, tx);
        extras.extend(receipt.deposit_nonce().map(|nonce| (Extra::DepositNonce, U256::from(nonce))));
        extras
            .extend(receipt.deposit_version().map(|version| (Extra::DepositReceiptVersion, U256::from(version))));
        extras.append(&mut l1);
        let cumulative = receipt.cumulative_gas_used();
        let gas_used = cumulative - before;
        before = cumulative;
        ReceiptRecord {
            transaction_hash: tx.trie_hash(),
            kind: tx.ty(),
            from,
            to: tx.to(),
            contract_address: tx.is_create().then(|| from.create(nonce)),
            status: match receipt.status_or_post_state() {
                Eip658Value::Eip658(done) => Status::Code(done),
                Eip658Value::PostState(root) => Status::Root(root),
            },
            gas_used,
            cumulative_gas_used: cumulative,
            effective_gas_price: tx.effective_gas_price(header.base_fee_per_gas),
            bloom: receipt.bloom(),
            extras,
            logs: receipt.logs().to_vec(),
        }
    });
    list.collect()
}

pub(crate) fn same<T: PartialEq + std::fmt::Debug>(
    header: &Header,
    what: &str,
    said: T,
    found: T,
) -> Result<(), Error> {
    if said == found {
        return Ok(());
    }
    Err(invalid(header, format!("its header says {what} {said:?}, its contents give {found:?}")))
}

pub(crate) fn invalid(header: &Header, why: impl std::fmt::Display) -> Error {
    Error::InvalidBlock(format!("block {} {}: {why}", header.number, header.hash_slow()))
}
