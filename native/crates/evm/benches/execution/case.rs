//! What is measured: some blocks, ready to be executed again and again in both ways.

use alloy_evm::{Evm, EvmEnv, EvmFactory};
use alloy_primitives::Bytes;
use chain_query_evm::{Account, Chain, Execution, Key, Outcome};
use revm::bytecode::Bytecode;
use revm::context::BlockEnv;
use revm::database::{CacheDB, DbAccount, EmptyDB};
use revm::primitives::StorageValue;
use std::sync::Arc;

pub type BareState = CacheDB<EmptyDB>;
/// Gives the gas used, and the state so that freeing it is not part of the run.
pub type BareRun = Box<dyn FnOnce() -> (u64, BareState)>;
/// Where a block runs, and its transactions.
pub type BareBlock<F> = (EvmEnv<<F as EvmFactory>::Spec>, Vec<<F as EvmFactory>::Tx>);
pub type Recover = Box<dyn Fn()>;

pub struct Case {
    pub title: &'static str,
    pub gas: u64,
    /// Chains at the parent of their first block, with all state in memory, and the blocks.
    pub ours: Vec<(Arc<Chain>, Vec<Vec<u8>>)>,
    pub bare: Vec<Box<dyn Fn() -> BareRun>>,
    /// Finds the senders of all transactions.
    pub recover: Recover,
}

impl Case {
    pub fn blocks(&self) -> usize {
        self.ours.iter().map(|(_, blocks)| blocks.len()).sum()
    }
}

/// Executes a block whose results are not known until nothing is missing; what was loaded is added to `held`.
pub fn seal(
    chain: &Arc<Chain>,
    block: &[u8],
    load: impl Fn(&Key) -> Option<Vec<u8>>,
    held: &mut Vec<(Key, Vec<u8>)>,
) -> Outcome {
    for _ in 0..64 {
        match chain.seal(block).unwrap() {
            Execution::Done(outcome) => return *outcome,
            Execution::Missing(mut missing) => {
                let loaded: Vec<(Key, Vec<u8>)> =
                    missing.keys.iter().filter_map(|key| Some((*key, load(key)?))).collect();
                missing.keys = loaded.iter().map(|(key, _)| *key).collect();
                let values: Vec<&[u8]> = loaded.iter().map(|(_, value)| value.as_slice()).collect();
                chain.head_view().unwrap().provide(&missing, &values).unwrap();
                held.extend(loaded);
            }
        }
    }
    panic!("still missing keys after 64 rounds");
}

/// The same state as bare revm holds it.
pub fn bare_state(held: &[(Key, Vec<u8>)]) -> BareState {
    let mut state = BareState::default();
    for (key, value) in held {
        match key {
            Key::Account(address) if value.is_empty() => {
                state.cache.accounts.insert(*address, DbAccount::new_not_existing());
            }
            Key::Account(address) => {
                state.insert_account_info(*address, alloy_rlp::decode_exact::<Account>(value).unwrap().into());
            }
            Key::Code(hash) => {
                state.cache.contracts.insert(*hash, Bytecode::new_raw(Bytes::copy_from_slice(value)));
            }
            Key::Slot(..) | Key::BlockHash(_) => {}
        }
    }
    for (key, value) in held {
        if let Key::Slot(address, slot) = key {
            let value = StorageValue::try_from_be_slice(value).unwrap();
            state.insert_account_storage(*address, (*slot).into(), value).unwrap();
        }
    }
    state
}

/// Transactions that follow each other on one state, block after block.
pub fn bare_run<F>(factory: F, state: BareState, blocks: Vec<BareBlock<F>>) -> Box<dyn Fn() -> BareRun>
where
    F: EvmFactory<BlockEnv = BlockEnv, Tx: Clone + 'static> + Clone + 'static,
{
    Box::new(move || {
        let (factory, mut state, blocks) = (factory.clone(), state.clone(), blocks.clone());
        Box::new(move || {
            let mut gas = 0;
            for (env, transactions) in blocks {
                let mut evm = factory.create_evm(state, env);
                for tx in transactions {
                    gas += evm.transact_commit(tx).unwrap().tx_gas_used();
                }
                state = evm.finish().0;
            }
            (gas, state)
        })
    })
}
