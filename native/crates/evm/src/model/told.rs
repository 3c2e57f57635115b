//! Outcomes that another process executed and told of in the bytes of `Outcome::encode`. What they changed cannot be
//! proven without executing it. All else is checked here that readers of them go by: they may come from anywhere.

use crate::base::bytes::Reader;
use crate::base::error::{Error, malformed};
use crate::model::base_time::timestamp_ms;
use crate::model::diff::Diff;
use crate::model::header::decode_header;
use crate::model::outcome::{Extra, HAS_CONTRACT, HAS_ROOT, HAS_TO, SUCCEEDED};
use crate::model::verify::decode;
use alloy_consensus::Header;
use alloy_primitives::{B256, keccak256};
use op_alloy_consensus::OpTxEnvelope;

/// Larger ones are no integers in JavaScript.
const MAX_INTEGER: u64 = (1 << 53) - 1;
const MAX_TOPICS: u32 = 4;
const WHAT: &str = "outcome";

/// The outcome of a flashblock, as far as state needs it.
#[derive(Debug)]
pub(crate) struct ToldOutcome {
    pub(crate) header: Header,
    /// Of the block so far; nothing where its builder does not say it.
    pub(crate) hash: Option<B256>,
    pub(crate) transactions: usize,
    pub(crate) logs: usize,
    pub(crate) diff: Diff,
}

impl ToldOutcome {
    /// Reads all of it, and refuses what does not fit together.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Error> {
        let mut input = Reader::new(WHAT, bytes);
        let number = input.u64()?;
        let hash = Some(B256::from(input.array()?)).filter(|hash| !hash.is_zero());
        let parent_hash = B256::from(input.array()?);
        let timestamp = input.u64()?;
        let told_ms = input.u64()?;
        let encoded = input.bytes()?;
        let header = decode_header(encoded)?;
        expect("header", alloy_rlp::encode(&header) == encoded)?;
        expect("number", number == header.number && number <= MAX_INTEGER)?;
        expect("parent", parent_hash == header.parent_hash)?;
        expect("timestamp", timestamp == header.timestamp && timestamp <= MAX_INTEGER)?;
        expect("gas used", header.gas_used <= MAX_INTEGER)?;
        expect("hash", hash.is_none_or(|hash| keccak256(encoded) == hash))?;
        let rlp = input.bytes()?;
        let block = decode::<OpTxEnvelope>(rlp)?;
        expect("block", block.header == header)?;
        expect("ommers", block.body.ommers.is_empty())?;
        expect("withdrawals", block.body.withdrawals.is_some_and(|list| list.is_empty()))?;
        expect("milliseconds", told_ms == timestamp_ms(timestamp, rlp).unwrap_or_default())?;
        let diff = Diff::decode(input.bytes()?)?;
        expect("code", diff.codes.iter().all(|(hash, code)| keccak256(code) == *hash))?;
        let transactions = block.body.transactions.len();
        let logs = read_records(&mut input, transactions, header.gas_used)?;
        input.end()?;
        Ok(Self { header, hash, transactions, logs, diff })
    }
}

/// Passes over the receipts and logs of so many transactions; gives the number of logs.
fn read_records(input: &mut Reader<'_>, transactions: usize, gas_used: u64) -> Result<usize, Error> {
    expect("number of receipts", input.u32()? as usize == transactions)?;
    let mut logs_of = Vec::with_capacity(transactions);
    let mut before = None;
    for _ in 0..transactions {
        let (gas, count) = read_receipt(input)?;
        expect("gas of a receipt", before.is_none_or(|before| before <= gas) && gas <= gas_used)?;
        before = Some(gas);
        logs_of.push(count);
    }
    let mut count = 0;
    let total = input.u32()?;
    for (transaction, logs) in logs_of.into_iter().enumerate() {
        for _ in 0..logs {
            expect("place of a log", input.u32()? as usize == transaction)?;
            read_log(input)?;
            count += 1;
        }
    }
    expect("number of logs", total as usize == count)?;
    Ok(count)
}

/// The gas of its block up to it, and how many logs it has.
fn read_receipt(input: &mut Reader<'_>) -> Result<(u64, u32), Error> {
    // Its transaction's hash.
    input.take(32)?;
    let [_kind, flags] = input.array()?;
    expect("flags of a receipt", flags & !(HAS_TO | HAS_CONTRACT | HAS_ROOT | SUCCEEDED) == 0)?;
    // Its sender.
    input.take(20)?;
    for (flag, length) in [(HAS_TO, 20), (HAS_CONTRACT, 20), (HAS_ROOT, 32)] {
        input.take(if flags & flag == 0 { 0 } else { length })?;
    }
    let (own, cumulative) = (input.u64()?, input.u64()?);
    expect("gas of a receipt", own <= cumulative)?;
    read_quantity(input)?;
    // Its bloom.
    input.take(256)?;
    let logs = input.u32()?;
    for _ in 0..input.u32()? {
        let [tag] = input.array()?;
        expect("field of a receipt", Extra::is_known(tag))?;
        read_quantity(input)?;
    }
    Ok((cumulative, logs))
}

fn read_quantity(input: &mut Reader<'_>) -> Result<(), Error> {
    expect("quantity", input.bytes()?.len() <= 32)
}

fn read_log(input: &mut Reader<'_>) -> Result<(), Error> {
    input.take(20)?;
    let topics = input.u32()?;
    expect("number of topics", topics <= MAX_TOPICS)?;
    input.take(topics as usize * 32)?;
    input.bytes()?;
    Ok(())
}

fn expect(what: &str, fits: bool) -> Result<(), Error> {
    if fits { Ok(()) } else { Err(malformed(WHAT, format!("its {what} does not fit"))) }
}
