//! Messages: what a call asks for, in the terms of the EVM and in geth's order of refusals.

use crate::base::error::{Error, malformed};
use crate::model::key::Missing;
use crate::rules::spec::ChainSpec;
use crate::state::view::View;
use alloy_consensus::Header;
use alloy_eips::eip2930::AccessList;
use alloy_eips::eip4844::VERSIONED_HASH_VERSION_KZG;
use alloy_eips::eip7702::SignedAuthorization;
use alloy_hardforks::EthereumHardforks;
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256, Bytes, TxKind, U64, U256};
use revm::context::TxEnv;
use revm::context_interface::either::Either;
use revm::primitives::hardfork::SpecId;
use serde::Deserialize;
use std::borrow::Cow;
use std::sync::Arc;

/// What geth says of a sender who cannot pay.
pub(crate) const TOO_POOR: &str = "insufficient funds for gas * price + value";

/// A message to run.
#[derive(Debug, Clone)]
pub struct CallRequest {
    pub from: Address,
    /// `None` creates a contract.
    pub to: Option<Address>,
    pub gas: u64,
    pub data: Bytes,
    pub options: Option<Arc<CallOptions>>,
}

impl CallRequest {
    /// The header that it runs in, which it may pretend in part.
    pub(crate) fn header_on(&self, block: &Header) -> Header {
        let mut header = block.clone();
        if let Some(fields) = self.options.as_ref().and_then(|options| options.block_overrides.as_ref()) {
            pretend(&mut header, fields);
        }
        header
    }
}

/// Fields few calls have. Overrides are ours and not alloy's: what is not implemented must be refused, and `alloy_evm::overrides` reads
/// each account that it overrides.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CallOptions {
    gas_price: Option<U256>,
    max_fee_per_gas: Option<U256>,
    max_priority_fee_per_gas: Option<U256>,
    value: Option<U256>,
    pub(crate) access_list: Option<AccessList>,
    pub(crate) authorization_list: Option<Vec<SignedAuthorization>>,
    blob_versioned_hashes: Option<Vec<B256>>,
    max_fee_per_blob_gas: Option<U256>,
    pub(crate) state_overrides: Option<HashMap<Address, AccountFields>>,
    block_overrides: Option<BlockFields>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct AccountFields {
    pub(crate) balance: Option<U256>,
    pub(crate) nonce: Option<U64>,
    pub(crate) code: Option<Bytes>,
    pub(crate) state: Option<HashMap<B256, B256>>,
    pub(crate) state_diff: Option<HashMap<B256, B256>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct BlockFields {
    number: Option<U256>,
    difficulty: Option<U256>,
    time: Option<U64>,
    gas_limit: Option<U64>,
    fee_recipient: Option<Address>,
    prev_randao: Option<B256>,
    base_fee_per_gas: Option<U256>,
    blob_base_fee: Option<U256>,
}

impl CallOptions {
    /// Reads the fields from JSON that TypeScript has checked.
    pub fn parse(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|why| malformed("call", why))
    }

    /// What is offered for each gas, at most, and of that to the block's producer.
    fn fees(&self, base_fee: Option<u64>) -> (U256, U256) {
        match (self.gas_price, base_fee) {
            (Some(price), _) => (price, price),
            (None, Some(_)) => {
                (self.max_fee_per_gas.unwrap_or_default(), self.max_priority_fee_per_gas.unwrap_or_default())
            }
            (None, None) => (U256::ZERO, U256::ZERO),
        }
    }
}

/// What a message spends beside its gas, and what it offers for that.
pub(crate) struct Spending {
    pub(crate) fee_cap: U256,
    pub(crate) value: U256,
    pub(crate) blobs: usize,
    pub(crate) blob_fee_cap: U256,
}

impl Spending {
    pub(crate) fn of(view: &View, request: &CallRequest) -> Self {
        let none = CallOptions::default();
        let options = request.options.as_deref().unwrap_or(&none);
        Self {
            fee_cap: options.fees(view.header().base_fee_per_gas).0,
            value: options.value.unwrap_or_default(),
            blobs: options.blob_versioned_hashes.as_ref().map_or(0, Vec::len),
            blob_fee_cap: options.max_fee_per_blob_gas.unwrap_or_default(),
        }
    }
}

/// The reason of a refusal, without the words of eth_call around it.
pub(crate) fn reason_of(refusal: &str) -> &str {
    let inner = refusal.strip_prefix("err: ").and_then(|text| text.rsplit_once(" (supplied gas "));
    inner.map_or(refusal, |(reason, _)| reason)
}

/// How a call ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallResult {
    Success(Bytes),
    /// What something else than a call gave, as JSON.
    Json(String),
    Revert(Bytes),
    /// An EVM fault, in geth's words.
    Halt(String),
    /// The message could not start, in geth's words.
    Invalid(String),
    Missing(Missing),
    /// It entered the native contract at this address, which nothing here can run.
    Native(Address),
    /// The view's block left hot state: resolve it again.
    Outdated,
    /// It is longer than the serving thread may spend on it.
    Budget,
    Timeout,
    Cancelled,
}

/// A call in the terms of the EVM, with the context it runs in.
pub(crate) struct Message {
    pub(crate) tx: TxEnv,
    pub(crate) header: Header,
    /// Whether the context has randomness in place of a difficulty.
    pub(crate) merged: bool,
    pub(crate) blob_base_fee: Option<u128>,
    /// What the sender must be able to pay for each gas; the price it does pay is the transaction's.
    pub(crate) fee_cap: U256,
}

/// What a message runs in, before what it pretends.
#[derive(Debug)]
pub(crate) struct Setting<'a> {
    pub(crate) block: Cow<'a, Header>,
    /// Whether a pretended base fee sets the price, as it does in traces. Else it is only compared with.
    pub(crate) prices_pretended: bool,
}

/// Makes the message of a call, or says why it cannot start.
pub(crate) fn message(
    spec: &ChainSpec,
    setting: &Setting<'_>,
    request: &CallRequest,
) -> Result<Message, CallResult> {
    static NONE: CallOptions = CallOptions {
        gas_price: None,
        max_fee_per_gas: None,
        max_priority_fee_per_gas: None,
        value: None,
        access_list: None,
        authorization_list: None,
        blob_versioned_hashes: None,
        max_fee_per_blob_gas: None,
        state_overrides: None,
        block_overrides: None,
    };
    let options = request.options.as_deref().unwrap_or(&NONE);
    let header = request.header_on(&setting.block);
    let mut blob_base_fee = None;
    let mut merged = setting.block.difficulty.is_zero();
    if let Some(fields) = &options.block_overrides {
        merged |= fields.prev_randao.is_some();
        blob_base_fee = fields.blob_base_fee.map(|fee| fee.saturating_to());
    }
    let base_fee = if setting.prices_pretended { &header } else { &*setting.block }.base_fee_per_gas;
    let (fee_cap, tip) = options.fees(base_fee);
    check_fees(spec, request, &header, fee_cap, tip)?;
    check_lists(request, options)?;
    let free = fee_cap.is_zero() && tip.is_zero();
    let price = match (options.gas_price, base_fee) {
        (None, Some(base_fee)) if !free => fee_cap.min(tip.saturating_add(U256::from(base_fee))),
        _ => fee_cap,
    };
    let price = narrow(price, request)?;
    let blob_fee_cap = narrow(options.max_fee_per_blob_gas.unwrap_or_default(), request)?;
    if options.blob_versioned_hashes.is_some() && blob_fee_cap == 0 {
        blob_base_fee = Some(0);
    }
    let blob_hashes = options.blob_versioned_hashes.clone().unwrap_or_default();
    let authorizations = options.authorization_list.clone().unwrap_or_default();
    let tx = TxEnv {
        tx_type: 0,
        caller: request.from,
        gas_limit: request.gas,
        gas_price: price,
        kind: request.to.map_or(TxKind::Create, TxKind::Call),
        value: options.value.unwrap_or_default(),
        data: request.data.clone(),
        nonce: 0,
        chain_id: None,
        access_list: options.access_list.clone().unwrap_or_default(),
        gas_priority_fee: Some(price),
        blob_hashes,
        max_fee_per_blob_gas: blob_fee_cap,
        authorization_list: authorizations.into_iter().map(Either::Left).collect(),
    };
    Ok(Message { tx, header, merged, blob_base_fee, fee_cap })
}

/// Fees are compared before they are narrowed, in geth's order and words.
fn check_fees(
    spec: &ChainSpec,
    request: &CallRequest,
    header: &Header,
    fee_cap: U256,
    tip: U256,
) -> Result<(), CallResult> {
    let free = fee_cap.is_zero() && tip.is_zero();
    if free || !spec.is_london_active_at_block(header.number) {
        return Ok(());
    }
    let from = request.from.to_checksum(None);
    if fee_cap < tip {
        let text = format!(
            "max priority fee per gas higher than max fee per gas: address {from}, maxPriorityFeePerGas: {tip}, \
             maxFeePerGas: {fee_cap}"
        );
        return Err(refuse(request, &text));
    }
    let base_fee = header.base_fee_per_gas.unwrap_or_default();
    if fee_cap < U256::from(base_fee) {
        let text = format!(
            "max fee per gas less than block base fee: address {from}, maxFeePerGas: {fee_cap}, baseFee: {base_fee}"
        );
        return Err(refuse(request, &text));
    }
    Ok(())
}

/// Lists that may be there but not empty, and not with a creation.
fn check_lists(request: &CallRequest, options: &CallOptions) -> Result<(), CallResult> {
    if let Some(hashes) = &options.blob_versioned_hashes {
        if request.to.is_none() {
            return Err(refuse(request, "blob transaction of type create"));
        }
        if hashes.is_empty() {
            return Err(refuse(request, "blob transaction missing blob hashes"));
        }
        if let Some(index) = hashes.iter().position(|hash| hash[0] != VERSIONED_HASH_VERSION_KZG) {
            return Err(refuse(request, &format!("blob {index} has invalid hash version")));
        }
    }
    if let Some(list) = &options.authorization_list {
        let from = request.from.to_checksum(None);
        if request.to.is_none() {
            let text = format!("EIP-7702 transaction cannot be used to create contract (sender {from})");
            return Err(refuse(request, &text));
        }
        if list.is_empty() {
            return Err(refuse(request, &format!("EIP-7702 transaction with empty auth list (sender {from})")));
        }
    }
    Ok(())
}

/// Picks the transaction type whose rules the message needs at this fork: geth has one message for all.
pub(crate) fn choose_type(tx: &mut TxEnv, fork: SpecId) {
    let has_list = !tx.access_list.is_empty();
    tx.tx_type = if !tx.authorization_list.is_empty() && fork.is_enabled_in(SpecId::PRAGUE) {
        4
    } else if !tx.blob_hashes.is_empty() && fork.is_enabled_in(SpecId::CANCUN) {
        3
    } else if fork.is_enabled_in(SpecId::LONDON) {
        2
    } else {
        tx.gas_priority_fee = None;
        u8::from(has_list && fork.is_enabled_in(SpecId::BERLIN))
    };
}

fn narrow(value: U256, request: &CallRequest) -> Result<u128, CallResult> {
    u128::try_from(value).map_err(|_| refuse(request, TOO_POOR))
}

/// A message that could not start, worded as geth words it.
fn refuse(request: &CallRequest, why: &str) -> CallResult {
    CallResult::Invalid(format!("err: {why} (supplied gas {})", request.gas))
}

fn pretend(header: &mut Header, fields: &BlockFields) {
    if let Some(number) = fields.number {
        header.number = number.saturating_to();
    }
    if let Some(difficulty) = fields.difficulty {
        header.difficulty = difficulty;
    }
    if let Some(time) = fields.time {
        header.timestamp = time.to();
    }
    if let Some(limit) = fields.gas_limit {
        header.gas_limit = limit.to();
    }
    if let Some(recipient) = fields.fee_recipient {
        header.beneficiary = recipient;
    }
    if let Some(randao) = fields.prev_randao {
        header.mix_hash = randao;
    }
    if let Some(fee) = fields.base_fee_per_gas {
        header.base_fee_per_gas = Some(fee.saturating_to());
    }
}
