//! A flashblock as its builder sends it.

use crate::base::error::{Error, malformed};
use crate::rules::spec::ChainSpec;
use alloy_consensus::{EMPTY_OMMER_ROOT_HASH, Header};
use alloy_eips::eip7685::EMPTY_REQUESTS_HASH;
use alloy_op_hardforks::OpHardforks;
use alloy_primitives::{Address, B256, Bloom, Bytes, U64, U256};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// One piece of a block that is being built. Fields that are not listed are not needed. Not op-alloy's type, which wants all of them:
/// streams leave out hashes and metadata, and reading receipts and balances for nobody takes time.
#[derive(Debug, Clone, Deserialize)]
pub struct Flashblock {
    pub payload_id: String,
    pub index: u64,
    /// Only at index 0.
    #[serde(default)]
    pub base: Option<FlashblockBase>,
    pub diff: FlashblockDiff,
}

/// The header fields that are known when a block is begun.
#[derive(Debug, Clone, Deserialize)]
pub struct FlashblockBase {
    pub parent_beacon_block_root: B256,
    pub parent_hash: B256,
    pub fee_recipient: Address,
    pub prev_randao: B256,
    pub block_number: U64,
    pub gas_limit: U64,
    pub timestamp: U64,
    pub extra_data: Bytes,
    pub base_fee_per_gas: U256,
}

/// New transactions, and the results of the whole block so far. Hashes that nobody has computed are zero or not there.
#[derive(Debug, Clone, Deserialize)]
pub struct FlashblockDiff {
    #[serde(default)]
    state_root: Option<B256>,
    /// Not there where a source does not know it; never zero.
    #[serde(default)]
    pub receipts_root: Option<B256>,
    /// Likewise. All zero is the bloom of no logs.
    #[serde(default)]
    pub logs_bloom: Option<Bloom>,
    pub gas_used: U64,
    #[serde(default)]
    block_hash: Option<B256>,
    pub transactions: Vec<Bytes>,
    #[serde(default)]
    withdrawals: Vec<IgnoredAny>,
    #[serde(default)]
    withdrawals_root: Option<B256>,
    #[serde(default)]
    pub blob_gas_used: Option<U64>,
    #[serde(default)]
    post_exec_tx: Option<IgnoredAny>,
}

/// What was found of a block so far that a flashblock may not say.
pub(crate) struct Found {
    pub(crate) transactions_root: B256,
    pub(crate) receipts_root: B256,
    pub(crate) logs_bloom: Bloom,
    pub(crate) blob_gas_used: u64,
}

impl Flashblock {
    /// Reads a message (JSON).
    pub fn parse(text: &str) -> Result<Self, Error> {
        let read: Self = serde_json::from_str(text).map_err(|why| malformed("flashblock", why))?;
        if read.base.is_some() != (read.index == 0) {
            return Err(malformed("flashblock", "the first of a block has a base, and no other has one"));
        }
        if !read.diff.withdrawals.is_empty() {
            return Err(malformed("flashblock", "the OP stack has no withdrawals in its blocks"));
        }
        if read.diff.post_exec_tx.is_some() {
            return Err(malformed(
                "flashblock",
                "a post-execution transaction is of the Lagoon fork, which is not known here",
            ));
        }
        Ok(read)
    }
}

impl FlashblockBase {
    /// The header as far as it is known before anything was executed.
    pub(crate) fn header(&self, spec: &ChainSpec) -> Result<Header, Error> {
        let timestamp = self.timestamp.to();
        let base_fee =
            u64::try_from(self.base_fee_per_gas).map_err(|why| malformed("flashblock, base fee", why))?;
        let ecotone = spec.is_ecotone_active_at_timestamp(timestamp);
        let isthmus = spec.is_isthmus_active_at_timestamp(timestamp);
        let header = Header {
            parent_hash: self.parent_hash,
            ommers_hash: EMPTY_OMMER_ROOT_HASH,
            beneficiary: self.fee_recipient,
            number: self.block_number.to(),
            gas_limit: self.gas_limit.to(),
            timestamp,
            extra_data: self.extra_data.clone(),
            mix_hash: self.prev_randao,
            base_fee_per_gas: Some(base_fee),
            excess_blob_gas: ecotone.then_some(0),
            parent_beacon_block_root: ecotone.then_some(self.parent_beacon_block_root),
            requests_hash: isthmus.then_some(EMPTY_REQUESTS_HASH),
            ..Default::default()
        };
        spec.expect_known(&header)?;
        Ok(header)
    }
}

impl FlashblockDiff {
    /// The hash that it says its header has. Without a state root that is the hash of no block.
    pub(crate) fn header_hash(&self) -> Option<B256> {
        self.block_hash.filter(|hash| !hash.is_zero())
    }

    /// The hash of the block so far, where its builder knows it.
    pub(crate) fn block_hash(&self) -> Option<B256> {
        self.header_hash().filter(|_| self.state_root.is_some_and(|root| !root.is_zero()))
    }

    /// Writes what it says of the block so far, and what it does not say, into the block's header.
    pub(crate) fn fill(&self, header: &mut Header, found: Found) {
        // Only the hash binds the roots to the rest: without it they could be anything.
        let bound = |root: Option<B256>| root.filter(|_| self.header_hash().is_some()).unwrap_or_default();
        header.state_root = bound(self.state_root);
        header.transactions_root = found.transactions_root;
        header.receipts_root = found.receipts_root;
        header.logs_bloom = found.logs_bloom;
        header.gas_used = self.gas_used.to();
        // Shanghai is Canyon, which is older than Ecotone.
        header.withdrawals_root = Some(bound(self.withdrawals_root));
        header.blob_gas_used = header.excess_blob_gas.map(|_| found.blob_gas_used);
    }
}
