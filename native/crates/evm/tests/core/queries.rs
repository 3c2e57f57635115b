//! Estimates and access lists. Whether they equal geth's is for the differential test.

use crate::support::{CONTRACT, Fork, GAS, ask, pool_lane, request, run, small, with_code, with_options};
use alloy_primitives::{Address, address, hex};
use chain_query_evm::{CallRequest, CallResult, Lane, Query};
use serde_json::json;
use std::time::Duration;

const INLINE: Lane = Lane::Inline(u64::MAX);
const OTHER: Address = address!("00000000000000000000000000000000000000ff");

fn json_of(result: CallResult) -> serde_json::Value {
    let CallResult::Json(text) = result else { panic!("{result:?}") };
    serde_json::from_str(&text).unwrap()
}

/// Without a gas, as most estimates are asked for.
fn bare(to: Address) -> CallRequest {
    CallRequest { gas: 0, ..request(to) }
}

fn estimate(fork: Fork, code: &str, request: &CallRequest) -> CallResult {
    ask(&with_code(fork, &hex::decode(code).unwrap()), request, &Query::Estimate(GAS), &INLINE)
}

#[test]
fn an_estimate_suffices_and_little_less_does_not() {
    // Writes a slot, clears it again, and calls with all but a bit of its gas.
    let code = hex::decode("600160005560006000556000600060006000600060ff61ffff5af15000").unwrap();
    let view = with_code(Fork::Prague, &code);
    let gas = json_of(ask(&view, &bare(CONTRACT), &Query::Estimate(GAS), &INLINE));
    let gas = u64::from_str_radix(gas.as_str().unwrap().trim_start_matches("0x"), 16).unwrap();
    let with = |gas| run(&view, &CallRequest { gas, ..request(CONTRACT) }, &INLINE);
    assert!(matches!(with(gas), CallResult::Success(_)));
    assert!(matches!(with(gas - gas / 50), CallResult::Halt(_)), "no more than 1.5 % too much");
    let pooled = ask(&view, &bare(CONTRACT), &Query::Estimate(GAS), &pool_lane(Duration::from_secs(60)));
    assert_eq!(json_of(pooled), format!("0x{gas:x}"));
}

#[test]
fn a_plain_transfer_needs_what_a_transfer_needs() {
    assert_eq!(json_of(estimate(Fork::Prague, "00", &bare(OTHER))), "0x5208");
    let listed = with_options(bare(OTHER), &json!({ "accessList": [{ "address": OTHER, "storageKeys": [] }] }));
    assert_ne!(json_of(estimate(Fork::Prague, "00", &listed)), "0x5208", "the list costs, too");
}

#[test]
fn an_estimate_fails_as_the_call_does() {
    assert_eq!(estimate(Fork::Prague, "60016000fd", &bare(CONTRACT)), CallResult::Revert([0].into()));
    assert_eq!(estimate(Fork::Prague, "fe", &bare(CONTRACT)), CallResult::Halt("invalid opcode: INVALID".into()));
    let poor = with_options(bare(CONTRACT), &json!({ "gasPrice": "0x1" }));
    let words = CallResult::Invalid("insufficient funds for transfer".into());
    assert_eq!(estimate(Fork::Prague, "00", &poor), words);
}

#[test]
fn an_estimate_is_of_no_more_than_there_may_be() {
    let endless = "5b600056";
    let exceeds = |gas: u64| CallResult::Invalid(format!("gas required exceeds allowance ({gas})"));
    assert_eq!(estimate(Fork::Prague, endless, &bare(CONTRACT)), exceeds(GAS), "of the cap");
    assert_eq!(estimate(Fork::Osaka, endless, &bare(CONTRACT)), exceeds(1 << 24), "of the fork");
    let given = CallRequest { gas: 30_000, ..request(CONTRACT) };
    assert_eq!(estimate(Fork::Prague, endless, &given), exceeds(30_000), "of what is given");
    let rich =
        json!({ "gasPrice": "0x10", "stateOverrides": { Address::ZERO.to_string(): { "balance": "0x100000" } } });
    let paid = with_options(bare(CONTRACT), &rich);
    assert_eq!(estimate(Fork::Prague, endless, &paid), exceeds(0x10000), "of what is paid for");
}

#[test]
fn all_runs_of_an_estimate_share_one_budget() {
    // A loop of a few thousand rounds: each run is short enough, all of them together are not.
    let code = hex::decode("6107d05b6001900380600357").unwrap();
    let view = with_code(Fork::Prague, &code);
    let steps = Lane::Inline(3_000);
    assert!(matches!(run(&view, &request(CONTRACT), &steps), CallResult::Success(_)));
    assert_eq!(ask(&view, &bare(CONTRACT), &Query::Estimate(GAS), &steps), CallResult::Budget);
    let late = ask(&view, &bare(CONTRACT), &Query::Estimate(GAS), &pool_lane(Duration::ZERO));
    assert_eq!(late, CallResult::Timeout);
}

#[test]
fn an_access_list_names_what_is_not_warm_anyway() {
    // A slot of its own, the balance of another, of a precompile and of the caller; then it fails.
    let code = hex::decode("60075450").unwrap();
    let other = "60ff3150600131503331505b";
    for (end, error) in [("00", None), ("60006000fd", Some("execution reverted"))] {
        let alloc = json!({ CONTRACT.to_string(): {
            "balance": "0x0", "code": format!("0x{}{other}{end}", hex::encode(&code)) } });
        let view = small(Fork::Prague, &alloc).view();
        let made = json_of(ask(&view, &request(CONTRACT), &Query::AccessList, &INLINE));
        let slot = format!("0x{:064x}", 7);
        let list =
            json!([{ "address": OTHER, "storageKeys": [] }, { "address": CONTRACT, "storageKeys": [slot] }]);
        assert_eq!(made["accessList"], list);
        assert_eq!(made.get("error").and_then(serde_json::Value::as_str), error);
        assert!(made["gasUsed"].as_str().is_some_and(|gas| gas.starts_with("0x")));
    }
}
