//! A store in memory, and the conformance chain to fill it from.

use super::test_data;
use alloy_consensus::{Block, TxEnvelope};
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256, Bytes, U256};
use alloy_rlp::Decodable;
use chain_query_evm::{Account, Chain, Diff, Error, Execution, Key, Missing, Outcome};
use std::sync::Arc;

/// The conformance chain: its genesis file and its blocks (RLP).
pub struct Conformance {
    pub genesis: String,
    pub blocks: Vec<Vec<u8>>,
}

pub fn conformance() -> Conformance {
    let genesis = std::fs::read_to_string(test_data("conformance/genesis.json")).unwrap();
    let file = std::fs::read(test_data("conformance/chain.rlp")).unwrap();
    let mut blocks = Vec::new();
    let mut rest = file.as_slice();
    while !rest.is_empty() {
        let before = rest;
        Block::<TxEnvelope>::decode(&mut rest).unwrap();
        blocks.push(before[..before.len() - rest.len()].to_vec());
    }
    assert_eq!(blocks.len(), 54);
    Conformance { genesis, blocks }
}

/// Every account, slot and code after some block, as a store has them.
#[derive(Default)]
pub struct Full {
    pub accounts: HashMap<Address, Account>,
    pub slots: HashMap<(Address, B256), U256>,
    pub codes: HashMap<B256, Bytes>,
    pub hashes: Vec<B256>,
}

impl Full {
    pub fn apply(&mut self, hash: B256, diff: &Diff) {
        self.slots.retain(|(owner, _), _| !diff.wiped.contains(owner));
        for (address, account) in &diff.accounts {
            match account {
                Some(account) => self.accounts.insert(*address, *account),
                None => self.accounts.remove(address),
            };
        }
        self.slots.extend(diff.slots.iter().map(|(address, slot, value)| ((*address, *slot), *value)));
        self.codes.extend(diff.codes.iter().cloned());
        self.hashes.push(hash);
    }

    pub fn load(&self, missing: &Missing) -> Vec<Vec<u8>> {
        let list = missing.keys.iter().map(|key| match key {
            Key::Account(address) => self.accounts.get(address).map_or_else(Vec::new, alloy_rlp::encode),
            Key::Slot(address, slot) => {
                self.slots.get(&(*address, *slot)).map_or_else(Vec::new, U256::to_be_bytes_trimmed_vec)
            }
            Key::Code(hash) => self.codes[hash].to_vec(),
            Key::BlockHash(number) => self.hashes[*number as usize].to_vec(),
        });
        list.collect()
    }

    /// Executes a block, handing in what it lacks.
    pub fn execute(&self, chain: &Arc<Chain>, block: &[u8]) -> Result<Outcome, Error> {
        for _ in 0..64 {
            match chain.execute(block)? {
                Execution::Done(outcome) => return Ok(*outcome),
                Execution::Missing(missing) => {
                    let values = self.load(&missing);
                    let values: Vec<&[u8]> = values.iter().map(Vec::as_slice).collect();
                    chain.head_view()?.provide(&missing, &values)?;
                }
            }
        }
        panic!("a block is never complete");
    }
}
