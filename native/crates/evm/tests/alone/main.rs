//! Tests that count what the whole process holds or time what holds a thread: in a program of their own, one after another.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod allocation;
mod hold;
mod kept;

#[path = "../support/mod.rs"]
mod support;

use chain_query_evm::CountingAllocator;
use std::sync::{Mutex, PoisonError};
use std::thread;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

static TURN: Mutex<()> = Mutex::new(());

/// Runs a test while no other runs, which would be counted and timed with it; in a thread of its own, which ends with
/// what it kept before the next one begins.
fn alone(test: fn()) {
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    assert!(thread::spawn(test).join().is_ok(), "see above");
}
