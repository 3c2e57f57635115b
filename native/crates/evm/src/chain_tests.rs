//! Views that are read while a writer applies and takes back blocks.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test")]

use super::*;
use crate::model::diff::{Account, encode_account};
use crate::model::key::{Key, Missing};
use crate::random::Random;
use crate::state::view::Read;
use alloy_primitives::{Address, KECCAK256_EMPTY, U256};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

const KEYS: u8 = 8;

fn address(index: u8) -> Address {
    let mut address = Address::with_last_byte(index);
    address[0] = index;
    address
}

fn slot(index: u8) -> B256 {
    B256::with_last_byte(index)
}

/// What each key holds after one block.
#[derive(Clone, Copy, Default, PartialEq, Debug)]
struct State {
    nonces: [u64; KEYS as usize],
    slots: [u64; KEYS as usize],
}

#[derive(Default)]
struct Truth {
    /// The canonical chain, as a store has it.
    chain: BTreeMap<u64, State>,
    /// Blocks that were ever the head, to be read.
    recent: Vec<(Header, State)>,
}

fn chain() -> Arc<Chain> {
    let options = ChainOptions {
        // As few as there can be: what is not of the window is evicted all the time.
        hot: HotLimits { window: 6, entries: 1, code_bytes: 1 },
        history_bytes: 1 << 24,
        pool_threads: 1,
        pool_queue: 1,
        max_block_gas: u64::MAX,
        trie_keys: 100_000,
    };
    Arc::new(Chain::new(ChainSpec::parse(r#"{ "chainId": 1 }"#).unwrap(), options).unwrap())
}

fn next_block(random: &mut Random, before: State) -> (State, Diff) {
    let mut after = before;
    let mut diff = Diff::default();
    for index in 0..KEYS {
        let at = usize::from(index);
        if random.once_in(20) {
            diff.wiped.push(address(index));
            after.slots[at] = 0;
        }
        if random.once_in(12) {
            after.nonces[at] = random.next();
            let nonce = after.nonces[at];
            let account = Account { nonce, balance: U256::ZERO, code_hash: KECCAK256_EMPTY };
            diff.accounts.push((address(index), Some(account)));
        }
        if random.once_in(12) {
            after.slots[at] = random.next();
            diff.slots.push((address(index), slot(index), U256::from(after.slots[at])));
        }
    }
    (after, diff)
}

/// Applies and takes back blocks; truth is written before the block can be seen.
fn write_blocks(chain: &Chain, truth: &Mutex<Truth>, random: &mut Random, mut head: (Header, State), seen: &Seen) {
    let mut branch = vec![head.clone()];
    for round in 0..200_000 {
        // On a busy machine readers may seldom run while a block leaves: go on until that was seen too.
        if round >= 2_000 && seen.outdated.load(Ordering::Relaxed) > 10 {
            break;
        }
        std::thread::yield_now();
        if random.once_in(6) {
            let start = chain.core.hot.start();
            let to = start + random.below(head.0.number - start + 1);
            chain.revert_to(to).unwrap();
            branch.retain(|(header, _)| header.number <= to);
            head = branch.last().unwrap().clone();
            truth.lock().unwrap().chain.split_off(&(to + 1));
            continue;
        }
        let (state, diff) = next_block(random, head.1);
        let header = Header {
            number: head.0.number + 1,
            parent_hash: head.0.hash_slow(),
            extra_data: random.bytes(8).into(),
            ..Default::default()
        };
        {
            let mut truth = truth.lock().unwrap();
            truth.chain.insert(header.number, state);
            if truth.recent.len() > 64 {
                truth.recent.drain(..32);
            }
            truth.recent.push((header.clone(), state));
        }
        chain.core.hot.apply(header.hash_slow(), header.clone(), diff).unwrap();
        head = (header, state);
        branch.push(head.clone());
        if branch.len() > 64 {
            branch.drain(..32);
        }
    }
}

/// Loads a key as of a block of the canonical chain, as a store does.
fn load(truth: &Mutex<Truth>, missing: &Missing) -> Option<Vec<u8>> {
    let truth = truth.lock().unwrap();
    let state = truth.chain.get(&missing.as_of)?;
    Some(match missing.keys[0] {
        Key::Account(address) => {
            let nonce = state.nonces[usize::from(address[19])];
            encode_account(Some(&Account { nonce, balance: U256::ZERO, code_hash: KECCAK256_EMPTY }))
        }
        Key::Slot(_, slot) => U256::from(state.slots[usize::from(slot[31])]).to_be_bytes_trimmed_vec(),
        _ => panic!("no other key is read"),
    })
}

/// Counts of what reads gave.
#[derive(Default)]
struct Seen {
    values: AtomicU64,
    missing: AtomicU64,
    outdated: AtomicU64,
}

fn read_blocks(chain: &Arc<Chain>, truth: &Mutex<Truth>, random: &mut Random, stop: &AtomicBool, seen: &Seen) {
    // Values that come late: the window has moved on since they were asked for, or not.
    let mut late: Vec<(Missing, Vec<u8>)> = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let (header, state) = {
            let recent = &truth.lock().unwrap().recent;
            recent[recent.len() - 1 - random.below(recent.len().min(8) as u64) as usize].clone()
        };
        let view = chain.view(&alloy_rlp::encode(&header)).unwrap();
        if !view.is_hot() {
            continue;
        }
        for (missing, value) in late.drain(..) {
            view.provide(&missing, &[&value]).unwrap();
        }
        for _ in 0..32 {
            let index = random.below(u64::from(KEYS)) as u8;
            let (right, read) = if random.once_in(2) {
                let read = match view.account(address(index)) {
                    Read::Value(account) => Read::Value(account.map_or(0, |account| account.nonce)),
                    Read::Missing(missing) => Read::Missing(missing),
                    Read::Outdated => Read::Outdated,
                };
                (state.nonces[usize::from(index)], read)
            } else {
                let read = match view.slot(address(index), slot(index)) {
                    Read::Value(value) => Read::Value(value.to::<u64>()),
                    Read::Missing(missing) => Read::Missing(missing),
                    Read::Outdated => Read::Outdated,
                };
                (state.slots[usize::from(index)], read)
            };
            match read {
                Read::Value(value) => {
                    assert_eq!(value, right, "key {index} of block {}", header.number);
                    seen.values.fetch_add(1, Ordering::Relaxed);
                }
                Read::Missing(missing) => {
                    seen.missing.fetch_add(1, Ordering::Relaxed);
                    let Some(value) = load(truth, &missing) else { continue };
                    if random.once_in(8) {
                        late.push((missing, value));
                    } else {
                        view.provide(&missing, &[&value]).unwrap();
                    }
                }
                Read::Outdated => {
                    seen.outdated.fetch_add(1, Ordering::Relaxed);
                    break;
                }
            }
        }
    }
}

#[test]
fn a_read_is_of_its_block_while_the_chain_moves() {
    let mut random = Random::from_env();
    let chain = chain();
    let first = Header { number: 100, ..Default::default() };
    chain.open(&alloy_rlp::encode(&first)).unwrap();
    let truth = Mutex::new(Truth::default());
    truth.lock().unwrap().chain.insert(100, State::default());
    truth.lock().unwrap().recent.push((first.clone(), State::default()));
    let (stop, seen) = (AtomicBool::new(false), Seen::default());
    std::thread::scope(|scope| {
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let mut random = Random::from_seed(random.next());
                let (chain, truth, stop, seen) = (&chain, &truth, &stop, &seen);
                scope.spawn(move || read_blocks(chain, truth, &mut random, stop, seen))
            })
            .collect();
        write_blocks(&chain, &truth, &mut random, (first, State::default()), &seen);
        stop.store(true, Ordering::Relaxed);
        for reader in readers {
            reader.join().unwrap();
        }
    });
    let [values, missing, outdated] =
        [&seen.values, &seen.missing, &seen.outdated].map(|count| count.load(Ordering::Relaxed));
    println!("{values} values, {missing} missing, {outdated} outdated");
    assert!(values > 1_000 && missing > 100 && outdated > 10, "each happens");
}

#[test]
fn an_older_block_reads_only_what_was_loaded_for_it() {
    let chain = chain();
    chain.open(&alloy_rlp::encode(Header { number: 100, ..Default::default() })).unwrap();
    let old = Header { number: 7, ..Default::default() };
    let view = chain.view(&alloy_rlp::encode(&old)).unwrap();
    let Read::Missing(missing) = view.slot(address(1), slot(1)) else { panic!("nothing is known yet") };
    assert_eq!((missing.as_of, missing.keys.as_slice()), (7, &[Key::Slot(address(1), slot(1))][..]));
    view.provide(&missing, &[&[5]]).unwrap();
    assert_eq!(view.slot(address(1), slot(1)), Read::Value(U256::from(5)));
    assert!(chain.core.hot.slot(address(1), slot(1), 100).is_none(), "hot state does not take it");
}

#[test]
fn loaded_values_are_checked() {
    let chain = chain();
    chain.open(&alloy_rlp::encode(Header { number: 100, ..Default::default() })).unwrap();
    let view = chain.head_view().unwrap();
    let missing = |key| Missing { as_of: 100, generation: chain.core.hot.generation(), keys: vec![key] };
    assert!(view.provide(&missing(Key::Code(B256::ZERO)), &[&[1]]).is_err(), "code has its hash");
    assert!(view.provide(&missing(Key::Slot(address(0), slot(0))), &[&[1; 33]]).is_err());
    assert!(view.provide(&missing(Key::Account(address(0))), &[&[0xc0]]).is_err());
    assert!(view.provide(&missing(Key::BlockHash(1)), &[&[0; 31]]).is_err());
    assert!(view.provide(&missing(Key::BlockHash(1)), &[]).is_err());
}

#[test]
fn block_hashes_stay_known_to_the_next_view_of_the_head() {
    let chain = chain();
    chain.open(&alloy_rlp::encode(Header { number: 100, ..Default::default() })).unwrap();
    let missing = Missing { as_of: 100, generation: chain.core.hot.generation(), keys: vec![Key::BlockHash(42)] };
    chain.head_view().unwrap().provide(&missing, &[&[9; 32]]).unwrap();
    assert_eq!(chain.head_view().unwrap().find_hash(42), Some(B256::repeat_byte(9)));
}
