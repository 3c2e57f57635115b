#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use super::*;
use crate::base::locks::read;
use alloy_primitives::{Address, U256};

const BUDGET: usize = 100 * SLOT_BYTES + 4 * BLOCK_BYTES;

fn hash(index: u8) -> B256 {
    B256::with_last_byte(index)
}

fn slots(from: u64, count: u64) -> Loaded {
    let mut loaded = Loaded::default();
    for index in from..from + count {
        loaded.slots.insert((Address::ZERO, B256::from(U256::from(index))), U256::from(index));
    }
    loaded
}

fn held(block: &OldBlock) -> usize {
    read(&block.values).slots.len()
}

#[test]
fn all_views_of_a_block_share_what_is_loaded() {
    let history = History::new(BUDGET);
    let (one, other) = (history.open(hash(1)), history.open(hash(1)));
    history.add(&one, slots(0, 10)).unwrap();
    history.add(&other, slots(5, 10)).unwrap();
    assert_eq!((held(&one), held(&other)), (15, 15));
    assert_eq!(history.bytes(), BLOCK_BYTES + 15 * SLOT_BYTES);
}

#[test]
fn the_block_used_longest_ago_goes_first() {
    let history = History::new(BUDGET);
    let [a, b, c] = [1, 2, 3].map(|index| history.open(hash(index)));
    history.add(&a, slots(0, 40)).unwrap();
    history.add(&b, slots(0, 40)).unwrap();
    assert!(history.touch(&a));
    history.add(&c, slots(0, 40)).unwrap();
    assert!(history.touch(&a) && history.touch(&c) && !history.touch(&b));
    assert_eq!((held(&a), held(&b), held(&c)), (40, 0, 40));
    assert!(history.bytes() <= BUDGET);
    // What is handed in for one that has gone is dropped; opened again, it is empty.
    history.add(&b, slots(0, 10)).unwrap();
    assert_eq!(held(&b), 0);
    assert!(history.touch(&history.open(hash(2))));
}

#[test]
fn what_a_call_loads_for_stays_and_others_are_told_that_there_is_no_room() {
    let history = History::new(BUDGET);
    let (a, b) = (history.open(hash(1)), history.open(hash(2)));
    history.hold(&a);
    history.hold(&b);
    history.add(&a, slots(0, 60)).unwrap();
    history.add(&b, slots(0, 30)).unwrap();
    assert!(matches!(history.add(&b, slots(30, 30)), Err(Error::Busy(_))));
    assert_eq!((held(&a), held(&b)), (60, 30));
    history.release(&a);
    history.add(&b, slots(0, 60)).unwrap();
    assert_eq!((held(&a), held(&b)), (0, 60));
    history.release(&b);
    assert!(history.bytes() <= BUDGET);
}

#[test]
fn what_others_left_in_a_block_gives_way_to_a_call_of_it() {
    let history = History::new(BUDGET);
    let block = history.open(hash(1));
    history.hold(&block);
    history.add(&block, slots(0, 90)).unwrap();
    history.add(&block, slots(1_000, 60)).unwrap();
    assert_eq!(held(&block), 60);
    assert_eq!(history.bytes(), BLOCK_BYTES + 60 * SLOT_BYTES);
}

#[test]
fn blocks_that_are_only_opened_count_too() {
    let history = History::new(BUDGET);
    for index in 0..=255 {
        history.open(hash(index));
    }
    assert!(history.bytes() <= BUDGET);
}

#[test]
fn a_value_counts_for_no_less_than_it_takes() {
    for count in [1, 7, 100, 897, 1_793, 10_000] {
        let mut loaded = slots(0, count);
        loaded.accounts.extend((0..count).map(|index| (Address::from_word(B256::from(U256::from(index))), None)));
        loaded.hashes.extend((0..count).map(|index| (index, B256::ZERO)));
        let bytes = |capacity: usize, entry: usize| (capacity * 8 / 7) * (entry + 1);
        let slot = size_of::<((Address, B256), U256)>();
        let account = size_of::<(Address, Option<crate::model::diff::Account>)>();
        let taken = bytes(loaded.slots.capacity(), slot)
            + bytes(loaded.accounts.capacity(), account)
            + bytes(loaded.hashes.capacity(), size_of::<(u64, B256)>());
        assert!(BLOCK_BYTES + bytes_of(&loaded) >= taken, "{count}: {taken}");
    }
}

#[test]
fn nothing_is_left_when_the_chain_begins_anew() {
    let history = History::new(BUDGET);
    let block = history.open(hash(1));
    history.hold(&block);
    history.add(&block, slots(0, 10)).unwrap();
    history.clear();
    assert!(!history.touch(&block));
    assert_eq!((held(&block), history.bytes()), (0, 0));
    let again = history.open(hash(1));
    history.release(&block);
    history.add(&again, slots(0, 10)).unwrap();
    assert_eq!(held(&again), 10);
}
