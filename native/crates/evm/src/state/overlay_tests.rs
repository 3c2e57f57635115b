//! Overlays against a plain map of everything.

#![allow(clippy::unwrap_used, reason = "a test")]

use super::*;
use crate::random::Random;
use alloy_primitives::{Bytes, KECCAK256_EMPTY, keccak256};
use std::collections::{BTreeMap, BTreeSet};

const ADDRESSES: u64 = 5;
const SLOTS: u64 = 6;
const CODES: u64 = 4;

#[derive(Clone, Default)]
struct Model {
    accounts: BTreeMap<Address, Option<Account>>,
    slots: BTreeMap<(Address, B256), U256>,
    codes: BTreeSet<B256>,
    wiped: BTreeSet<Address>,
}

fn address(index: u64) -> Address {
    Address::left_padding_from(&[1 + index as u8, 0])
}

fn slot(index: u64) -> B256 {
    B256::with_last_byte(index as u8)
}

fn code(index: u64) -> Bytes {
    Bytes::from(vec![0x5b, index as u8])
}

fn random_diff(random: &mut Random) -> Diff {
    let mut diff = Diff::default();
    let most = if random.once_in(5) { 12 } else { 3 };
    let (mut accounts, mut slots) = (BTreeMap::new(), BTreeMap::new());
    for _ in 0..random.below(most) {
        let account = Account { nonce: random.below(9), balance: U256::ONE, code_hash: KECCAK256_EMPTY };
        accounts.insert(address(random.below(ADDRESSES)), (!random.once_in(4)).then_some(account));
    }
    for _ in 0..random.below(most) {
        let key = (address(random.below(ADDRESSES)), slot(random.below(SLOTS)));
        slots.insert(key, U256::from(random.below(3)));
    }
    if random.once_in(6) {
        diff.wiped.push(address(random.below(ADDRESSES)));
    }
    if random.once_in(8) {
        let code = code(random.below(CODES));
        diff.codes.push((keccak256(&code), code));
    }
    diff.accounts = accounts.into_iter().collect();
    diff.slots = slots.into_iter().map(|((address, slot), value)| (address, slot, value)).collect();
    diff
}

impl Model {
    fn apply(&mut self, diff: &Diff) {
        for address in &diff.wiped {
            self.slots.retain(|(owner, _), _| owner != address);
            self.wiped.insert(*address);
        }
        self.accounts.extend(diff.accounts.iter().copied());
        self.slots.extend(diff.slots.iter().map(|(address, slot, value)| ((*address, *slot), *value)));
        self.codes.extend(diff.codes.iter().map(|(hash, _)| *hash));
    }

    fn check(&self, overlay: &Overlay) {
        for owner in (0..ADDRESSES).map(address) {
            assert_eq!(overlay.account(&owner), self.accounts.get(&owner).copied());
            for slot in (0..SLOTS).map(slot) {
                let zero = self.wiped.contains(&owner).then_some(U256::ZERO);
                assert_eq!(overlay.slot(owner, slot), self.slots.get(&(owner, slot)).copied().or(zero));
            }
        }
        for code in (0..CODES).map(code) {
            let hash = keccak256(&code);
            let found = overlay.code(&hash).map(|found| found.original_bytes());
            assert_eq!(found, self.codes.contains(&hash).then_some(code));
        }
        assert_eq!(overlay.entries(), (self.accounts.len(), self.slots.len()));
    }
}

/// Blocks as flashblocks make them, dropped from above and confirmed from below; every state stays as it was.
#[test]
fn every_state_reads_as_a_plain_map() {
    let mut random = Random::from_env();
    for _ in 0..200 {
        let mut blocks: Vec<(u64, Parts, Vec<Diff>)> = vec![(0, Parts::default(), Vec::new())];
        let mut states: Vec<(Overlay, Model)> = Vec::new();
        for _ in 0..40 {
            match random.below(12) {
                0 => blocks.push((blocks.last().unwrap().0 + 1, Parts::default(), Vec::new())),
                1 if blocks.len() > 1 => drop(blocks.remove(0)),
                2 if blocks.len() > 1 => drop(blocks.pop()),
                _ => {
                    let diff = random_diff(&mut random);
                    let (_, parts, diffs) = blocks.last_mut().unwrap();
                    parts.add(&diff);
                    diffs.push(diff);
                }
            }
            let hash = |number: u64| B256::with_last_byte(number as u8);
            let overlay = Overlay::of(blocks.iter().map(|(number, parts, _)| (parts, *number, hash(*number))));
            let mut model = Model::default();
            for diff in blocks.iter().flat_map(|(.., diffs)| diffs) {
                model.apply(diff);
            }
            model.check(&overlay);
            let top = blocks.last().unwrap().0;
            for (number, ..) in &blocks {
                assert_eq!(overlay.hash(*number), (*number != top).then(|| hash(*number)));
            }
            states.push((overlay, model));
        }
        for (overlay, model) in &states {
            model.check(overlay);
        }
    }
}

fn wide(from: u64, count: u64) -> Diff {
    let slot = |index: u64| (Address::ZERO, B256::from(U256::from(index)), U256::ONE);
    Diff { slots: (from..from + count).map(slot).collect(), ..Default::default() }
}

#[test]
fn a_flashblock_costs_its_own_size_and_few_parts_are_looked_through() {
    let mut parts = Parts::default();
    parts.add(&wide(0, 10_000));
    let mut large = Arc::clone(&parts.0[0]);
    let (mut copied, mut most) = (0, 0);
    for flashblock in 0..1_000 {
        parts.add(&wide(10_000 + flashblock * 10, 10));
        if !Arc::ptr_eq(&large, &parts.0[0]) {
            large = Arc::clone(&parts.0[0]);
            copied += 1;
        }
        most = most.max(parts.0.len());
    }
    assert!(copied <= 4, "ten slots at a time, it was copied {copied} times while it doubled");
    assert!(most <= 7, "{most} parts at once");
    // Flashblocks of one size, as a builder makes them.
    let mut parts = Parts::default();
    let mut probes = 0;
    for flashblock in 0..10 {
        parts.add(&wide(flashblock * 200, 200));
        probes += parts.0.len();
    }
    assert!(probes <= 20, "{probes} parts in ten flashblocks");
}
