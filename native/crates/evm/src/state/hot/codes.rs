//! Code by its hash, bounded by bytes.

use super::clock::{Clock, Verdict};
use alloy_primitives::B256;
use alloy_primitives::map::B256Map;
use revm::bytecode::Bytecode;
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug)]
struct HeldCode {
    code: Bytecode,
    /// The block that deployed it: while it is in the window no store need have it.
    since: u64,
    /// Whether it was read since the clock came by.
    used: AtomicBool,
}

#[derive(Debug, Default)]
pub(super) struct Codes {
    by_hash: B256Map<HeldCode>,
    bytes: usize,
    clock: Clock,
}

impl Codes {
    pub(super) fn get(&self, hash: &B256) -> Option<Bytecode> {
        let held = self.by_hash.get(hash)?;
        // Written only the first time: many threads read the same few contracts.
        if !held.used.load(Ordering::Relaxed) {
            held.used.store(true, Ordering::Relaxed);
        }
        Some(held.code.clone())
    }

    /// Keeps code that was deployed at `since`, with `start` the first block of the window. What is too much goes, and an
    /// eighth with it, so that it is not looked for each time.
    pub(super) fn put(&mut self, hash: B256, code: Bytecode, since: u64, start: u64, limit: usize) {
        if let Some(held) = self.by_hash.get_mut(&hash) {
            held.since = held.since.max(since);
            return;
        }
        self.bytes += code.len();
        if self.bytes > limit {
            let bytes = &mut self.bytes;
            let room = *bytes - limit + limit / 8;
            self.clock.sweep(&mut self.by_hash, room, |held| {
                if held.since > start {
                    return Verdict::Stays;
                }
                if held.used.swap(false, Ordering::Relaxed) {
                    return Verdict::Spared;
                }
                *bytes -= held.code.len();
                Verdict::Goes(held.code.len())
            });
        }
        self.by_hash.insert(hash, HeldCode { code, since, used: AtomicBool::new(false) });
    }

    /// Bytes held.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }
}
