//! What it costs.

use super::case::{Case, answer, begin, complete, cut, extend, message, parse, read_block, seal};
use super::made::{STORE, build, deposit, sign};
use super::real::op_sepolia;
use super::told::tell_bytes;
use crate::support::{CONTRACT, Fixture, Fork, Random, genesis, request};
use alloy_consensus::{Sealable, TxEip1559};
use alloy_primitives::{Address, B256, TxKind, U256, address, hex};
use chain_query_evm::{CallRequest, CallResult, Chain, Lane, Outcome, Promoted, Promotion, call};
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

/// Writes its input to a slot of its own, and a log of it.
const LOGS: [u8; 11] = hex!("60003580335560205fa100");

/// A block of a deposit and so many calls, each of another sender, that write a slot and a log.
fn of_calls(count: usize) -> Case<'static> {
    let mut random = Random::from_seed(7);
    let mut alloc = serde_json::Map::new();
    alloc.insert(CONTRACT.to_string(), json!({ "balance": "0x0", "code": hex::encode_prefixed(LOGS) }));
    let first = deposit(Address::ZERO, TxKind::Call(Address::ZERO), 1, 0, Vec::new());
    let mut body = vec![first];
    for _ in 0..count {
        let tx = TxEip1559 {
            chain_id: 7,
            gas_limit: 50_000,
            max_fee_per_gas: 10,
            max_priority_fee_per_gas: 1,
            to: TxKind::Call(CONTRACT),
            input: random.array::<32>().into(),
            ..Default::default()
        };
        let (tx, sender) = sign(&mut random, &tx);
        alloc.insert(sender.to_string(), json!({ "balance": "0xde0b6b3a7640000" }));
        body.push(tx);
    }
    build(&genesis(Fork::Isthmus, &Value::Object(alloc)), true, vec![body])
}

#[test]
fn extending_costs_what_is_new() {
    for (before, new) in [(0, 20), (0, 200), (200, 20), (400, 20)] {
        let case = of_calls(before + new);
        let block = read_block(&case.blocks[0]);
        let oracle = begin(&case);
        let start = seal(&oracle, &*case.load, &cut(&block, 1 + before));
        let first = parse(&message(&block, &start.header, "p", 0, 0, 1 + before));
        let second = parse(&message(&block, &block.header, "p", 1, 1 + before, 1 + before + new));
        let [mut loading, mut again] = [f64::MAX; 2];
        for _ in 0..6 {
            let chain = begin(&case);
            extend(&chain, &*case.load, &first).unwrap();
            for best in [&mut loading, &mut again] {
                let start = Instant::now();
                extend(&chain, &*case.load, &second).unwrap();
                *best = best.min(start.elapsed().as_secs_f64());
                extend(&chain, &*case.load, &first).unwrap();
            }
        }
        let [loading, again] = [loading, again].map(|seconds| seconds * 1e3);
        println!("{new} calls on a block of {before}: with loading {loading:.2} ms, again {again:.2} ms");
    }
}

/// The same flashblock, told by who executed it. Executing it again has its senders and its state at hand.
#[test]
fn applying_what_was_executed_elsewhere_costs_little_beside_executing_it() {
    let fixtures = Fixture::all();
    let mut cases = op_sepolia(&fixtures);
    cases.extend([20, 200, 1_000].map(of_calls));
    let (mut applied, mut executed) = (0.0, 0.0);
    for case in &cases {
        let block = read_block(&case.blocks[0]);
        let count = block.body.transactions.len();
        let whole = parse(&message(&block, &block.header, "p", 0, 0, count));
        let (executes, told) = (begin(case), begin(case));
        let piece = extend(&executes, &*case.load, &whole).unwrap();
        let outcome = piece.outcome.encode();
        let best = |run: &dyn Fn()| {
            let times = (0..20).map(|_| {
                let start = Instant::now();
                run();
                start.elapsed().as_secs_f64() * 1e3
            });
            times.fold(f64::MAX, f64::min)
        };
        let chain = begin(case);
        let start = Instant::now();
        extend(&chain, &*case.load, &whole).unwrap();
        let first = start.elapsed().as_secs_f64() * 1e3;
        let again = best(&|| drop(extend(&executes, &*case.load, &whole).unwrap()));
        let applying = best(&|| assert!(tell_bytes(&told, "p", &piece, &outcome).is_ok()));
        println!(
            "{} of {count} transactions, {} bytes: executing {first:.2} ms with loading, {again:.2} ms again; applying {applying:.2} ms: {:.3} and {:.3}",
            case.name,
            outcome.len(),
            applying / first,
            applying / again,
        );
        applied += applying;
        executed += again;
    }
    let share = applied / executed;
    println!("all of them: {share:.3} of executing");
    assert!(share < 0.2, "applying takes {share} of executing");
}

#[test]
fn promoting_executes_nothing() {
    let case = of_calls(200);
    let block = read_block(&case.blocks[0]);
    let pieces = parse(&message(&block, &block.header, "p", 0, 0, block.body.transactions.len()));
    let (mut executing, mut whole, mut by_hash) = (f64::MAX, f64::MAX, f64::MAX);
    for _ in 0..5 {
        let chain = begin(&case);
        let start = Instant::now();
        let executed = complete(&chain, &*case.load, || chain.execute(&case.blocks[0])).unwrap().encode();
        executing = executing.min(start.elapsed().as_secs_f64());
        let chain = begin(&case);
        extend(&chain, &*case.load, &pieces).unwrap();
        let start = Instant::now();
        let promoted = done(chain.promote(&case.blocks[0]).unwrap().unwrap()).encode();
        whole = whole.min(start.elapsed().as_secs_f64());
        assert!(promoted == executed, "what is promoted is what executing gives");
        let chain = begin(&case);
        extend(&chain, &*case.load, &pieces).unwrap();
        let start = Instant::now();
        let promoted = done(chain.promote_sealed(block.header.hash_slow(), None).unwrap().unwrap()).encode();
        by_hash = by_hash.min(start.elapsed().as_secs_f64());
        assert!(promoted == executed, "what is promoted by its hash is what executing gives");
    }
    println!(
        "200 calls: executing, with loading, {:.2} ms, promoting the block {:.2} ms, by its hash {:.2} ms",
        executing * 1e3,
        whole * 1e3,
        by_hash * 1e3
    );
}

fn done(promotion: Promotion) -> Box<Outcome> {
    match promotion.result {
        Promoted::Done(outcome) => outcome,
        other => panic!("it is not promoted: {other:?}"),
    }
}
