//! Names of pieces of state, and the set of them that a run lacked.

use crate::base::error::{Error, malformed};
use alloy_primitives::map::HashSet;
use alloy_primitives::{Address, B256, hex};

/// One piece of state a run can ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key {
    Account(Address),
    Slot(Address, B256),
    Code(B256),
    BlockHash(u64),
}

/// The keys a run lacked and the block as of which they must be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    pub as_of: u64,
    /// Of hot state when the run began: values loaded for another one are not taken in.
    pub generation: u64,
    pub keys: Vec<Key>,
}

/// Collects missing keys without repeats, in the order they were first asked for.
#[derive(Debug, Default)]
pub(crate) struct MissingSet {
    seen: HashSet<Key>,
    order: Vec<Key>,
}

impl MissingSet {
    pub(crate) fn add(&mut self, key: Key) {
        if self.seen.insert(key) {
            self.order.push(key);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    pub(crate) fn len(&self) -> usize {
        self.order.len()
    }

    pub(crate) fn take(&mut self) -> Vec<Key> {
        self.seen.clear();
        std::mem::take(&mut self.order)
    }
}

impl Missing {
    /// One text: 16 hex digits each of `as_of` and `generation`, then the keys.
    pub fn encode(&self) -> String {
        format!("{:016x}{:016x}{}", self.as_of, self.generation, encode_keys(&self.keys))
    }

    /// Reads what `encode` wrote.
    pub fn decode(text: &str) -> Result<Self, Error> {
        let bytes = text.as_bytes();
        let as_of = u64::from_be_bytes(digits(bytes, 0)?);
        let generation = u64::from_be_bytes(digits(bytes, 16)?);
        Ok(Self { as_of, generation, keys: decode_keys(&text[32..])? })
    }
}

/// Writes keys as one text: `a` address, `s` address slot, `c` hash, `h` block number, each followed by hex digits
/// of fixed length, so that it is parsed without separators.
fn encode_keys(keys: &[Key]) -> String {
    let mut text = String::with_capacity(keys.len() * 105);
    for key in keys {
        match key {
            Key::Account(address) => {
                text.push('a');
                text.push_str(&hex::encode(address));
            }
            Key::Slot(address, slot) => {
                text.push('s');
                text.push_str(&hex::encode(address));
                text.push_str(&hex::encode(slot));
            }
            Key::Code(hash) => {
                text.push('c');
                text.push_str(&hex::encode(hash));
            }
            Key::BlockHash(number) => {
                text.push('h');
                text.push_str(&format!("{number:016x}"));
            }
        }
    }
    text
}

/// Reads what `encode_keys` wrote.
fn decode_keys(text: &str) -> Result<Vec<Key>, Error> {
    let mut keys = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((kind, tail)) = rest.split_first() {
        let (key, used) = match kind {
            b'a' => (Key::Account(Address::from(digits(tail, 0)?)), 40),
            b's' => (Key::Slot(Address::from(digits(tail, 0)?), B256::from(digits(tail, 40)?)), 104),
            b'c' => (Key::Code(B256::from(digits(tail, 0)?)), 64),
            b'h' => (Key::BlockHash(u64::from_be_bytes(digits(tail, 0)?)), 16),
            other => return Err(malformed("state key", format!("unknown kind {other}"))),
        };
        keys.push(key);
        rest = &tail[used..];
    }
    Ok(keys)
}

fn digits<const N: usize>(text: &[u8], at: usize) -> Result<[u8; N], Error> {
    let part = text.get(at..at + 2 * N).ok_or_else(|| malformed("state key", "it ends early"))?;
    let mut bytes = [0u8; N];
    hex::decode_to_slice(part, &mut bytes).map_err(|why| malformed("state key", why))?;
    Ok(bytes)
}

#[cfg(test)]
#[path = "key_tests.rs"]
mod tests;
