//! What it costs.

use super::case::{Case, answer, begin, cut, extend, message, parse, read_block, seal};
use super::made::{STORE, build, deposit, sign};
use crate::support::{CONTRACT, Fork, Random, genesis, request};
use alloy_consensus::{Sealable, TxEip1559};
use alloy_primitives::{Address, B256, TxKind, U256, address, hex};
use chain_query_evm::{CallRequest, CallResult, Chain, Lane, call};
use op_alloy_consensus::{OpTxEnvelope, TxDeposit};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Instant;

/// Writes slots 1 to the number in its input.
pub const WRITES: [u8; 16] = hex!("6000355b808055600190038060035700");

/// A pre-confirmed block that changed this many slots.
pub fn with_slots(count: u64) -> (Case<'static>, Arc<Chain>) {
    let writer = address!("00000000000000000000000000000000000ba5ed");
    let alloc = json!({
        CONTRACT.to_string(): { "balance": "0x0", "code": hex::encode_prefixed(STORE) },
        writer.to_string(): { "balance": "0x0", "code": hex::encode_prefixed(WRITES) },
    });
    let input = B256::from(U256::from(count)).to_vec();
    let mut tx = TxDeposit { to: TxKind::Call(writer), input: input.into(), ..Default::default() };
    tx.gas_limit = 500_000_000;
    let text = genesis(Fork::Isthmus, &alloc).replace("0x5f5e100", "0x3b9aca00");
    let case = build(&text, true, vec![vec![OpTxEnvelope::Deposit(tx.seal_slow())]]);
    let chain = begin(&case);
    let block = read_block(&case.blocks[0]);
    extend(&chain, &*case.load, &parse(&message(&block, &block.header, "p", 0, 0, 1))).unwrap();
    assert_eq!(chain.preconfirmed_sizes().2 as u64, count, "slots written");
    (case, chain)
}

#[test]
fn a_call_costs_the_same_on_a_large_overlay() {
    let chains = [with_slots(10), with_slots(10_000)];
    let input = [B256::with_last_byte(5), B256::with_last_byte(9)].concat();
    let request = CallRequest { data: input.into(), ..request(CONTRACT) };
    let views = chains.each_ref().map(|(case, chain)| {
        let view = Arc::new(chain.preconfirmed_view().unwrap());
        assert!(matches!(answer(&view, &*case.load, &request), Some(CallResult::Success(_))));
        view
    });
    let mut best = [f64::MAX; 2];
    for _ in 0..40 {
        for (view, best) in views.iter().zip(&mut best) {
            let start = Instant::now();
            for _ in 0..500 {
                call(view, &request, &Lane::Inline(1_000));
            }
            *best = best.min(start.elapsed().as_secs_f64() / 500.0);
        }
    }
    let ratio = best[1] / best[0];
    println!("a call with 10 slots {:.2} us, with 10,000 {:.2} us: {ratio:.2}", best[0] * 1e6, best[1] * 1e6);
    assert!(ratio < 1.5, "a call costs {ratio} times as much");
}

#[test]
fn extending_costs_what_is_new() {
    for (before, new) in [(0, 20), (0, 200), (200, 20), (400, 20)] {
        let mut random = Random::from_seed(7);
        let mut senders = Vec::new();
        let transfers: Vec<OpTxEnvelope> = (0..before + new)
            .map(|_| {
                let tx = TxEip1559 {
                    chain_id: 7,
                    gas_limit: 21_000,
                    max_fee_per_gas: 10,
                    max_priority_fee_per_gas: 1,
                    to: TxKind::Call(Address::from(random.array::<20>())),
                    value: U256::ONE,
                    ..Default::default()
                };
                let (tx, sender) = sign(&mut random, &tx);
                senders.push(sender);
                tx
            })
            .collect();
        let alloc: Value = senders
            .iter()
            .map(|sender| (sender.to_string(), json!({ "balance": "0xde0b6b3a7640000" })))
            .collect::<serde_json::Map<_, _>>()
            .into();
        let first = deposit(Address::ZERO, TxKind::Call(Address::ZERO), 1, 0, Vec::new());
        let body: Vec<OpTxEnvelope> = [first].into_iter().chain(transfers).collect();
        let case = build(&genesis(Fork::Isthmus, &alloc), true, vec![body]);
        let block = read_block(&case.blocks[0]);
        let oracle = begin(&case);
        let start = seal(&oracle, &*case.load, &cut(&block, 1 + before));
        let first = parse(&message(&block, &start.header, "p", 0, 0, 1 + before));
        let second = parse(&message(&block, &block.header, "p", 1, 1 + before, 1 + before + new));
        let chain = begin(&case);
        let mut best = f64::MAX;
        for round in 0..6 {
            extend(&chain, &*case.load, &first).unwrap();
            let start = Instant::now();
            extend(&chain, &*case.load, &second).unwrap();
            if round > 0 {
                best = best.min(start.elapsed().as_secs_f64());
            }
        }
        println!("{new} transfers on a block of {before}: {:.2} ms", best * 1e3);
    }
}
