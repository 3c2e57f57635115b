//! Checking what a node says an account and its slots hold, by the proofs of `eth_getProof`.

use crate::base::error::{Error, malformed};
use crate::model::diff::{Account, encode_account};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use alloy_trie::proof::verify_proof;
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles, TrieAccount};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AccountProof {
    nonce: U256,
    balance: U256,
    code_hash: B256,
    storage_hash: B256,
    account_proof: Vec<Bytes>,
    #[serde(default)]
    storage_proof: Vec<SlotProof>,
}

#[derive(Deserialize)]
struct SlotProof {
    key: U256,
    value: U256,
    proof: Vec<Bytes>,
}

/// Checks the JSON of `eth_getProof` against a state root. Gives the account and then each of `slots` in their stored
/// form; a proof must be there for each of them, in their order.
pub fn check_proof(
    state_root: B256,
    address: Address,
    slots: &[B256],
    proof: &str,
) -> Result<Vec<Vec<u8>>, Error> {
    let proof: AccountProof = serde_json::from_str(proof).map_err(|why| malformed("proof", why))?;
    let account = check_account(state_root, address, &proof)?;
    let storage_root = account.map_or(EMPTY_ROOT_HASH, |account| account.storage_root);
    if proof.storage_proof.len() != slots.len() {
        let found = proof.storage_proof.len();
        return Err(refused(address, format!("{} slots were asked for, {found} are proven", slots.len())));
    }
    let stored =
        account.map(|TrieAccount { nonce, balance, code_hash, .. }| Account { nonce, balance, code_hash });
    let mut values = vec![encode_account(stored.as_ref())];
    for (slot, proven) in slots.iter().zip(&proof.storage_proof) {
        // By value: some nodes write keys as quantities.
        if proven.key != U256::from_be_bytes(slot.0) {
            return Err(refused(address, format!("slot {slot} was asked for, {} is proven", proven.key)));
        }
        let leaf = (!proven.value.is_zero()).then(|| alloy_rlp::encode(proven.value));
        verify_proof(storage_root, Nibbles::unpack(keccak256(slot)), leaf, &proven.proof)
            .map_err(|why| refused(address, format!("slot {slot}: {why}")))?;
        values.push(proven.value.to_be_bytes_trimmed_vec());
    }
    Ok(values)
}

/// The account, `None` when it is proven not to exist.
fn check_account(root: B256, address: Address, proof: &AccountProof) -> Result<Option<TrieAccount>, Error> {
    let key = Nibbles::unpack(keccak256(address));
    let nodes = &proof.account_proof;
    let is_none = |hash: B256, empty: B256| hash == empty || hash.is_zero();
    let empty = proof.nonce.is_zero()
        && proof.balance.is_zero()
        && is_none(proof.code_hash, KECCAK256_EMPTY)
        && is_none(proof.storage_hash, EMPTY_ROOT_HASH);
    // Nodes describe what does not exist as an empty account; before EIP-161 there were real ones, too.
    if empty && verify_proof(root, key, None, nodes).is_ok() {
        return Ok(None);
    }
    let nonce = u64::try_from(proof.nonce).map_err(|why| malformed("proof, nonce", why))?;
    let account = TrieAccount {
        nonce,
        balance: proof.balance,
        storage_root: proof.storage_hash,
        code_hash: proof.code_hash,
    };
    verify_proof(root, key, Some(alloy_rlp::encode(account)), nodes).map_err(|why| refused(address, why))?;
    Ok(Some(account))
}

fn refused(address: Address, why: impl std::fmt::Display) -> Error {
    Error::InvalidProof(format!("the proof of {address} does not hold: {why}"))
}
