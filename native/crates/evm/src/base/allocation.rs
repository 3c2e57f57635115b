//! Counting what the core holds: memory that it keeps by mistake shows in no other figure, since the C library does not
//! give back all that is freed.

#![allow(unsafe_code, reason = "an allocator is unsafe by its trait; every call is passed on as it came")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicI64, Ordering};

/// The system's allocator, with a count of the bytes that are allocated and not freed. For `#[global_allocator]`.
#[derive(Debug)]
pub struct CountingAllocator;

/// Of all threads, without what each has not told yet.
static LIVE: AtomicI64 = AtomicI64::new(0);
/// What a thread keeps to itself at most, so that threads seldom meet at the count.
const UNTOLD: i64 = 1 << 14;

/// What one thread has allocated and freed since it last told. Memory is often freed by another thread than the one that
/// allocated it: only the sum means anything.
struct Untold(Cell<i64>);

impl Drop for Untold {
    fn drop(&mut self) {
        LIVE.fetch_add(self.0.take(), Ordering::Relaxed);
    }
}

thread_local! {
    static UNTOLD_HERE: Untold = const { Untold(Cell::new(0)) };
}

/// Bytes that were asked for and are not freed; each thread may be a few thousand bytes ahead.
pub fn live_bytes() -> u64 {
    u64::try_from(LIVE.load(Ordering::Relaxed)).unwrap_or(0)
}

fn count(bytes: i64) {
    let told = UNTOLD_HERE.try_with(|Untold(untold)| {
        let sum = untold.get() + bytes;
        if sum.abs() < UNTOLD {
            untold.set(sum);
        } else {
            untold.set(0);
            LIVE.fetch_add(sum, Ordering::Relaxed);
        }
    });
    // A thread that is ending frees more after its own count is gone.
    if told.is_err() {
        LIVE.fetch_add(bytes, Ordering::Relaxed);
    }
}

/// A size as a change of the count. No allocation is larger than `isize::MAX`.
const fn signed(size: usize) -> i64 {
    size as i64
}

// SAFETY: everything is the system's allocator; counting allocates nothing and cannot panic.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        let pointer = unsafe { System.alloc(layout) };
        if !pointer.is_null() {
            count(signed(layout.size()));
        }
        pointer
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as the caller promises.
        let pointer = unsafe { System.alloc_zeroed(layout) };
        if !pointer.is_null() {
            count(signed(layout.size()));
        }
        pointer
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) };
        count(-signed(layout.size()));
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as the caller promises.
        let moved = unsafe { System.realloc(pointer, layout, size) };
        if !moved.is_null() {
            count(signed(size) - signed(layout.size()));
        }
        moved
    }
}
