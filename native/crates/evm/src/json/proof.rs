//! `eth_getProof` as clients read it.

use crate::base::error::Error;
use crate::model::trie::proof::AccountProof;
use alloy_primitives::{Address, B256, Bytes, U64, U256};
use serde::Serialize;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Proof<'a> {
    address: Address,
    account_proof: &'a [Bytes],
    balance: U256,
    code_hash: B256,
    nonce: U64,
    storage_hash: B256,
    storage_proof: Vec<Slot<'a>>,
}

#[derive(Serialize)]
struct Slot<'a> {
    key: &'a str,
    value: U256,
    proof: &'a [Bytes],
}

/// A proof as JSON, its slots named as they were asked for.
pub fn proof_json(address: Address, proof: &AccountProof, keys: &[String]) -> Result<Vec<u8>, Error> {
    let account = proof.account();
    let slots = proof.slots.iter().zip(keys);
    let json = Proof {
        address,
        account_proof: &proof.nodes,
        balance: account.balance,
        code_hash: account.code_hash,
        nonce: U64::from(account.nonce),
        storage_hash: account.storage_root,
        storage_proof: slots.map(|(slot, key)| Slot { key, value: slot.value, proof: &slot.nodes }).collect(),
    };
    serde_json::to_vec(&json).map_err(|why| Error::Unavailable(format!("the proof cannot be written: {why}")))
}
