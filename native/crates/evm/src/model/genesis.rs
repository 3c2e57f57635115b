//! The first block of a chain, from geth's genesis format.

use crate::base::error::{Error, malformed};
use crate::model::diff::{Account, Diff};
use crate::model::outcome::Outcome;
use crate::model::trie::state::StateTrie;
use crate::rules::spec::ChainSpec;
use alloy_consensus::{Block, BlockBody, EMPTY_OMMER_ROOT_HASH, EMPTY_ROOT_HASH, Header, TxEnvelope};
use alloy_eips::eip4895::Withdrawals;
use alloy_eips::eip7685::EMPTY_REQUESTS_HASH;
use alloy_genesis::Genesis;
use alloy_hardforks::EthereumHardforks;
use alloy_op_hardforks::OpHardforks;
use alloy_primitives::{B256, KECCAK256_EMPTY, U256, keccak256};
use op_alloy_consensus::L2_TO_L1_MESSAGE_PASSER_ADDRESS;

/// Base fee of a genesis block that says none (EIP-1559).
const INITIAL_BASE_FEE: u64 = 1_000_000_000;

/// Reads a genesis file: its rules, its block and its whole state.
pub fn genesis_block(text: &str) -> Result<(ChainSpec, Outcome, StateTrie), Error> {
    let genesis: Genesis = serde_json::from_str(text).map_err(|why| malformed("genesis file", why))?;
    let spec = ChainSpec::from_config(&genesis.config)?;
    let diff = allocation(&genesis);
    let mut commitment = StateTrie::default();
    commitment.apply(&diff);
    let header = header(&spec, &genesis, &commitment);
    let withdrawals = header.withdrawals_root.is_some().then(Withdrawals::default);
    let body = BlockBody::<TxEnvelope> { transactions: Vec::new(), ommers: Vec::new(), withdrawals };
    let block = alloy_rlp::encode(Block { header: header.clone(), body }).into();
    let outcome = Outcome { hash: header.hash_slow(), header, block, receipts: Vec::new(), diff };
    Ok((spec, outcome, commitment))
}

fn allocation(genesis: &Genesis) -> Diff {
    let mut diff = Diff::default();
    for (address, entry) in &genesis.alloc {
        let code = entry.code.clone().unwrap_or_default();
        let code_hash = if code.is_empty() { KECCAK256_EMPTY } else { keccak256(&code) };
        let nonce = entry.nonce.unwrap_or_default();
        diff.accounts.push((*address, Some(Account { nonce, balance: entry.balance, code_hash })));
        for (slot, value) in entry.storage.iter().flatten() {
            if *value != B256::ZERO {
                diff.slots.push((*address, *slot, U256::from_be_bytes(value.0)));
            }
        }
        if !code.is_empty() {
            diff.codes.push((code_hash, code));
        }
    }
    diff.sort();
    diff.codes.dedup_by_key(|(hash, _)| *hash);
    diff
}

fn header(spec: &ChainSpec, genesis: &Genesis, commitment: &StateTrie) -> Header {
    let time = genesis.timestamp;
    let number = genesis.number.unwrap_or_default();
    let london = spec.is_london_active_at_block(number);
    let shanghai = spec.is_shanghai_active_at_timestamp(time);
    let cancun = spec.is_cancun_active_at_timestamp(time);
    let withdrawals_root = if spec.is_isthmus_active_at_timestamp(time) {
        Some(commitment.storage_root(L2_TO_L1_MESSAGE_PASSER_ADDRESS))
    } else {
        shanghai.then_some(EMPTY_ROOT_HASH)
    };
    Header {
        parent_hash: genesis.parent_hash.unwrap_or_default(),
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        beneficiary: genesis.coinbase,
        state_root: commitment.root(),
        transactions_root: EMPTY_ROOT_HASH,
        receipts_root: EMPTY_ROOT_HASH,
        withdrawals_root,
        difficulty: genesis.difficulty,
        number,
        gas_limit: genesis.gas_limit,
        gas_used: 0,
        timestamp: time,
        mix_hash: genesis.mix_hash,
        nonce: genesis.nonce.into(),
        base_fee_per_gas: london
            .then(|| genesis.base_fee_per_gas.and_then(|fee| u64::try_from(fee).ok()).unwrap_or(INITIAL_BASE_FEE)),
        blob_gas_used: cancun.then(|| genesis.blob_gas_used.unwrap_or_default()),
        excess_blob_gas: cancun.then(|| genesis.excess_blob_gas.unwrap_or_default()),
        parent_beacon_block_root: cancun.then_some(B256::ZERO),
        requests_hash: spec.is_prague_active_at_timestamp(time).then_some(EMPTY_REQUESTS_HASH),
        extra_data: genesis.extra_data.clone(),
        ..Default::default()
    }
}
