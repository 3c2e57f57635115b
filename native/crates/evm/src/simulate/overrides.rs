//! State that a simulated block pretends before its calls.

use super::refusal::{Refusal, refuse};
use super::request::AccountFields;
use crate::evm::factory::BlockState;
use crate::evm::precompiles::MeteredPrecompiles;
use crate::model::code::bytecode;
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256, keccak256};
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
            pretended.code = Some(bytecode(code.clone()));
        }
        match (&fields.state, &fields.state_diff) {
            (Some(slots), _) => {
                if let Some(found) = found {
                    write(state, *address, found, AccountStatus::SelfDestructed, &HashMap::default());
                }
                write(state, *address, pretended, AccountStatus::Created, slots);
            }
            (None, Some(slots)) => write(state, *address, pretended, AccountStatus::empty(), slots),
            (None, None) => write(state, *address, pretended, AccountStatus::empty(), &HashMap::default()),
        }
    }
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
