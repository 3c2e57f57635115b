//! State that a simulated block pretends before its calls.

use super::refusal::{Refusal, refuse};
use super::request::AccountFields;
use crate::evm::factory::BlockState;
use crate::evm::precompiles::MeteredPrecompiles;
use crate::model::code::bytecode;
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256, keccak256};
use revm::bytecode::Bytecode;
use revm::state::{Account, AccountInfo, AccountStatus, EvmStorageSlot};
use revm::{Database, DatabaseCommit};
use std::collections::{BTreeMap, BTreeSet};

/// Takes away and moves the precompiles that are overridden.
pub(super) fn displace(
    precompiles: &mut MeteredPrecompiles,
    accounts: &BTreeMap<Address, AccountFields>,
) -> Result<(), Refusal> {
    let mut taken: BTreeSet<Address> = BTreeSet::new();
    for (address, fields) in accounts {
        if taken.contains(address) {
            let text =
                format!("account {} has already been overridden by a precompile", address.to_checksum(None));
            return Err(refuse(-32000, text));
        }
        let to = fields.move_precompile_to_address.as_ref();
        if let Some(to) = to
            && accounts.contains_key(to)
            && precompiles.has(address)
        {
            return Err(refuse(-32000, format!("account {} is already overridden", to.to_checksum(None))));
        }
        if !precompiles.displace(address, to) && to.is_some() {
            return Err(refuse(-32000, format!("account {} is not a precompile", address.to_checksum(None))));
        }
        taken.extend(to);
    }
    Ok(())
}

/// Writes what is overridden into the state.
pub(super) fn apply(state: &mut BlockState, accounts: &BTreeMap<Address, AccountFields>) {
    for (address, fields) in accounts {
        // What is named without anything pretended of it is not touched: one that is empty stays.
        if !pretends(fields) {
            continue;
        }
        let found = info(state, *address);
        let mut pretended = found.clone().unwrap_or_default();
        if let Some(nonce) = fields.nonce {
            pretended.nonce = nonce.to();
        }
        if let Some(balance) = fields.balance {
            pretended.balance = balance;
        }
        if let Some(code) = &fields.code {
            pretended.code_hash = if code.is_empty() { KECCAK256_EMPTY } else { keccak256(code) };
            // Before Prague nothing is a delegation.
            let is_raw = state.database.delegations;
            pretended.code =
                Some(if is_raw { bytecode(code.clone()) } else { Bytecode::new_legacy(code.clone()) });
        }
        match (&fields.state, &fields.state_diff) {
            (Some(slots), _) => {
                if let Some(found) = found {
                    write(state, *address, found, AccountStatus::SelfDestructed, &HashMap::default());
                }
                write(state, *address, pretended, AccountStatus::Created, slots);
            }
            (None, slots) => {
                let none = HashMap::default();
                let slots = slots.as_ref().unwrap_or(&none);
                // Empty as it is, it is in the state until a transaction touches it, as in geth.
                let status = if pretended.is_empty() { AccountStatus::Created } else { AccountStatus::empty() };
                write(state, *address, pretended, status, slots);
            }
        }
    }
}

/// Whether anything is pretended of an account.
fn pretends(fields: &AccountFields) -> bool {
    let has_slots = fields.state_diff.as_ref().is_some_and(|slots| !slots.is_empty());
    let is_named = fields.nonce.is_some() || fields.balance.is_some() || fields.code.is_some();
    is_named || has_slots || fields.state.is_some()
}

/// An account as it is now.
pub(super) fn info(state: &mut BlockState, address: Address) -> Option<AccountInfo> {
    state.basic(address).unwrap_or(None)
}

/// Sets a nonce outside of any transaction.
pub(super) fn set_nonce(state: &mut BlockState, address: Address, nonce: u64) {
    let info = AccountInfo { nonce, ..info(state, address).unwrap_or_default() };
    write(state, address, info, AccountStatus::empty(), &HashMap::default());
}

fn write(
    state: &mut BlockState,
    address: Address,
    info: AccountInfo,
    status: AccountStatus,
    slots: &HashMap<B256, B256>,
) {
    let storage = slots.iter().map(|(slot, value)| {
        let value = U256::from_be_bytes(value.0);
        // Only slots that changed are kept: what it was is not looked at otherwise, and need not be known.
        (U256::from_be_bytes(slot.0), EvmStorageSlot::new_changed(!value, value, 0))
    });
    let account =
        Account { storage: storage.collect(), status: status | AccountStatus::Touched, ..Account::from(info) };
    state.commit([(address, account)].into_iter().collect());
}
