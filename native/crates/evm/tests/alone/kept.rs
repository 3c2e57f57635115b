//! What calls leave behind: threads keep an EVM each, which must hold neither much memory nor a state.

use crate::alone;
use crate::support::{CONTRACT, Fork, chain_with_code, pool_lane, request, run, with_code};
use alloy_primitives::hex;
use chain_query_evm::{CallRequest, CallResult, Lane, live_bytes};
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

/// Calls itself with all its gas, as deep as it goes.
const DEEP: [u8; 8] = hex!("5f5f5f5f5f305af1");
/// Writes to memory 4 MiB away.
const WIDE: [u8; 7] = hex!("600162400000 52");
/// Writes ten thousand slots of transient storage.
const MANY: [u8; 15] = hex!("6127105b8080 5d 60019003 80 600357");
const LEFT: u64 = 4 << 20;

/// What a run of `code` leaves allocated, on this thread.
fn left_by(fork: Fork, code: &[u8]) -> u64 {
    let (view, other) = (with_code(fork, code), with_code(fork, &[]));
    let request = CallRequest { gas: 200_000_000, ..request(CONTRACT) };
    let lane = Lane::Inline(10_000_000);
    // So that what a call needs at least is there, and what it lacks known.
    assert!(matches!(run(&other, &request, &lane), CallResult::Success(_)));
    run(&view, &request, &Lane::Inline(1));
    let before = live_bytes();
    let result = run(&view, &request, &lane);
    assert!(matches!(result, CallResult::Success(_)), "{result:?}");
    drop(result);
    live_bytes().saturating_sub(before)
}

/// In one test: each allocates what the others would count.
#[test]
fn one_large_call_does_not_hold_its_memory_for_ever() {
    alone(|| {
        for fork in [Fork::Prague, Fork::Isthmus] {
            for (what, code) in [("deep", &DEEP[..]), ("wide", &WIDE), ("many", &MANY)] {
                let left = left_by(fork, code);
                assert!(left < LEFT, "a {what} call left {left} bytes");
            }
            a_chain_ends_although_threads_have_run_calls_on_it(fork);
        }
    });
}

fn a_chain_ends_although_threads_have_run_calls_on_it(fork: Fork) {
    let small = chain_with_code(fork, &hex!("5f5ff3"));
    let view = small.view();
    let (chain, state) = (Arc::downgrade(&small.chain), Arc::downgrade(&view));
    assert!(matches!(run(&view, &request(CONTRACT), &Lane::Inline(1_000)), CallResult::Success(_)));
    let (done, waits) = channel();
    let pooled = Arc::clone(&view);
    assert!(small.chain.pool().submit(move || {
        let result = run(&pooled, &request(CONTRACT), &pool_lane(Duration::from_secs(5)));
        drop(pooled);
        done.send(result).unwrap();
    }));
    assert!(matches!(waits.recv().unwrap(), CallResult::Success(_)));
    drop((view, small));
    assert_eq!(chain.strong_count(), 0, "somebody still holds the chain");
    assert_eq!(state.strong_count(), 0, "somebody still holds the state");
}
