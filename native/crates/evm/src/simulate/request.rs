//! What is asked to be simulated.

use crate::base::error::{Error, malformed};
use alloy_eips::eip2930::AccessList;
use alloy_eips::eip4895::Withdrawal;
use alloy_eips::eip7702::SignedAuthorization;
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256, Bytes, U64, U256};
use serde::Deserialize;
use std::collections::BTreeMap;

/// A simulation, from JSON that TypeScript has checked.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SimulationRequest {
    pub(super) blocks: Vec<AskedBlock>,
    #[serde(default)]
    pub(super) trace_transfers: bool,
    #[serde(default)]
    pub(super) validation: bool,
    #[serde(default)]
    pub(super) return_full_transactions: bool,
    pub(super) limits: SimulationLimits,
    /// Seconds between blocks of a chain whose blocks are not 12 s apart.
    pub(super) block_time: u64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SimulationLimits {
    /// The highest block above the one it begins at.
    pub(super) blocks: u64,
    /// Of all calls together.
    pub(super) gas: u64,
    /// Of the answer.
    pub(super) bytes: usize,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct AskedBlock {
    #[serde(default)]
    pub(super) block_overrides: BlockFields,
    /// In the order of their addresses, in which they are applied.
    #[serde(default)]
    pub(super) state_overrides: BTreeMap<Address, AccountFields>,
    #[serde(default)]
    pub(super) calls: Vec<AskedCall>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct BlockFields {
    pub(super) number: Option<U256>,
    pub(super) difficulty: Option<U256>,
    pub(super) time: Option<U64>,
    pub(super) gas_limit: Option<U64>,
    pub(super) fee_recipient: Option<Address>,
    pub(super) prev_randao: Option<B256>,
    pub(super) base_fee_per_gas: Option<U256>,
    pub(super) blob_base_fee: Option<U256>,
    pub(super) beacon_root: Option<B256>,
    pub(super) withdrawals: Option<Vec<Withdrawal>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct AccountFields {
    pub(super) balance: Option<U256>,
    pub(super) nonce: Option<U64>,
    pub(super) code: Option<Bytes>,
    pub(super) state: Option<HashMap<B256, B256>>,
    pub(super) state_diff: Option<HashMap<B256, B256>>,
    pub(super) move_precompile_to_address: Option<Address>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct AskedCall {
    #[serde(default)]
    pub(super) from: Address,
    pub(super) to: Option<Address>,
    pub(super) gas: Option<U64>,
    pub(super) nonce: Option<U64>,
    pub(super) gas_price: Option<U256>,
    pub(super) max_fee_per_gas: Option<U256>,
    pub(super) max_priority_fee_per_gas: Option<U256>,
    pub(super) value: Option<U256>,
    #[serde(default)]
    pub(super) data: Bytes,
    pub(super) access_list: Option<AccessList>,
    pub(super) authorization_list: Option<Vec<SignedAuthorization>>,
    pub(super) blob_versioned_hashes: Option<Vec<B256>>,
    pub(super) max_fee_per_blob_gas: Option<U256>,
}

impl SimulationRequest {
    /// Reads it from JSON.
    pub fn parse(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|why| malformed("simulation", why))
    }
}
