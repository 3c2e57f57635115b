//! Simulations that the vectors of execution-apis do not have: other stacks, partial state, limits.

use crate::support::{CONTRACT, Fork, Small, chain_with_code};
use alloy_primitives::{B256, hex};
use chain_query_evm::{CancelFlag, Lane, Simulation, SimulationRequest, StateTrie, simulate};
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// Returns 32 KiB of zeros.
const LONG: [u8; 5] = hex!("6180005ff3");
/// Jumps back and forth without an end.
const ENDLESS: [u8; 4] = hex!("5b5f5600");
/// Logs nothing, with no topic.
const LOGS: [u8; 4] = hex!("5f5fa000");

fn asked(blocks: &Value, bytes: usize) -> Value {
    json!({ "blocks": blocks, "limits": { "blocks": 256, "gas": 50_000_000, "bytes": bytes }, "blockTime": 2 })
}

/// Simulates until nothing is missing: what no test put into the state does not exist.
fn ends(small: &Small, request: &Value, with_roots: bool, cancel: &CancelFlag) -> Simulation {
    let (view, request) = (small.view(), SimulationRequest::parse(&request.to_string()).unwrap());
    let deadline = Instant::now() + Duration::from_secs(3);
    let lane = Lane::Pool { deadline, cancel: Arc::clone(cancel) };
    for _ in 0..64 {
        match simulate(&view, &request, with_roots.then(|| small.chain.tries()), &lane) {
            Simulation::Missing(missing) => {
                let values: Vec<&[u8]> = missing.keys.iter().map(|_| &[][..]).collect();
                view.provide(&missing, &values).unwrap();
            }
            ended => return ended,
        }
    }
    panic!("still missing keys after 64 rounds");
}

fn blocks(small: &Small, request: &Value, with_roots: bool) -> Vec<Value> {
    match ends(small, request, with_roots, &Arc::default()) {
        Simulation::Done(json) => serde_json::from_slice(&json).unwrap(),
        other => panic!("{other:?}"),
    }
}

fn keep_trie(small: &Small) -> bool {
    let mut trie = StateTrie::default();
    for (address, account) in &small.outcome.diff.accounts {
        trie.load_account(*address, &alloy_rlp::encode(account.unwrap())).unwrap();
    }
    small.chain.tries().keep(&small.outcome.header, trie)
}

const ZERO: &str = "0x0000000000000000000000000000000000000000000000000000000000000000";
const ONES: &str = "0x1111111111111111111111111111111111111111111111111111111111111111";

#[test]
fn blocks_of_the_op_stack_follow_each_other_at_their_own_pace() {
    let small = chain_with_code(Fork::Isthmus, &LOGS);
    let call = json!({ "to": CONTRACT, "from": CONTRACT });
    let request =
        asked(&json!([{ "calls": [call] }, { "blockOverrides": { "number": "0x3" }, "calls": [call] }]), 1 << 20);
    let found = blocks(&small, &request, false);
    let times: Vec<&Value> = found.iter().map(|block| &block["timestamp"]).collect();
    assert_eq!(times, ["0x66", "0x68", "0x6a"]);
    assert_eq!(found[0]["parentHash"], small.outcome.hash.to_string());
    for pair in found.windows(2) {
        assert_eq!(pair[1]["parentHash"], pair[0]["hash"]);
    }
    for block in &found {
        assert_eq!(block["stateRoot"], ZERO, "not all of the state is known");
        assert_eq!(block["withdrawalsRoot"], ZERO, "it is of the state, too");
    }
    let log = &found[2]["calls"][0]["logs"][0];
    assert_eq!(log["blockHash"], found[2]["hash"]);
    assert_eq!(found[1]["transactions"], json!([]));
}

#[test]
fn roots_are_of_the_whole_state_or_zero() {
    let small = chain_with_code(Fork::Prague, &LOGS);
    let request = asked(&json!([{ "calls": [{ "to": CONTRACT, "from": CONTRACT }] }]), 1 << 20);
    assert_eq!(ends(&small, &request, true, &Arc::default()), Simulation::NeedsTrie);
    assert!(keep_trie(&small), "its root is that of the block");
    assert_eq!(small.chain.tries().nearest(9), Some((0, small.outcome.hash)));
    let found = blocks(&small, &request, true);
    assert_ne!(found[0]["stateRoot"], ZERO);
    assert_ne!(found[0]["stateRoot"], small.outcome.header.state_root.to_string());
    let wrong = StateTrie::default();
    assert!(!small.chain.tries().keep(&small.outcome.header, wrong), "of another state");
    assert!(small.chain.tries().has(small.outcome.hash) && !small.chain.tries().has(B256::ZERO));
}

#[test]
fn time_bytes_and_wishes_end_it() {
    let many = |code: &[u8], bytes: usize| {
        let small = chain_with_code(Fork::Prague, code);
        let call = json!({ "to": CONTRACT });
        // A whole block of gas is spent before the time is up on a fast machine.
        let block = json!({ "blockOverrides": { "gasLimit": "0xe8d4a51000" }, "calls": vec![call; 100] });
        (small, asked(&json!([block, block]), bytes))
    };
    let (small, request) = many(&LONG, 100_000);
    let too_large =
        Simulation::Refused { code: -32003, message: "response too large, at most 100000 bytes".into() };
    assert_eq!(ends(&small, &request, false, &Arc::default()), too_large);
    let (small, mut request) = many(&ENDLESS, 1 << 20);
    request["limits"]["gas"] = json!(1_000_000_000_000_u64);
    assert_eq!(ends(&small, &request, false, &Arc::default()), Simulation::Timeout);
    assert_eq!(ends(&small, &request, false, &Arc::new(AtomicBool::new(true))), Simulation::Cancelled);
}

#[test]
fn what_no_header_can_say_is_refused() {
    let small = chain_with_code(Fork::Prague, &LOGS);
    let refused = |block: Value| match ends(&small, &asked(&json!([block]), 1 << 20), false, &Arc::default()) {
        Simulation::Refused { code, .. } => code,
        other => panic!("{other:?}"),
    };
    assert_eq!(refused(json!({ "blockOverrides": { "baseFeePerGas": "0x10000000000000000" } })), -32602);
    assert_eq!(refused(json!({ "blockOverrides": { "number": "0xffffffffffffffffffff" } })), -38026);
    assert_eq!(refused(json!({ "blockOverrides": { "number": "0x0" } })), -38020);
    assert_eq!(refused(json!({ "blockOverrides": { "time": "0x64" } })), -38021);
    assert_eq!(refused(json!({ "calls": [{ "to": CONTRACT, "gas": "0xffffffffffffffff" }] })), -38015);
    assert_eq!(refused(json!({ "calls": [{ "to": CONTRACT, "gas": "0x1" }] })), -38013);
}

#[test]
fn a_short_one_runs_on_the_thread_that_asks_and_all_else_is_for_the_pool() {
    let inline = |small: &Small, blocks: &Value, steps: u64| {
        let request = SimulationRequest::parse(&asked(blocks, 1 << 20).to_string()).unwrap();
        simulate(&small.view(), &request, None, &Lane::Inline(steps))
    };
    let short = json!([{ "calls": [{ "to": CONTRACT, "from": CONTRACT }] }]);
    let small = chain_with_code(Fork::Osaka, &LOGS);
    // What the block reads at its beginning and end is not there yet.
    assert_eq!(inline(&small, &short, 12_000), Simulation::Budget);
    let pooled = ends(&small, &asked(&short, 1 << 20), false, &Arc::default());
    assert!(matches!(pooled, Simulation::Done(_)));
    assert_eq!(inline(&small, &short, 12_000), pooled);
    // Too few steps for its blocks, for its call, for what it brings.
    assert_eq!(inline(&small, &short, 64), Simulation::Budget);
    assert_eq!(inline(&small, &short, 15), Simulation::Budget);
    let gaps = json!([{ "blockOverrides": { "number": "0xf0" } }]);
    assert_eq!(inline(&small, &gaps, 12_000), Simulation::Budget);
    let creation = json!([{ "calls": [{ "from": CONTRACT, "data": format!("0x{}", "00".repeat(49_153)) }] }]);
    assert_eq!(inline(&small, &creation, 12_000), Simulation::Budget);
    let slots: serde_json::Map<String, Value> =
        (0..800).map(|slot| (format!("0x{slot:064x}"), json!(format!("0x{slot:064x}")))).collect();
    let pretended = json!([{ "stateOverrides": { CONTRACT.to_string(): { "stateDiff": slots } } }]);
    assert_eq!(inline(&small, &pretended, 12_000), Simulation::Budget);
    // Code without an end.
    let endless = chain_with_code(Fork::Osaka, &ENDLESS);
    assert_eq!(inline(&endless, &short, 12_000), Simulation::Budget);
}

#[test]
fn before_their_forks_nothing_is_a_delegation_or_a_withdrawal() {
    let small = chain_with_code(Fork::London, &LOGS);
    let code = format!("0xef0100{}", hex::encode(CONTRACT));
    let calls = json!([{ "to": CONTRACT, "from": CONTRACT, "gas": "0x186a0" }]);
    let block = json!({ "stateOverrides": { CONTRACT.to_string(): { "code": code } }, "calls": calls });
    let found = blocks(&small, &asked(&json!([block]), 1 << 20), false);
    assert_eq!(found[0]["calls"][0]["status"], "0x0", "0xef is no opcode");
    assert_eq!(found[0]["calls"][0]["gasUsed"], "0x186a0");
    let paid = json!({ "index": "0x0", "validatorIndex": "0x0", "address": CONTRACT, "amount": "0x1" });
    let request = asked(&json!([{ "blockOverrides": { "withdrawals": [paid] } }]), 1 << 20);
    let early = Simulation::Refused { code: -32000, message: "withdrawals set before Shanghai activation".into() };
    assert_eq!(ends(&small, &request, false, &Arc::default()), early);
    let none = asked(&json!([{ "blockOverrides": { "withdrawals": [] } }]), 1 << 20);
    assert_eq!(blocks(&small, &none, false)[0].get("withdrawalsRoot"), None);
}

#[test]
fn an_account_that_is_pretended_is_in_the_state_though_it_is_empty() {
    let small = chain_with_code(Fork::Prague, &LOGS);
    assert!(keep_trie(&small));
    let root = |fields: Value| {
        let accounts = json!({ "0x1ea111bc232fe36dc611c1cfe8505fc65656fd24": fields });
        blocks(&small, &asked(&json!([{ "stateOverrides": accounts }]), 1 << 20), true)[0]["stateRoot"].clone()
    };
    let untouched = root(json!({}));
    assert_eq!(root(json!({ "stateDiff": {} })), untouched);
    let empty = root(json!({ "balance": "0x0" }));
    assert_ne!(empty, untouched, "as in geth, whose overrides leave empty accounts");
    assert_eq!(root(json!({ "nonce": "0x0" })), empty);
    assert_ne!(root(json!({ "stateDiff": { ONES: ONES } })), empty, "with its slots");
}

#[test]
fn storage_that_is_pretended_stays_when_its_account_changes_in_a_later_block() {
    let small = chain_with_code(Fork::Prague, &LOGS);
    assert!(keep_trie(&small));
    let root = |whole: &str, nonce: &str| {
        let first = json!({ "stateOverrides": { CONTRACT.to_string(): { whole: { ONES: ONES } } } });
        let second = json!({ "stateOverrides": { CONTRACT.to_string(): { "nonce": nonce } } });
        blocks(&small, &asked(&json!([first, second]), 1 << 20), true)[1]["stateRoot"].clone()
    };
    // It has no slots of its own, so that both say the same.
    assert_eq!(root("state", "0x7"), root("stateDiff", "0x7"));
    assert_ne!(root("state", "0x7"), root("state", "0x8"));
}

#[test]
fn nobody_is_given_back_a_fee_of_the_operator_that_was_not_charged() {
    let small = chain_with_code(Fork::Isthmus, &LOGS);
    let slot = format!("0x{:064x}", 8);
    let fees = json!({ "0x4200000000000000000000000000000000000015": { "stateDiff": { slot: ONES } } });
    let from = "0x1ea111bc232fe36dc611c1cfe8505fc65656fd24";
    let call = |value: &str| json!({ "to": CONTRACT, "from": from, "gas": "0xf4240", "value": value });
    let request = |second: &str| {
        let block = json!({ "stateOverrides": fees, "calls": [call("0x0"), call(second)] });
        ends(&small, &asked(&json!([block]), 1 << 20), false, &Arc::default())
    };
    assert!(matches!(request("0x0"), Simulation::Done(_)));
    assert!(matches!(request("0x1"), Simulation::Refused { code: -38014, .. }), "it has nothing");
}
