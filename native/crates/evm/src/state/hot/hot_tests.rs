//! Hot state against a model that keeps the whole state of every block.

#![allow(clippy::unwrap_used, reason = "a test")]

use super::*;
use crate::random::Random;
use alloy_primitives::Bytes;
use std::collections::BTreeMap;

const WINDOW: usize = 5;
const ADDRESSES: u64 = 6;
const SLOTS: u64 = 4;

#[derive(Clone, Default)]
struct State {
    accounts: BTreeMap<Address, Account>,
    slots: BTreeMap<(Address, B256), U256>,
}

struct Model {
    hot: HotState,
    /// State after each block since the last `open`, with its hash and what changed.
    blocks: Vec<(Header, B256, State)>,
    random: Random,
    /// Values that were asked for in the past and come late.
    late: Vec<(Missing, Vec<Loaded>)>,
    known: usize,
    unknown: usize,
}

#[derive(Clone, Copy)]
enum Loaded {
    Account(Address, Option<Account>),
    Slot(Address, B256, U256),
}

fn address(random: &mut Random) -> Address {
    Address::left_padding_from(&[1 + random.below(ADDRESSES) as u8, 0])
}

fn slot(random: &mut Random) -> B256 {
    B256::left_padding_from(&[1 + random.below(SLOTS) as u8, 0])
}

fn account(random: &mut Random) -> Account {
    Account { nonce: random.below(100), balance: U256::from(random.next()), code_hash: KECCAK256_EMPTY }
}

impl Model {
    fn new(mut random: Random, entries: usize) -> Self {
        let window = 1 + random.below(WINDOW as u64) as usize;
        let hot = HotState::new(HotLimits { window, entries, code_bytes: 1000 });
        let mut model = Self { hot, blocks: Vec::new(), random, late: Vec::new(), known: 0, unknown: 0 };
        model.open();
        model
    }

    fn open(&mut self) {
        let mut state = State::default();
        for _ in 0..8 {
            state.accounts.insert(address(&mut self.random), account(&mut self.random));
            let value = U256::from(1 + self.random.below(1000));
            state.slots.insert((address(&mut self.random), slot(&mut self.random)), value);
        }
        let header = Header { number: self.random.below(1000), ..self.header() };
        let hash = header.hash_slow();
        self.hot.open(hash, header.clone());
        self.blocks = vec![(header, hash, state)];
    }

    fn header(&mut self) -> Header {
        Header { extra_data: Bytes::from(self.random.bytes(8)), ..Default::default() }
    }

    fn apply(&mut self) {
        let (parent, hash, state) = self.blocks.last().unwrap();
        let (number, parent_hash, mut state) = (parent.number + 1, *hash, state.clone());
        let mut diff = Diff::default();
        let mut slots = BTreeMap::new();
        let mut accounts = BTreeMap::new();
        for _ in 0..self.random.below(3) {
            let there = !self.random.once_in(4);
            accounts.insert(address(&mut self.random), there.then(|| account(&mut self.random)));
        }
        if self.random.once_in(3) {
            let wiped = address(&mut self.random);
            diff.wiped.push(wiped);
            state.slots.retain(|(owner, _), _| *owner != wiped);
        }
        for _ in 0..self.random.below(4) {
            let key = (address(&mut self.random), slot(&mut self.random));
            slots.insert(key, U256::from(self.random.below(4)));
        }
        diff.accounts.extend(accounts.iter().map(|(address, account)| (*address, *account)));
        diff.slots.extend(slots.iter().map(|((address, slot), value)| (*address, *slot, *value)));
        for (address, after) in accounts {
            match after {
                Some(after) => state.accounts.insert(address, after),
                None => state.accounts.remove(&address),
            };
        }
        state.slots.extend(slots);
        let header = Header { number, parent_hash, ..self.header() };
        let hash = header.hash_slow();
        self.hot.apply(hash, header.clone(), diff).unwrap();
        self.blocks.push((header, hash, state));
    }

    fn revert(&mut self) {
        let (start, head) = (self.hot.start(), self.blocks.last().unwrap().0.number);
        let to = start + self.random.below(head - start + 1);
        self.hot.revert_to(to).unwrap();
        self.blocks.retain(|(header, ..)| header.number <= to);
        assert!(start == 0 || self.hot.revert_to(start - 1).is_err());
    }

    fn at(&self, number: u64) -> &State {
        &self.blocks.iter().find(|(header, ..)| header.number == number).unwrap().2
    }

    /// Asks for keys as of the window's start, as a run that lacks them does.
    fn ask(&mut self) {
        let mut values = Vec::new();
        for _ in 0..1 + self.random.below(4) {
            let (address, slot) = (address(&mut self.random), slot(&mut self.random));
            let state = self.at(self.hot.start());
            values.push(Loaded::Account(address, state.accounts.get(&address).copied()));
            values.push(Loaded::Slot(
                address,
                slot,
                state.slots.get(&(address, slot)).copied().unwrap_or_default(),
            ));
        }
        let missing = Missing { as_of: self.hot.start(), generation: self.hot.generation(), keys: Vec::new() };
        self.late.push((missing, values));
    }

    /// Hands in what was asked for, maybe long ago.
    fn load(&mut self) {
        if self.late.is_empty() {
            return;
        }
        let index = self.random.below(self.late.len() as u64) as usize;
        let (missing, values) = self.late.swap_remove(index);
        let Some(_held) = self.hot.hold(&missing) else { return };
        for value in values {
            match value {
                Loaded::Account(address, account) => self.hot.put_account(address, account),
                Loaded::Slot(address, slot, value) => self.hot.put_slot(address, slot, value),
            }
        }
    }

    /// Every read of every block of the window is right or unknown.
    fn check(&mut self) {
        let start = self.hot.start();
        let first = self.blocks.first().unwrap().0.number;
        for (header, hash, state) in &self.blocks {
            if header.number + 256 > start {
                assert_eq!(self.hot.hash(header.number), Some(*hash));
            }
            if header.number < start {
                continue;
            }
            for index in 1..=ADDRESSES {
                let address = Address::left_padding_from(&[index as u8, 0]);
                match self.hot.account(address, header.number) {
                    Some(found) => assert_eq!(found, state.accounts.get(&address).copied()),
                    None => self.unknown += 1,
                }
                for slot in 1..=SLOTS {
                    let slot = B256::left_padding_from(&[slot as u8, 0]);
                    match self.hot.slot(address, slot, header.number) {
                        Some(found) => {
                            self.known += 1;
                            let right = state.slots.get(&(address, slot)).copied().unwrap_or_default();
                            assert_eq!(found, right, "{address} {slot} at {} of {start}", header.number);
                        }
                        None => self.unknown += 1,
                    }
                }
            }
        }
        assert!(self.hot.block(first.wrapping_sub(1)).is_none());
    }

    fn step(&mut self) {
        match self.random.below(100) {
            0 => self.open(),
            1..30 => self.apply(),
            30..40 => self.revert(),
            40..70 => self.ask(),
            _ => self.load(),
        }
        self.check();
    }
}

#[test]
fn every_read_is_right_or_unknown() {
    let mut random = Random::from_env();
    let (mut known, mut unknown) = (0, 0);
    for _ in 0..60 {
        // One entry a shard evicts all the time, many never.
        let entries = if random.once_in(2) { SHARDS } else { 1 << 20 };
        let mut model = Model::new(Random::from_seed(random.next()), entries);
        for _ in 0..400 {
            model.step();
        }
        known += model.known;
        unknown += model.unknown;
    }
    assert!(known > 10_000 && unknown > 10_000, "both happen: {known} {unknown}");
}

#[test]
fn a_block_must_follow_the_head() {
    let mut model = Model::new(Random::from_seed(1), 1 << 20);
    let header = Header { number: model.blocks[0].0.number + 1, ..Default::default() };
    let refused = model.hot.apply(header.hash_slow(), header, Diff::default());
    assert!(matches!(refused, Err(Error::InvalidBlock(text)) if text.contains("does not follow the head")));
    model.apply();
    model.check();
}

#[test]
fn what_left_the_window_is_evicted_without_loads() {
    let hot = HotState::new(HotLimits { window: 2, entries: 1024, code_bytes: 0 });
    let mut random = Random::from_seed(7);
    let mut parent = Header::default();
    hot.open(parent.hash_slow(), parent.clone());
    for number in 1..=400 {
        let header = Header { number, parent_hash: parent.hash_slow(), ..Default::default() };
        let mut diff = Diff::default();
        for _ in 0..100 {
            diff.slots.push((Address::from(random.array()), B256::from(random.array()), U256::ONE));
        }
        hot.apply(header.hash_slow(), header.clone(), diff).unwrap();
        parent = header;
    }
    let (_, slots) = hot.entries();
    assert!(slots < 1500, "40,000 were written, {slots} are held");
}

#[test]
fn code_deployed_in_the_window_is_kept() {
    let hot = HotState::new(HotLimits { window: 2, entries: 1024, code_bytes: 100 });
    let genesis = Header::default();
    hot.open(genesis.hash_slow(), genesis.clone());
    let code = |fill: u8| Bytes::from(vec![fill; 60]);
    let hash = |fill: u8| alloy_primitives::keccak256(code(fill));
    hot.put_code(hash(1), bytecode(code(1)));
    let header = Header { number: 1, parent_hash: genesis.hash_slow(), ..Default::default() };
    // The same code again: from here on it is of the window.
    let diff = Diff { codes: vec![(hash(1), code(1))], ..Default::default() };
    hot.apply(header.hash_slow(), header, diff).unwrap();
    hot.put_code(hash(2), bytecode(code(2)));
    hot.put_code(hash(3), bytecode(code(3)));
    assert!(hot.code(&hash(1)).is_some() && hot.code(&hash(2)).is_none() && hot.code(&hash(3)).is_some());
}

/// Reads of keys whose popularity falls with their rank, as those of a chain do, with others in between that nobody asks
/// for again. What is not there is loaded.
fn hit_rate(hot: &HotState, random: &mut Random, keys: u64, reads: u64) -> f64 {
    let weights: Vec<f64> = (1..=keys).map(|rank| 1.0 / rank as f64).collect();
    let total: f64 = weights.iter().sum();
    let bounds: Vec<f64> = weights
        .iter()
        .scan(0.0, |sum, weight| {
            *sum += weight / total;
            Some(*sum)
        })
        .collect();
    let owner = Address::repeat_byte(7);
    let (mut asked, mut hits) = (0_u32, 0_u32);
    for read in 0..reads {
        let share = random.next() as f64 / u64::MAX as f64;
        let rank = bounds.partition_point(|bound| *bound < share) as u64;
        let is_popular = !random.once_in(8);
        let slot = if is_popular { B256::from(U256::from(rank)) } else { B256::from(random.array()) };
        let found = hot.slot(owner, slot, 0).is_some();
        if !found {
            hot.put_slot(owner, slot, U256::ONE);
        }
        if is_popular && read > reads / 4 {
            asked += 1;
            hits += u32::from(found);
        }
    }
    f64::from(hits) / f64::from(asked)
}

#[test]
fn what_is_read_often_stays() {
    let mut random = Random::from_env();
    let hot = HotState::new(HotLimits { window: 2, entries: 2_000, code_bytes: 0 });
    let genesis = Header::default();
    hot.open(genesis.hash_slow(), genesis);
    let rate = hit_rate(&hot, &mut random, 10_000, 400_000);
    println!("hit rate {rate:.3}");
    assert!(rate >= 0.70, "of what is read often, {rate:.2} is there");
    let (_, slots) = hot.entries();
    assert!(slots <= 2_000, "{slots} are held");
}

#[test]
fn a_full_code_cache_drops_a_part() {
    let hot = HotState::new(HotLimits { window: 2, entries: 1024, code_bytes: 64 << 10 });
    let genesis = Header::default();
    hot.open(genesis.hash_slow(), genesis);
    let code = |index: u32| Bytes::from([&index.to_be_bytes()[..], &[0_u8; 1020]].concat());
    let hash = |index: u32| alloy_primitives::keccak256(code(index));
    let put = |index: u32| hot.put_code(hash(index), bytecode(code(index)));
    let held = |range: std::ops::Range<u32>| range.filter(|index| hot.code(&hash(*index)).is_some()).count();
    for index in 0..64 {
        put(index);
    }
    assert_eq!(held(0..8), 8);
    put(64);
    // The first eight were read since, and each other of them could go.
    assert!(hot.code_bytes() <= 64 << 10 && held(0..65) > 50, "{} of 65 are held", held(0..65));
    assert_eq!(held(0..8), 8);
}
