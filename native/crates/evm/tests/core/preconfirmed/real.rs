//! Blocks of OP Sepolia and of op-geth.

use super::case::{Case, open, read_block, seal};
use crate::support::{Fixture, Full, Witness, options, recorded};
use alloy_consensus::Header;
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256, Bytes, U64, keccak256};
use chain_query_evm::{ChainSpec, Diff, Key, Missing, block_from_json, read_header};
use serde_json::Value;
use std::cell::RefCell;

pub fn numbered(number: &u64) -> Vec<u8> {
    keccak256(number.to_be_bytes()).to_vec()
}

/// Real blocks, those that follow each other together.
pub fn op_sepolia(fixtures: &[Fixture]) -> Vec<Case<'_>> {
    let mut groups: Vec<Vec<&Fixture>> = Vec::new();
    for fixture in fixtures {
        match groups.last_mut() {
            Some(group) if group.last().unwrap().expected_block_hash == fixture.parent_header.hash_slow() => {
                group.push(fixture);
            }
            _ => groups.push(vec![fixture]),
        }
    }
    assert_eq!(groups[0].len(), 4, "the first four follow each other");
    groups.into_iter().map(sepolia_case).collect()
}

pub fn sepolia_case<'a>(group: Vec<&'a Fixture>) -> Case<'a> {
    let (spec, parent) = (group[0].spec(), group[0].parent_header.clone());
    let mut blocks = Vec::new();
    for fixture in &group {
        let witness = Witness::new(fixture);
        let chain = open(&spec, options(), &fixture.parent_header);
        let mut block = read_block(&fixture.block());
        let outcome = seal(&chain, &|key| witness.load(key), &block);
        block.header = Header { state_root: witness.root_after(&outcome.diff), ..outcome.header };
        assert_eq!(block.header.hash_slow(), fixture.expected_block_hash);
        blocks.push(alloy_rlp::encode(block));
    }
    // What the first witness does not reach was not changed by its block: it is the same one later.
    let witnesses: Vec<Witness<'a>> = group.iter().map(|fixture| Witness::new(fixture)).collect();
    let find = move |key: &Key| match key {
        Key::BlockHash(number) => Some(numbered(number)),
        key => witnesses.iter().find_map(|witness| witness.load(key)),
    };
    let known: RefCell<HashMap<Key, Option<Vec<u8>>>> = RefCell::default();
    let load = move |key: &Key| known.borrow_mut().entry(*key).or_insert_with(|| find(key)).clone();
    Case { name: format!("OP Sepolia {}", parent.number + 1), spec, parent, blocks, load: Box::new(load) }
}

/// Blocks that op-geth made under Jovian.
pub fn op_geth() -> Case<'static> {
    let recorded: Value = recorded("op");
    let spec = ChainSpec::parse(&recorded["config"].to_string()).unwrap();
    let mut blocks: Vec<Vec<u8>> = recorded["blocks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|block| block_from_json(&spec, &block["block"].to_string()).unwrap())
        .collect();
    let parent = read_header(&blocks.remove(0)).unwrap();
    let mut diff = Diff::default();
    for (address, alloc) in recorded["alloc"].as_object().unwrap() {
        let address: Address = address.parse().unwrap();
        let code: Bytes =
            alloc.get("code").map(|code| serde_json::from_value(code.clone()).unwrap()).unwrap_or_default();
        let account = chain_query_evm::Account {
            nonce: serde_json::from_value::<U64>(alloc["nonce"].clone()).unwrap().to(),
            balance: serde_json::from_value(alloc["balance"].clone()).unwrap(),
            code_hash: keccak256(&code),
        };
        diff.accounts.push((address, Some(account)));
        diff.codes.push((keccak256(&code), code));
        for (slot, value) in alloc.get("storage").and_then(Value::as_object).into_iter().flatten() {
            let value: B256 = serde_json::from_value(value.clone()).unwrap();
            diff.slots.push((address, slot.parse().unwrap(), value.into()));
        }
    }
    full_case("op-geth", spec, parent, blocks, &diff)
}

pub fn full_case(
    name: &str,
    spec: ChainSpec,
    parent: Header,
    blocks: Vec<Vec<u8>>,
    state: &Diff,
) -> Case<'static> {
    let mut full = Full::default();
    full.apply(parent.hash_slow(), state);
    let load = move |key: &Key| match key {
        Key::BlockHash(number) => Some(numbered(number)),
        Key::Code(hash) => full.codes.get(hash).map(|code| code.to_vec()),
        key => full.load(&Missing { as_of: 0, generation: 0, keys: vec![*key] }).pop(),
    };
    Case { name: name.into(), spec, parent, blocks, load: Box::new(load) }
}
