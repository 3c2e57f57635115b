//! The count of what is held.

use crate::alone;
use chain_query_evm::live_bytes;
use std::sync::mpsc::channel;
use std::thread;

/// What threads have not told yet, and what the test itself needs.
const SLACK: u64 = 64 << 10;
const MIB: usize = 1 << 20;

fn about(expected: u64, what: &str) {
    let live = live_bytes();
    assert!(live.abs_diff(expected) < SLACK, "{what}: {live} for {expected}");
}

#[test]
fn counts_what_is_held_whoever_frees_it() {
    alone(|| {
        let before = live_bytes();
        let mut held = vec![1_u8; 8 * MIB];
        about(before + 8 * MIB as u64, "after an allocation");
        held.reserve_exact(8 * MIB);
        about(before + 16 * MIB as u64, "after it grew");
        held.truncate(MIB);
        held.shrink_to_fit();
        about(before + MIB as u64, "after it shrank");
        drop(held);
        about(before, "after it was freed");
        let zeroed = vec![0_u8; 4 * MIB];
        about(before + 4 * MIB as u64, "with zeros");
        drop(zeroed);

        // Threads that end leave nothing behind, however small what they did: blocks start such threads all the time.
        let (give, take) = channel();
        for _ in 0..500 {
            let give = give.clone();
            thread::spawn(move || give.send(vec![7_u8; 12_000]).unwrap()).join().unwrap();
        }
        let pieces: Vec<Vec<u8>> = take.try_iter().collect();
        about(before + 500 * 12_000, "with what other threads allocated");
        drop(pieces);
        about(before, "after this thread freed it");
    });
}
