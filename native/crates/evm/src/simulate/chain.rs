//! The chain of blocks that a simulation makes: their order, the blocks between them, and their headers before anything is run.

use super::refusal::{Refusal, refuse};
use super::request::{AskedBlock, BlockFields, SimulationRequest};
use crate::rules::spec::{ChainSpec, Stack};
use alloy_consensus::{EMPTY_OMMER_ROOT_HASH, EMPTY_ROOT_HASH, Header};
use alloy_eips::eip1559::{BaseFeeParams, INITIAL_BASE_FEE, calc_next_block_base_fee};
use alloy_eips::eip7685::EMPTY_REQUESTS_HASH;
use alloy_hardforks::EthereumHardforks;
use alloy_op_hardforks::OpHardforks;
use alloy_primitives::{B256, Bytes, U256};
use op_alloy_consensus::{decode_holocene_extra_data, decode_jovian_extra_data};

/// Seconds between blocks on Ethereum.
const SLOT_SECONDS: u64 = 12;

/// A block with its number and its time.
pub(super) struct Placed<'a> {
    pub(super) number: u64,
    pub(super) timestamp: u64,
    /// Nothing for a block that only fills a gap.
    pub(super) asked: Option<&'a AskedBlock>,
}

/// Puts the blocks in order above `base`, with empty ones in the gaps between their numbers.
pub(super) fn place<'a>(
    spec: &ChainSpec,
    base: &Header,
    request: &'a SimulationRequest,
) -> Result<Vec<Placed<'a>>, Refusal> {
    let seconds = if spec.stack == Stack::Op { request.block_time.max(1) } else { SLOT_SECONDS };
    let (mut number, mut timestamp) = (base.number, base.timestamp);
    let mut placed = Vec::new();
    for asked in &request.blocks {
        let fields = &asked.block_overrides;
        let wanted = fields.number.unwrap_or_else(|| U256::from(number).saturating_add(U256::ONE));
        if wanted <= U256::from(number) {
            let text = format!("block numbers must be in order: {wanted} <= {number}");
            return Err(refuse(-38020, text));
        }
        if wanted - U256::from(base.number) > U256::from(request.limits.blocks) {
            return Err(refuse(-38026, "too many blocks"));
        }
        let wanted: u64 = wanted.saturating_to();
        if fields.base_fee_per_gas.is_some_and(|fee| fee > U256::from(u64::MAX)) {
            return Err(refuse(-32602, "baseFeePerGas must fit into 64 bits"));
        }
        for number in number + 1..wanted {
            timestamp = later(timestamp, seconds)?;
            placed.push(Placed { number, timestamp, asked: None });
        }
        let at = match fields.time.map(|time| time.to::<u64>()) {
            Some(time) if time <= timestamp => {
                let text = format!("block timestamps must be in order: {time} <= {timestamp}");
                return Err(refuse(-38021, text));
            }
            Some(time) => time,
            None => later(timestamp, seconds)?,
        };
        (number, timestamp) = (wanted, at);
        placed.push(Placed { number, timestamp, asked: Some(asked) });
    }
    Ok(placed)
}

fn later(timestamp: u64, seconds: u64) -> Result<u64, Refusal> {
    timestamp.checked_add(seconds).ok_or_else(|| refuse(-38021, "block timestamps must fit into 64 bits"))
}

/// The header of a block as it is before its calls are run.
pub(super) fn header(
    spec: &ChainSpec,
    parent: &Header,
    parent_hash: B256,
    placed: &Placed<'_>,
    validation: bool,
) -> Header {
    static NONE: BlockFields = BlockFields {
        number: None,
        difficulty: None,
        time: None,
        gas_limit: None,
        fee_recipient: None,
        prev_randao: None,
        base_fee_per_gas: None,
        blob_base_fee: None,
        beacon_root: None,
        withdrawals: None,
    };
    let &Placed { number, timestamp, asked } = placed;
    let fields = asked.map_or(&NONE, |asked| &asked.block_overrides);
    let is_london = spec.is_london_active_at_block(number);
    // What is as late as Shanghai comes after the merge, whatever number it pretends to have.
    let is_merged = spec.stack == Stack::Op
        || spec.is_paris_active_at_block(number)
        || spec.is_shanghai_active_at_timestamp(timestamp);
    let has_time_fork = |active: bool| is_merged && is_london && active;
    let is_cancun = has_time_fork(spec.is_cancun_active_at_timestamp(timestamp));
    let is_prague = has_time_fork(spec.is_prague_active_at_timestamp(timestamp));
    let base_fee = is_london.then(|| match fields.base_fee_per_gas {
        Some(fee) => fee.saturating_to(),
        None if validation => next_base_fee(spec, parent, timestamp),
        // Calls that pay nothing are below any other.
        None => 0,
    });
    Header {
        parent_hash,
        ommers_hash: EMPTY_OMMER_ROOT_HASH,
        beneficiary: fields.fee_recipient.unwrap_or(parent.beneficiary),
        state_root: B256::ZERO,
        transactions_root: EMPTY_ROOT_HASH,
        receipts_root: EMPTY_ROOT_HASH,
        logs_bloom: Default::default(),
        difficulty: if is_merged { U256::ZERO } else { fields.difficulty.unwrap_or(parent.difficulty) },
        number,
        gas_limit: fields.gas_limit.map_or(parent.gas_limit, |limit| limit.to()),
        gas_used: 0,
        timestamp,
        extra_data: extra_data(spec, parent, timestamp),
        mix_hash: fields.prev_randao.unwrap_or_default(),
        nonce: Default::default(),
        base_fee_per_gas: base_fee,
        withdrawals_root: has_time_fork(spec.is_shanghai_active_at_timestamp(timestamp))
            .then_some(EMPTY_ROOT_HASH),
        blob_gas_used: is_cancun.then_some(0),
        excess_blob_gas: is_cancun.then(|| excess_blob_gas(spec, parent, timestamp)),
        parent_beacon_block_root: is_cancun.then(|| fields.beacon_root.unwrap_or_default()),
        requests_hash: is_prague.then_some(EMPTY_REQUESTS_HASH),
        ..Header::default()
    }
}

/// From Holocene on the OP stack has the parameters of its base fee there, and each block those of the one before it.
fn extra_data(spec: &ChainSpec, parent: &Header, timestamp: u64) -> Bytes {
    let keeps = spec.stack == Stack::Op && spec.is_holocene_active_at_timestamp(timestamp);
    if keeps { parent.extra_data.clone() } else { Bytes::new() }
}

fn next_base_fee(spec: &ChainSpec, parent: &Header, timestamp: u64) -> u64 {
    let Some(base_fee) = parent.base_fee_per_gas else {
        return INITIAL_BASE_FEE;
    };
    if spec.stack == Stack::Ethereum {
        return calc_next_block_base_fee(parent.gas_used, parent.gas_limit, base_fee, BaseFeeParams::ethereum());
    }
    let usual = match spec.is_canyon_active_at_timestamp(timestamp) {
        true => BaseFeeParams::optimism_canyon(),
        false => BaseFeeParams::optimism(),
    };
    let (told, least) = told_params(&parent.extra_data);
    // From Jovian on a block is as full as its gas or its data make it.
    let footprint = if least.is_some() { parent.blob_gas_used.unwrap_or_default() } else { 0 };
    let used = parent.gas_used.max(footprint);
    let fee = calc_next_block_base_fee(used, parent.gas_limit, base_fee, told.unwrap_or(usual));
    fee.max(least.unwrap_or_default())
}

/// The parameters of the base fee in a header of the OP stack, from Holocene on, and the least fee, from Jovian on.
fn told_params(extra_data: &[u8]) -> (Option<BaseFeeParams>, Option<u64>) {
    let (told, least) = match decode_jovian_extra_data(extra_data) {
        Ok((elasticity, denominator, least)) => (Some((elasticity, denominator)), Some(least)),
        Err(_) => (decode_holocene_extra_data(extra_data).ok(), None),
    };
    let params = told.filter(|(elasticity, denominator)| *elasticity > 0 && *denominator > 0);
    (params.map(|(elasticity, denominator)| BaseFeeParams::new(denominator.into(), elasticity.into())), least)
}

fn excess_blob_gas(spec: &ChainSpec, parent: &Header, timestamp: u64) -> u64 {
    let (Some(params), Some(excess), Some(used)) =
        (spec.blob_params_at(timestamp), parent.excess_blob_gas, parent.blob_gas_used)
    else {
        return 0;
    };
    params.next_block_excess_blob_gas_osaka(excess, used, parent.base_fee_per_gas.unwrap_or_default())
}
