//! Flashblocks: blocks in pieces, before they are sealed.

use crate::chain::NativeChain;
use crate::errors::{Result, error, malformed};
use crate::execution::{Bounds, NativeCancel, execute_off_thread};
use crate::view::NativeView;
use alloy_primitives::B256;
use chain_query_evm as core;
use core::{
    Chain, Difference, Flashblock, Preconfirmation, Promoted, Promotion, Ready, SealedRoots, ToldFlashblock,
};
use napi::bindgen_prelude::{Buffer, Env, Object};
use napi_derive::napi;
use std::sync::Arc;

/// What executing a flashblock gave: an outcome with the places where its transactions and logs begin in the block, or
/// what was missing.
#[napi(object)]
#[derive(Default)]
pub struct NativePiece {
    pub outcome: Option<Buffer>,
    pub version: Option<f64>,
    pub index: Option<f64>,
    pub first_transaction: Option<u32>,
    pub first_log: Option<u32>,
    pub missing: Option<String>,
}

/// What became of a sealed block: an outcome, missing keys, or how it differs; nothing if it was not pre-confirmed.
#[napi(object)]
#[derive(Default)]
pub struct NativePromotion {
    pub outcome: Option<Buffer>,
    pub missing: Option<String>,
    #[napi(ts_type = "'transaction' | 'context' | 'results'")]
    pub differs: Option<String>,
    pub transaction: Option<u32>,
    pub field: Option<String>,
    pub preconfirmed: Option<u32>,
}

/// Sizes for metrics.
#[napi(object)]
pub struct NativePreconfirmedSizes {
    pub blocks: u32,
    pub accounts: u32,
    pub slots: u32,
}

fn narrow(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

type EncodedPromotion = Option<Promotion<(Vec<u8>, Ready)>>;

fn encoded(promotion: Option<Promotion<Ready>>) -> Result<EncodedPromotion, core::Error> {
    promotion.map(|promotion| promotion.and_then(|ready| Ok((ready.outcome().encode(), ready)))).transpose()
}

fn made_head(chain: &Arc<Chain>, promotion: EncodedPromotion) -> Result<NativePromotion, core::Error> {
    let Some(promotion) = promotion else { return Ok(NativePromotion::default()) };
    let made_head = promotion.and_then(|(outcome, ready)| {
        chain.make_head(ready)?;
        Ok(outcome)
    })?;
    Ok(made_head.into())
}

impl From<Promotion<Vec<u8>>> for NativePromotion {
    fn from(Promotion { preconfirmed, difference, result }: Promotion<Vec<u8>>) -> Self {
        let (differs, transaction, field) = match difference {
            None => (None, None, None),
            Some(Difference::Transaction(index)) => (Some("transaction"), Some(narrow(index)), None),
            Some(Difference::Context(field)) => (Some("context"), None, Some(field.into())),
            Some(Difference::Results(field)) => (Some("results"), None, Some(field.into())),
        };
        let preconfirmed = Some(narrow(preconfirmed));
        let differs = differs.map(String::from);
        let known = Self { differs, transaction, field, preconfirmed, ..Default::default() };
        match result {
            Promoted::Done(outcome) => Self { outcome: Some(outcome.into()), ..known },
            // It is not decided yet.
            Promoted::Missing(missing) => {
                Self { missing: Some(missing.encode()), preconfirmed, ..Default::default() }
            }
            Promoted::No => known,
        }
    }
}

#[napi]
impl NativeChain {
    /// Executes a flashblock (JSON, the whole message) on the one before it and shows it to `openPreconfirmed`.
    #[napi(catch_unwind, ts_return_type = "Promise<NativePiece>")]
    pub fn extend_preconfirmed<'env>(
        &self,
        env: &'env Env,
        flashblock: String,
        milliseconds: u32,
        cancel: &NativeCancel,
    ) -> Result<Object<'env>> {
        execute_off_thread(
            env,
            &self.inner,
            Bounds::new(milliseconds, cancel),
            move |chain, limits| {
                let flashblock = Flashblock::parse(&flashblock)?;
                Ok(match chain.run_flashblock(&flashblock, limits)? {
                    Preconfirmation::Done(extension) => {
                        Preconfirmation::Done((extension.piece().outcome.encode(), extension))
                    }
                    Preconfirmation::Missing(missing) => Preconfirmation::Missing(missing),
                })
            },
            |chain, preconfirmation| {
                Ok(match preconfirmation {
                    Preconfirmation::Done((outcome, extension)) => {
                        let piece = chain.show(extension)?;
                        NativePiece {
                            outcome: Some(outcome.into()),
                            version: Some(piece.version as f64),
                            index: Some(piece.index as f64),
                            first_transaction: Some(narrow(piece.first_transaction)),
                            first_log: Some(narrow(piece.first_log)),
                            missing: None,
                        }
                    }
                    Preconfirmation::Missing(missing) => {
                        NativePiece { missing: Some(missing.encode()), ..Default::default() }
                    }
                })
            },
        )
    }

    /// Shows readers what a flashblock changed that another process executed; gives the version of the state after it.
    #[napi(catch_unwind)]
    pub fn apply_flashblock(
        &self,
        outcome: &[u8],
        payload_id: String,
        index: i64,
        first_transaction: i64,
        first_log: i64,
    ) -> Result<f64> {
        let count =
            |value: i64| usize::try_from(value).map_err(|_| malformed("a place in a block is not negative"));
        let flashblock = ToldFlashblock {
            payload_id: &payload_id,
            index: count(index)? as u64,
            first_transaction: count(first_transaction)?,
            first_log: count(first_log)?,
            outcome,
        };
        self.inner.apply_flashblock(flashblock).map(|version| version as f64).map_err(error)
    }

    /// Makes a sealed block (RLP) the head: as far as it is as it was pre-confirmed, without executing it again.
    #[napi(catch_unwind, ts_return_type = "Promise<NativePromotion>")]
    pub fn promote<'env>(
        &self,
        env: &'env Env,
        block: &[u8],
        milliseconds: u32,
        cancel: &NativeCancel,
    ) -> Result<Object<'env>> {
        let block = block.to_vec();
        execute_off_thread(
            env,
            &self.inner,
            Bounds::new(milliseconds, cancel),
            move |chain, limits| encoded(chain.run_promotion(&block, limits)?),
            made_head,
        )
    }

    /// The same for the block with this hash, if that is what was pre-confirmed: it need not be read anywhere, and
    /// nothing of it is executed. The roots are the sealed header's, for builders that do not say them.
    #[napi(catch_unwind, ts_return_type = "Promise<NativePromotion>")]
    pub fn promote_sealed<'env>(
        &self,
        env: &'env Env,
        hash: String,
        state_root: Option<String>,
        withdrawals_root: Option<String>,
        milliseconds: u32,
        cancel: &NativeCancel,
    ) -> Result<Object<'env>> {
        let parse =
            |hash: String, what: &str| hash.parse::<B256>().map_err(|why| malformed(format!("{what}: {why}")));
        let hash = parse(hash, "block hash")?;
        let withdrawals_root = withdrawals_root.map(|root| parse(root, "withdrawals root")).transpose()?;
        let state_root = state_root.map(|root| parse(root, "state root")).transpose()?;
        let roots = state_root.map(|state_root| SealedRoots { state_root, withdrawals_root });
        execute_off_thread(
            env,
            &self.inner,
            Bounds::new(milliseconds, cancel),
            move |chain, _| encoded(chain.run_sealed(hash, roots)?),
            made_head,
        )
    }

    /// Forgets pre-confirmed blocks from a number on.
    #[napi(catch_unwind)]
    pub fn drop_preconfirmed(&self, from: i64) -> Result<()> {
        let from = u64::try_from(from).map_err(|_| malformed("a block number is not negative"))?;
        self.inner.drop_preconfirmed(from);
        Ok(())
    }

    /// The payload ids of the blocks that are pre-confirmed on the head, lowest first.
    #[napi(catch_unwind)]
    pub fn preconfirmed_payloads(&self) -> Vec<String> {
        self.inner.preconfirmed_payloads()
    }

    /// Whether pre-confirmed blocks went although they name a sealed block as their parent; since it was asked last.
    #[napi(catch_unwind)]
    pub fn take_lost_preconfirmed(&self) -> bool {
        self.inner.take_lost_preconfirmed()
    }

    /// The last block that was pre-confirmed without a hash and sealed with other contents.
    #[napi(catch_unwind)]
    pub fn sealed_otherwise(&self) -> Option<f64> {
        self.inner.sealed_otherwise().map(|number| number as f64)
    }

    /// The version of the newest pre-confirmed state, if there is one.
    #[napi(catch_unwind)]
    pub fn preconfirmed_version(&self) -> Option<f64> {
        self.inner.preconfirmed_version().map(|version| version as f64)
    }

    #[napi(catch_unwind)]
    pub fn preconfirmed_sizes(&self) -> NativePreconfirmedSizes {
        let (blocks, accounts, slots) = self.inner.preconfirmed_sizes();
        NativePreconfirmedSizes { blocks: narrow(blocks), accounts: narrow(accounts), slots: narrow(slots) }
    }
}

#[napi]
impl NativeView {
    /// Opens the newest pre-confirmed state, or the one of a version, if it is there.
    #[napi(catch_unwind)]
    pub fn open_preconfirmed(chain: &NativeChain, version: Option<i64>) -> Result<Option<NativeView>> {
        let inner = &chain.inner;
        let view = match version {
            None => inner.preconfirmed_view(),
            Some(version) => {
                let version = u64::try_from(version).map_err(|_| malformed("a version is not negative"))?;
                inner.preconfirmed_view_at(version)
            }
        };
        Ok(view.map(|view| Self::new(chain, view)))
    }

    /// The last flashblock of a pre-confirmed state.
    #[napi(getter)]
    pub fn flashblock_index(&self) -> Result<Option<f64>> {
        Ok(self.get()?.flashblock_index().map(|index| index as f64))
    }

    /// The header of the block so far, RLP.
    #[napi(catch_unwind)]
    pub fn header(&self) -> Result<Buffer> {
        Ok(self.get()?.encoded_header().into())
    }

    /// The confirmed block this state stands on: its own, but for a pre-confirmed one.
    #[napi(getter)]
    pub fn base_number(&self) -> Result<f64> {
        Ok(self.get()?.base().0 as f64)
    }

    #[napi(getter)]
    pub fn base_hash(&self) -> Result<String> {
        Ok(self.get()?.base().1.to_string())
    }
}
