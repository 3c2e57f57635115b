//! What is refused or dropped.

use super::case::{begin, complete, extend, feed, message, newest, open, parse, promoted, read_block, slot};
use super::made::{build, deposit, random_genesis, sign, two_blocks};
use crate::support::{CONTRACT, Fork, Random, options, request, small};
use alloy_consensus::{SignableTransaction, TxEip1559, proofs};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{Address, B256, Bytes, Signature, TxKind, U256};
use chain_query_evm::{
    CallResult, ChainOptions, Error, Flashblock, HotLimits, Lane, PRECONFIRMED_DEPTH, Read, call,
};
use op_alloy_consensus::OpTxEnvelope;
use serde_json::{Value, json};
use std::sync::Arc;

#[test]
fn a_flashblock_that_does_not_fit_changes_nothing() {
    let (case, messages) = two_blocks();
    let chain = begin(&case);
    let load = &*case.load;
    let refused = |message: &Value, word: &str| {
        let before = newest(&chain);
        let error = extend(&chain, load, &parse(message)).unwrap_err();
        assert!(error.to_string().contains(word), "{error}");
        assert!(matches!(error, Error::InvalidBlock(_)), "{error:?}");
        assert_eq!(newest(&chain), before);
    };
    let damaged = |message: &Value, path: &str, value: Value| {
        let mut message = message.clone();
        *message.pointer_mut(path).unwrap() = value;
        message
    };
    let (first, second) = (&messages[0], &messages[1]);
    refused(&first[1], "not there");
    refused(&damaged(&first[0], "/base/parent_hash", json!(B256::ZERO)), "does not follow");
    for index in 0..3 {
        let right = &first[index];
        refused(&damaged(right, "/diff/gas_used", json!("0x1")), "gas used");
        refused(&damaged(right, "/diff/receipts_root", json!(B256::ZERO)), "receipts root");
        let bloom = alloy_primitives::Bloom::repeat_byte(1);
        refused(&damaged(right, "/diff/logs_bloom", json!(bloom)), "logs bloom");
        refused(&damaged(right, "/diff/blob_gas_used", json!("0x1")), "blob gas used");
        for field in ["state_root", "withdrawals_root"] {
            refused(&damaged(right, &format!("/diff/{field}"), json!(B256::ZERO)), "block hash");
        }
        refused(&damaged(right, "/diff/block_hash", json!(B256::with_last_byte(1))), "block hash");
        if index > 0 {
            refused(&damaged(right, "/payload_id", json!("other")), "does not follow");
            refused(&damaged(right, "/index", json!(index + 1)), "does not follow");
            refused(&first[index - 1].clone().tap(index), "does not follow");
        }
        // Transactions that cannot run.
        let mut poor = right.clone();
        let tx = TxEip1559 { chain_id: 7, gas_limit: 21_000, max_fee_per_gas: 10, ..Default::default() };
        let (tx, _) = sign(&mut Random::from_seed(1), &tx);
        poor["diff"]["transactions"] = json!([Bytes::from(tx.encoded_2718())]);
        refused(&poor, "cannot be executed");
        extend(&chain, load, &parse(right)).unwrap();
        assert_eq!(newest(&chain), Some((1, index as u64)));
        let values: Vec<u64> = (1..4).map(|at| slot(&chain, load, at)).collect();
        let expected = [vec![11, 0, 0], vec![11, 11, 0], vec![11, 11, 11]];
        assert_eq!(values, expected[index]);
    }
    refused(&damaged(&second[0], "/base/parent_hash", json!(B256::ZERO)), "does not follow");
    refused(&damaged(&second[0], "/base/timestamp", json!("0x1")), "timestamp");
    feed(&chain, &case, second);
    assert_eq!(newest(&chain), Some((2, 2)));
    for text in ["{}", "[]", r#"{"payload_id":"","index":0}"#] {
        assert!(matches!(Flashblock::parse(text), Err(Error::Malformed(_))));
    }
    let mut broken = second[0].clone();
    broken["diff"]["transactions"] = json!(["0x7e"]);
    assert!(matches!(extend(&chain, load, &parse(&broken)), Err(Error::Malformed(_))));
    assert_eq!(newest(&chain), Some((2, 2)));
}

pub trait Tap {
    fn tap(self, index: usize) -> Self;
}

impl Tap for Value {
    /// A duplicate: an index that was there. The first of a block would begin it anew, so it has no base here.
    fn tap(mut self, index: usize) -> Self {
        self["index"] = json!(if index == 1 { 3 } else { index - 1 });
        self.as_object_mut().unwrap().remove("base");
        self
    }
}

#[test]
fn a_block_that_is_begun_anew_replaces_the_old_one() {
    let (case, messages) = two_blocks();
    let chain = begin(&case);
    feed(&chain, &case, &messages[0]);
    feed(&chain, &case, &messages[1][..2]);
    assert_eq!(newest(&chain), Some((2, 1)));
    // Refused, so all stays.
    let mut wrong = messages[0][0].clone();
    wrong["diff"]["gas_used"] = json!("0x1");
    extend(&chain, &*case.load, &parse(&wrong)).unwrap_err();
    assert_eq!((newest(&chain), slot(&chain, &*case.load, 2)), (Some((2, 1)), 21));
    feed(&chain, &case, &messages[1][..1]);
    assert_eq!((newest(&chain), slot(&chain, &*case.load, 2)), (Some((2, 0)), 11));
    feed(&chain, &case, &messages[0][..1]);
    assert_eq!((newest(&chain), slot(&chain, &*case.load, 2)), (Some((1, 0)), 0));
    assert_eq!(chain.preconfirmed_sizes().0, 1);
    feed(&chain, &case, &messages[0][1..]);
    feed(&chain, &case, &messages[1]);
    assert_eq!((newest(&chain), slot(&chain, &*case.load, 3)), (Some((2, 2)), 21));
}

#[test]
fn what_does_not_fit_the_head_is_dropped() {
    let (case, messages) = two_blocks();
    let load = &*case.load;
    let both = || {
        let chain = begin(&case);
        feed(&chain, &case, &messages[0]);
        feed(&chain, &case, &messages[1]);
        chain
    };
    // By number.
    let chain = both();
    chain.drop_preconfirmed(3);
    assert_eq!(newest(&chain), Some((2, 2)));
    chain.drop_preconfirmed(2);
    assert_eq!((newest(&chain), slot(&chain, load, 1)), (Some((1, 2)), 11));
    feed(&chain, &case, &messages[1][..1]);
    assert_eq!((newest(&chain), slot(&chain, load, 1)), (Some((2, 0)), 21));
    chain.drop_preconfirmed(0);
    assert_eq!((newest(&chain), chain.preconfirmed_sizes()), (None, (0, 0, 0)));
    // The confirmed block is the one that was pre-confirmed, however it came: those above it stay.
    let executed = {
        let chain = begin(&case);
        complete(&chain, load, || chain.execute(&case.blocks[0])).unwrap()
    };
    let header = alloy_rlp::encode(&executed.header);
    let chain = both();
    complete(&chain, load, || chain.execute(&case.blocks[0])).unwrap();
    assert_eq!((newest(&chain), slot(&chain, load, 3)), (Some((2, 2)), 21));
    let chain = both();
    chain.apply(&header, &executed.diff.encode()).unwrap();
    assert_eq!((newest(&chain), slot(&chain, load, 3)), (Some((2, 2)), 21));
    promoted(&chain, &case.blocks[1]);
    // One with other changes is another one.
    let chain = both();
    let mut diff = executed.diff.clone();
    diff.slots.pop();
    chain.apply(&header, &diff.encode()).unwrap();
    assert_eq!(newest(&chain), None);
    // One with another hash is promoted, but nothing stands on it.
    let chain = both();
    let mut other = read_block(&case.blocks[0]);
    other.header.state_root = B256::repeat_byte(1);
    let view = chain.preconfirmed_view().unwrap();
    promoted(&chain, &alloy_rlp::encode(&other));
    assert_eq!((newest(&chain), chain.head_view().unwrap().hash()), (None, other.header.hash_slow()));
    assert_eq!(view.slot(CONTRACT, B256::with_last_byte(3)), Read::Value(U256::from(21)));
    // The head is taken back or replaced.
    let chain = both();
    promoted(&chain, &case.blocks[0]);
    assert_eq!(newest(&chain), Some((2, 2)));
    chain.revert_to(1).unwrap();
    assert_eq!(newest(&chain), Some((2, 2)), "the head is the same");
    let view = chain.preconfirmed_view().unwrap();
    chain.revert_to(0).unwrap();
    assert_eq!(newest(&chain), None);
    assert_eq!(view.slot(CONTRACT, B256::with_last_byte(3)), Read::Outdated);
    let chain = both();
    let view = chain.preconfirmed_view().unwrap();
    chain.open(&header).unwrap();
    assert_eq!(newest(&chain), None);
    assert_eq!(view.account(CONTRACT), Read::Outdated);
}

#[test]
fn a_view_is_outdated_when_hot_state_leaves_its_base() {
    let (case, messages) = two_blocks();
    let small = ChainOptions { hot: HotLimits { window: 2, ..options().hot }, ..options() };
    let chain = open(&case.spec, small, &case.parent);
    feed(&chain, &case, &messages[0]);
    feed(&chain, &case, &messages[1]);
    let view = Arc::new(chain.preconfirmed_view().unwrap());
    promoted(&chain, &case.blocks[0]);
    assert!(matches!(view.slot(CONTRACT, B256::with_last_byte(1)), Read::Value(_)));
    promoted(&chain, &case.blocks[1]);
    assert_eq!(view.slot(CONTRACT, B256::with_last_byte(1)), Read::Outdated);
    assert_eq!(call(&view, &request(CONTRACT), &Lane::Inline(1_000)), CallResult::Outdated);
}

#[test]
fn no_more_blocks_are_kept_than_allowed() {
    let bodies = (0..PRECONFIRMED_DEPTH as u64 + 1)
        .map(|at| vec![deposit(Address::with_last_byte(0xa0), TxKind::Call(Address::ZERO), 1, at & 1, Vec::new())])
        .collect();
    let case = build(&random_genesis(true), true, bodies);
    let chain = begin(&case);
    for (at, rlp) in case.blocks.iter().enumerate() {
        let block = read_block(rlp);
        let flashblock = parse(&message(&block, &block.header, "p", 0, 0, 1));
        let result = extend(&chain, &*case.load, &flashblock);
        if at < PRECONFIRMED_DEPTH {
            result.unwrap();
            continue;
        }
        assert!(matches!(result, Err(Error::Unavailable(_))));
        promoted(&chain, &case.blocks[0]);
        extend(&chain, &*case.load, &flashblock).unwrap();
    }
    assert_eq!(chain.preconfirmed_sizes().0, PRECONFIRMED_DEPTH);
}

#[test]
fn ethereum_has_no_flashblocks() {
    let (_, messages) = two_blocks();
    let chain = small(Fork::Prague, &json!({})).chain;
    assert!(matches!(chain.extend_preconfirmed(&parse(&messages[0][0])), Err(Error::Unsupported(_))));
    assert!(chain.preconfirmed_view().is_none());
}

#[test]
fn a_signature_that_is_not_valid_is_said_before_what_else_is_wrong() {
    let (case, messages) = two_blocks();
    let load = &*case.load;
    let tx = TxEip1559 { chain_id: 7, gas_limit: 21_000, max_fee_per_gas: 10, ..Default::default() };
    let mut random = Random::from_seed(1);
    // None of them can be paid for, and two have no sender.
    let mut list: Vec<OpTxEnvelope> = (0..60).map(|_| sign(&mut random, &tx).0).collect();
    for index in [50, 57] {
        list[index] = OpTxEnvelope::Eip1559(tx.clone().into_signed(Signature::new(U256::ZERO, U256::ZERO, false)));
    }
    let mut block = read_block(&case.blocks[0]);
    let before = block.body.transactions.len();
    block.body.transactions.extend(list.clone());
    block.header.transactions_root = proofs::calculate_transaction_root(&block.body.transactions);
    let rlp = alloy_rlp::encode(&block);
    let expected = |error: Option<Error>, index: usize| {
        let text = format!("transaction {index} has no valid signature");
        assert!(matches!(&error, Some(Error::InvalidBlock(why)) if why.contains(&text)), "{error:?}");
    };
    for _ in 0..20 {
        // Nothing is asked for before it is refused.
        expected(begin(&case).execute(&rlp).err(), before + 50);
        let chain = begin(&case);
        extend(&chain, load, &parse(&messages[0][0])).unwrap();
        let mut flashblock = messages[0][1].clone();
        flashblock["diff"]["transactions"] =
            json!(list.iter().map(|tx| Bytes::from(tx.encoded_2718())).collect::<Vec<_>>());
        expected(chain.extend_preconfirmed(&parse(&flashblock)).err(), 1 + 50);
        expected(chain.promote(&rlp).err(), before + 50);
    }
}
