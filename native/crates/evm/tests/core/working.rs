//! Blocks that need more than hot state may hold: what was provided for a block stays until it is done with.

use crate::support::{Fork, options, small};
use alloy_consensus::{Block, BlockBody, EMPTY_OMMER_ROOT_HASH, Header, TxEnvelope};
use alloy_eips::eip2935::HISTORY_STORAGE_ADDRESS;
use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::{B256, Bytes, U256, bytes, keccak256};
use alloy_trie::EMPTY_ROOT_HASH;
use chain_query_evm::{Account, Chain, ChainOptions, Execution, HotLimits, Key, Missing, Outcome};
use std::sync::Arc;

/// Reads slots 1,000 to 1 and writes their sum to slot 0. It stands where every block calls it.
const READER: Bytes = bytes!("5f6103e85b8054909101906001900380600457505f5500");
const SLOTS: u64 = 1_000;

/// Room for one entry a shard, and for no code.
fn cramped() -> ChainOptions {
    ChainOptions { hot: HotLimits { window: 4, entries: 1, code_bytes: 1 }, ..options() }
}

fn chain() -> (Arc<Chain>, Header) {
    let genesis = small(Fork::Prague, &serde_json::json!({}));
    let chain = Chain::new(genesis.chain.spec().as_ref().clone(), cramped()).unwrap();
    chain.open(&alloy_rlp::encode(&genesis.outcome.header)).unwrap();
    (Arc::new(chain), genesis.outcome.header)
}

fn block_on(parent: &Header, extra: u8) -> Vec<u8> {
    let header = Header {
        parent_hash: parent.hash_slow(),
        number: parent.number + 1,
        timestamp: parent.timestamp + 1,
        gas_limit: parent.gas_limit,
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        transactions_root: EMPTY_ROOT_HASH,
        withdrawals_root: Some(EMPTY_ROOT_HASH),
        base_fee_per_gas: Some(7),
        blob_gas_used: Some(0),
        excess_blob_gas: Some(0),
        parent_beacon_block_root: Some(B256::ZERO),
        requests_hash: Some(alloy_eips::eip7685::EMPTY_REQUESTS_HASH),
        extra_data: vec![extra].into(),
        ..Default::default()
    };
    let body =
        BlockBody { transactions: Vec::new(), ommers: Vec::new(), withdrawals: Some(Withdrawals::default()) };
    alloy_rlp::encode(Block::<TxEnvelope> { header, body })
}

fn load(key: &Key) -> Vec<u8> {
    match key {
        Key::Account(address) if *address == HISTORY_STORAGE_ADDRESS => {
            alloy_rlp::encode(Account { nonce: 1, balance: U256::ZERO, code_hash: keccak256(&READER) })
        }
        Key::Slot(_, slot) => U256::from_be_bytes(slot.0).to_be_bytes_trimmed_vec(),
        Key::Code(_) => READER.to_vec(),
        _ => Vec::new(),
    }
}

fn provide(chain: &Arc<Chain>, missing: &Missing) {
    let values: Vec<Vec<u8>> = missing.keys.iter().map(load).collect();
    let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
    chain.head_view().unwrap().provide(missing, &values).unwrap();
}

/// Executes until nothing is missing; what it gives, and how many keys each round lacked.
fn complete(chain: &Arc<Chain>, block: &[u8]) -> (Outcome, Vec<usize>) {
    let mut lacked = Vec::new();
    loop {
        match chain.seal(block).unwrap() {
            Execution::Done(outcome) => return (*outcome, lacked),
            Execution::Missing(missing) => {
                lacked.push(missing.keys.len());
                provide(chain, &missing);
            }
        }
        assert!(lacked.len() < 16, "the block is never complete: {lacked:?}");
    }
}

#[test]
fn a_block_is_complete_although_its_keys_evict_each_other() {
    let (chain, parent) = chain();
    let (outcome, lacked) = complete(&chain, &block_on(&parent, 0));
    let sum = U256::from(SLOTS * (SLOTS + 1) / 2);
    assert!(outcome.diff.slots.contains(&(HISTORY_STORAGE_ADDRESS, B256::ZERO, sum)));
    // Each key was asked for once.
    assert!(lacked.iter().sum::<usize>() < SLOTS as usize + 40, "{lacked:?}");
    let (_, slots, ..) = chain.sizes();
    assert!(slots <= 256, "hot state holds {slots} slots");
}

#[test]
fn what_one_block_was_given_is_not_kept_for_another() {
    let (chain, parent) = chain();
    let (first, second) = (block_on(&parent, 1), block_on(&parent, 2));
    let (_, lacked) = complete(&chain, &first);
    // Done with: asked for again, but for what hot state still holds.
    let (_, again) = complete(&chain, &first);
    assert!(again.iter().sum::<usize>() > SLOTS as usize / 2, "{lacked:?} {again:?}");
    // Another block is begun before the first has all it needs.
    let Execution::Missing(missing) = chain.seal(&first).unwrap() else { panic!("nothing was missing") };
    let (_, other) = complete(&chain, &second);
    assert!(other.iter().sum::<usize>() > SLOTS as usize / 2, "{other:?}");
    provide(&chain, &missing);
    complete(&chain, &first);
}

#[test]
fn a_new_head_needs_what_is_of_it() {
    let (chain, parent) = chain();
    let (mut outcome, _) = complete(&chain, &block_on(&parent, 0));
    let Execution::Missing(missing) = chain.seal(&block_on(&parent, 1)).unwrap() else {
        panic!("nothing was missing")
    };
    // The head moves while values are on their way: slot 7 is another one from here on.
    outcome.diff.slots.retain(|(_, slot, _)| !slot.is_zero());
    outcome.diff.slots.push((HISTORY_STORAGE_ADDRESS, B256::with_last_byte(7), U256::from(1_000_007)));
    provide(&chain, &missing);
    chain.apply(&alloy_rlp::encode(&outcome.header), &outcome.diff.encode()).unwrap();
    provide(&chain, &missing);
    let (next, _) = complete(&chain, &block_on(&outcome.header, 0));
    let sum = U256::from(SLOTS * (SLOTS + 1) / 2 + 1_000_000);
    assert!(next.diff.slots.contains(&(HISTORY_STORAGE_ADDRESS, B256::ZERO, sum)));
    // And the old one again when it is taken back.
    chain.revert_to(parent.number).unwrap();
    let (again, _) = complete(&chain, &block_on(&parent, 0));
    assert!(again.diff.slots.contains(&(
        HISTORY_STORAGE_ADDRESS,
        B256::ZERO,
        U256::from(SLOTS * (SLOTS + 1) / 2)
    )));
}
