//! Senders of transactions, found once.

use crate::base::error::Error;
use crate::base::limits::Limits;
use crate::base::locks::lock;
use crate::base::parallel::Supply;
use crate::model::transaction::{StackTransaction, signatures_are_canonical};
use crate::model::verify::{Sent, invalid};
use crate::rules::spec::ChainSpec;
use alloy_consensus::Header;
use alloy_consensus::crypto::RecoveryError;
use alloy_consensus::transaction::Recovered;
use alloy_eips::eip2718::WithEncoded;
use alloy_primitives::Address;
use alloy_primitives::map::B256Map;
use std::sync::Mutex;

/// Senders that are kept, twice: two of the largest blocks there are, about a megabyte.
const KEPT: usize = 8_192;

/// Transactions with their senders, found while those before them are executed.
pub(crate) type Senders<'a, T> = Supply<'a, Sent<T>, Error>;

/// The senders of the transactions that were last executed, by their hashes, which their signatures are part of. A block is
/// executed again when state was missing, and a pre-confirmed one when it is built or sealed otherwise.
#[derive(Debug, Default)]
pub(crate) struct KnownSenders(Mutex<Halves>);

/// When the newer half is full, it takes the place of the older.
#[derive(Debug, Default)]
struct Halves {
    newer: B256Map<Address>,
    older: B256Map<Address>,
}

impl KnownSenders {
    /// Finds who has signed a transaction of the block with this header.
    pub(crate) fn recover<T: StackTransaction>(
        &self,
        spec: &ChainSpec,
        header: &Header,
        tx: &T,
    ) -> Result<Address, RecoveryError> {
        if !signatures_are_canonical(spec, header.number) {
            // Others are right here than later.
            return tx.recover_signer_unchecked();
        }
        let hash = tx.trie_hash();
        let known = {
            let halves = lock(&self.0);
            halves.newer.get(&hash).or_else(|| halves.older.get(&hash)).copied()
        };
        if let Some(known) = known {
            return Ok(known);
        }
        let sender = tx.recover_signer()?;
        let mut halves = lock(&self.0);
        if halves.newer.len() >= KEPT {
            halves.older = std::mem::take(&mut halves.newer);
        }
        halves.newer.insert(hash, sender);
        Ok(sender)
    }

    /// The transactions of a block but the first few, as they are needed.
    pub(crate) fn of_block<'a, T: StackTransaction>(
        &'a self,
        spec: &'a ChainSpec,
        header: &'a Header,
        transactions: &'a [T],
        first: usize,
        limits: &'a Limits,
    ) -> Senders<'a, T> {
        let rest = transactions.get(first..).unwrap_or_default();
        Supply::new(rest.len(), move |index| {
            limits.check()?;
            let tx = &rest[index];
            let sender = self.recover(spec, header, tx).map_err(|why| {
                invalid(header, format!("transaction {} has no valid signature: {why}", first + index))
            })?;
            Ok(WithEncoded::new(tx.encoded_2718().into(), Recovered::new_unchecked(tx.clone(), sender)))
        })
    }
}
