//! What counts against the limits of a call beside its opcodes: work before the first of them, precompiles that fail,
//! runs that guess, and precompiles at the end of the time.

use crate::support::{CONTRACT, Fork, STEPS, pool_lane, request, run, with_code, with_options};
use alloy_primitives::{B256, U256, address, hex};
use chain_query_evm::{CallRequest, CallResult, Key, Lane, call};
use serde_json::json;
use std::time::{Duration, Instant};

const INLINE: Lane = Lane::Inline(STEPS);

fn code(text: &str) -> Vec<u8> {
    hex::decode(text.replace(' ', "")).unwrap()
}

/// Puts `data` into memory and calls a precompile with it and `gas`, over and over.
fn endless_calls(address: u8, data: &[u8], gas: u32) -> Vec<u8> {
    let mut text = String::new();
    for (index, chunk) in data.chunks(32).enumerate() {
        text += &format!("7f{}61{:04x}52", hex::encode(chunk), index * 32);
    }
    let start = text.len() / 2;
    text += &format!("5b 5f5f 61{:04x} 5f 60{address:02x} 63{gas:08x} fa50 61{start:04x} 56", data.len());
    code(&text)
}

/// A proof of the point at infinity for another value: it fails after all of the work is done.
fn false_kzg_proof() -> Vec<u8> {
    let infinity = format!("c0{}", "00".repeat(47));
    let hash = "010657f37554c781402a22917dee2f75def7ab966d7b770905398eba3c444014";
    code(&format!("{hash}{:064x}{:064x}{infinity}{infinity}", 3, 1))
}

/// Pairs that would hold, and at the end a point that is not on the curve.
fn false_pairing() -> Vec<u8> {
    let g2 = "198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c21800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa";
    let pair = |y: u8| format!("{:064x}{:064x}{g2}", 1, y);
    code(&(pair(2).repeat(4) + &pair(3)))
}

#[test]
fn a_precompile_that_fails_counts_for_all_of_its_gas() {
    let cases = [(10, false_kzg_proof(), 50_000), (8, false_pairing(), 45_000 + 5 * 34_000)];
    for (address, data, gas) in cases {
        let view = with_code(Fork::Osaka, &endless_calls(address, &data, gas));
        // As much gas as the steps of this many failures would be worth.
        let message = CallRequest { gas: 50 * u64::from(gas), ..request(CONTRACT) };
        assert_eq!(run(&view, &message, &INLINE), CallResult::Budget, "precompile {address}");
        let pool = run(&view, &message, &pool_lane(Duration::from_secs(60)));
        assert!(matches!(pool, CallResult::Halt(_)), "precompile {address}: {pool:?}");
    }
}

#[test]
fn a_precompile_that_lacks_gas_costs_next_to_nothing() {
    // 20 calls of a pairing with too little gas, then a stop.
    let body = "5f5f 60c0 5f 6008 61ffff fa50".repeat(20);
    let view = with_code(Fork::Osaka, &code(&format!("{body}00")));
    assert_eq!(run(&view, &request(CONTRACT), &INLINE), CallResult::Success([].into()));
}

#[test]
fn lists_and_overrides_count_before_the_first_opcode() {
    let view = with_code(Fork::Osaka, &code("00"));
    let authorization = json!({ "chainId": "0x0", "address": CONTRACT, "nonce": "0x0", "yParity": "0x0",
        "r": "0x1", "s": "0x1" });
    let hash = |index: usize| B256::from(U256::from(index));
    let keys = |count: usize| (0..count).map(hash).collect::<Vec<_>>();
    let slots = |count: usize| -> serde_json::Map<String, serde_json::Value> {
        (0..count).map(|index| (hash(index).to_string(), json!(hash(1)))).collect()
    };
    let accounts = |count: usize| -> serde_json::Map<String, serde_json::Value> {
        (0..count).map(|index| (format!("0x{index:040x}"), json!({}))).collect()
    };
    let cases = [
        ("authorizations", json!({ "authorizationList": vec![authorization.clone(); 10] }), true),
        ("authorizations", json!({ "authorizationList": vec![authorization; 1_000] }), false),
        ("access list", json!({ "accessList": [{ "address": CONTRACT, "storageKeys": keys(100) }] }), true),
        ("access list", json!({ "accessList": [{ "address": CONTRACT, "storageKeys": keys(20_000) }] }), false),
        ("slots", json!({ "stateOverrides": { CONTRACT.to_string(): { "stateDiff": slots(100) } } }), true),
        ("slots", json!({ "stateOverrides": { CONTRACT.to_string(): { "stateDiff": slots(20_000) } } }), false),
        ("accounts", json!({ "stateOverrides": accounts(100) }), true),
        ("accounts", json!({ "stateOverrides": accounts(20_000) }), false),
    ];
    for (name, options, fits) in cases {
        let message = with_options(request(CONTRACT), &options);
        let expected = if fits { CallResult::Success([].into()) } else { CallResult::Budget };
        assert_eq!(run(&view, &message, &INLINE), expected, "{name}");
        let pool = run(&view, &message, &pool_lane(Duration::from_secs(60)));
        assert_eq!(pool, CallResult::Success([].into()), "{name} in the pool");
    }
    let message = CallRequest { data: vec![0; 3_000_000].into(), gas: u64::MAX, ..request(CONTRACT) };
    assert_eq!(run(&view, &message, &INLINE), CallResult::Budget, "call data");
}

fn missing(lane: &Lane, text: &str) -> Vec<Key> {
    let view = with_code(Fork::Osaka, &code(text));
    match call(&view, &request(CONTRACT), lane) {
        CallResult::Missing(missing) => missing.keys,
        other => panic!("{other:?}"),
    }
}

fn slot(index: u64) -> Key {
    Key::Slot(CONTRACT, B256::from(U256::from(index)))
}

#[test]
fn both_guesses_of_a_round_share_one_budget() {
    // Counts down from N, then reads slot 1 or slot 2 by what slot 0 holds.
    let after =
        |count: u32| format!("63{count:08x} 5b 6001 90 03 80 6005 57 5f54 6017 57 6001 54 00 5b 6002 54 00");
    let few = missing(&INLINE, &after(100));
    assert!([0, 1, 2].iter().all(|index| few.contains(&slot(*index))), "{few:?}");
    // Most of the steps are gone when the first run comes to its end: the second does not get there.
    let most = u32::try_from(STEPS * 9 / 10).unwrap();
    let many = missing(&INLINE, &after(most));
    assert!(many.contains(&slot(1)) && !many.contains(&slot(2)), "{many:?}");
    let pool = missing(&pool_lane(Duration::from_secs(60)), &after(most));
    assert!([0, 1, 2].iter().all(|index| pool.contains(&slot(*index))), "{pool:?}");
}

#[test]
fn a_run_lacks_no_more_keys_than_can_be_handed_in_at_once() {
    // Asks for the balance of one address after another.
    let text = "7f00000000000000000000000000000000000000000000001234567800000000005b 6001 01 80 31 50 6021 56";
    for lane in [INLINE, pool_lane(Duration::from_secs(60))] {
        let keys = missing(&lane, text).len();
        assert!((1_000..=2_048).contains(&keys), "{keys} keys");
    }
}

#[test]
fn one_precompile_takes_no_more_than_the_time_that_is_left() {
    let data = [&0x7fff_ffff_u32.to_be_bytes()[..], &[0; 208], &[1]].concat();
    let blake = address!("0000000000000000000000000000000000000009");
    let view = with_code(Fork::Osaka, &[]);
    let message = CallRequest { data: data.into(), gas: 3_000_000_000, ..request(blake) };
    let start = Instant::now();
    assert_eq!(run(&view, &message, &pool_lane(Duration::from_millis(50))), CallResult::Timeout);
    assert!(start.elapsed() < Duration::from_secs(2), "two milliards of rounds take half a minute");
    // What fits into the time is not refused for its gas.
    let data = [&1_000_u32.to_be_bytes()[..], &[0; 208], &[1]].concat();
    let message = CallRequest { data: data.into(), ..message };
    let short = run(&view, &message, &pool_lane(Duration::from_secs(60)));
    assert!(matches!(short, CallResult::Success(_)), "{short:?}");
}
