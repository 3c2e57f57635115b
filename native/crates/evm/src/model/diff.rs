//! What a block changed in the state, and the stored form of accounts and slots.

use crate::base::bytes::{Reader, Writer};
use crate::base::error::{Error, malformed};
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256};
use alloy_rlp::{Decodable, Encodable, RlpDecodable, RlpEncodable};
use revm::database::BundleState;
use revm::state::AccountInfo;

/// An existing account without its storage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, RlpEncodable, RlpDecodable)]
pub struct Account {
    pub nonce: u64,
    pub balance: U256,
    pub code_hash: B256,
}

impl From<&AccountInfo> for Account {
    fn from(info: &AccountInfo) -> Self {
        Self { nonce: info.nonce, balance: info.balance, code_hash: info.code_hash }
    }
}

impl From<Account> for AccountInfo {
    fn from(account: Account) -> Self {
        Self {
            nonce: account.nonce,
            balance: account.balance,
            code_hash: account.code_hash,
            code: (account.code_hash == KECCAK256_EMPTY).then(Default::default),
            account_id: None,
        }
    }
}

/// Stored form of an account: RLP, or nothing when it does not exist.
pub(crate) fn encode_account(account: Option<&Account>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(account) = account {
        account.encode(&mut bytes);
    }
    bytes
}

pub(crate) fn decode_account(mut bytes: &[u8]) -> Result<Option<Account>, Error> {
    if bytes.is_empty() {
        return Ok(None);
    }
    let account = Account::decode(&mut bytes).map_err(|why| malformed("account", why))?;
    if bytes.is_empty() { Ok(Some(account)) } else { Err(malformed("account", "it has bytes left over")) }
}

/// Stored form of a slot: big-endian without leading zeros.
pub(crate) fn decode_slot(bytes: &[u8]) -> Result<U256, Error> {
    U256::try_from_be_slice(bytes).ok_or_else(|| malformed("slot value", "it is longer than 32 bytes"))
}

/// What a block changed. Every list is sorted by key, so that equal changes have equal bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Diff {
    /// Accounts whose storage vanished before `slots` were written.
    pub wiped: Vec<Address>,
    pub accounts: Vec<(Address, Option<Account>)>,
    pub slots: Vec<(Address, B256, U256)>,
    pub codes: Vec<(B256, Bytes)>,
}

impl Diff {
    /// Takes the changes out of revm's bundle of one block.
    pub(crate) fn from_bundle(bundle: &BundleState) -> Self {
        let mut diff = Self::default();
        for (address, account) in &bundle.state {
            let wiped = account.was_destroyed();
            // Only an account that had code can have had storage: an empty account removed by EIP-161 had none.
            let had_code = account.original_info.as_ref().is_some_and(|info| info.code_hash != KECCAK256_EMPTY);
            if wiped && had_code {
                diff.wiped.push(*address);
            }
            if account.is_info_changed() {
                diff.accounts.push((*address, account.info.as_ref().map(Account::from)));
            }
            for (slot, value) in &account.storage {
                let changed = if wiped { !value.present_value.is_zero() } else { value.is_changed() };
                if changed {
                    diff.slots.push((*address, B256::from(*slot), value.present_value));
                }
            }
        }
        for (hash, code) in &bundle.contracts {
            if *hash != KECCAK256_EMPTY {
                diff.codes.push((*hash, code.original_bytes()));
            }
        }
        diff.sort();
        diff
    }

    pub(crate) fn sort(&mut self) {
        self.wiped.sort_unstable();
        self.accounts.sort_unstable_by_key(|(address, _)| *address);
        self.slots.sort_unstable_by_key(|(address, slot, _)| (*address, *slot));
        self.codes.sort_unstable_by_key(|(hash, _)| *hash);
    }

    /// The stored form, read again by `decode` here and by `decodeDiff` in TypeScript.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Writer::default();
        out.len(self.wiped.len());
        for address in &self.wiped {
            out.raw(address.as_slice());
        }
        out.len(self.accounts.len());
        for (address, account) in &self.accounts {
            out.raw(address.as_slice());
            out.bytes(&encode_account(account.as_ref()));
        }
        out.len(self.slots.len());
        for (address, slot, value) in &self.slots {
            out.raw(address.as_slice());
            out.raw(slot.as_slice());
            out.bytes(&value.to_be_bytes_trimmed_vec());
        }
        out.len(self.codes.len());
        for (hash, code) in &self.codes {
            out.raw(hash.as_slice());
            out.bytes(code);
        }
        out.0
    }

    /// Reads the stored form.
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut input = Reader::new("state diff", bytes);
        let mut diff = Self::default();
        for _ in 0..input.u32()? {
            diff.wiped.push(Address::from(input.array()?));
        }
        for _ in 0..input.u32()? {
            let address = Address::from(input.array()?);
            diff.accounts.push((address, decode_account(input.bytes()?)?));
        }
        for _ in 0..input.u32()? {
            let address = Address::from(input.array()?);
            let slot = B256::from(input.array()?);
            diff.slots.push((address, slot, decode_slot(input.bytes()?)?));
        }
        for _ in 0..input.u32()? {
            let hash = B256::from(input.array()?);
            diff.codes.push((hash, Bytes::copy_from_slice(input.bytes()?)));
        }
        input.end()?;
        Ok(diff)
    }
}

#[cfg(test)]
#[path = "diff_tests.rs"]
mod tests;
