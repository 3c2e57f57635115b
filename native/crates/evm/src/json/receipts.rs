//! `eth_getBlockReceipts`, as the outcome that executing the block gives, but without its changes of state.

use crate::base::error::{Error, malformed};
use crate::base::limits::Limits;
use crate::json::l1::L1Attributes;
use crate::json::part::{Part, read_typed};
use crate::model::diff::Diff;
use crate::model::outcome::{Extra, Outcome};
use crate::model::transaction::{DEPOSIT, StackTransaction, l1_extras};
use crate::model::verify::{Sent, check_contents, commit_receipts, decode, invalid, records, recover, same};
use crate::rules::spec::{ChainSpec, Stack};
use alloy_consensus::{Header, TxEnvelope, TxReceipt};
use alloy_primitives::{Bytes, U256};
use op_alloy_consensus::OpTxEnvelope;
use serde_json::Value;

/// Makes the outcome of a block (RLP) from the JSON of its receipts, with an empty diff. Receipts must be those the
/// header commits to; what they do not hold is computed from the block. One thing cannot be verified: the nonces of
/// deposits between Regolith and Canyon, which that era's receipts root left out.
pub fn outcome_from_json(spec: &ChainSpec, block: &[u8], receipts: &str) -> Result<Outcome, Error> {
    match spec.stack {
        Stack::Ethereum => read_receipts::<TxEnvelope>(spec, block, receipts),
        Stack::Op => read_receipts::<OpTxEnvelope>(spec, block, receipts),
    }
}

fn read_receipts<T: StackTransaction>(spec: &ChainSpec, rlp: &[u8], text: &str) -> Result<Outcome, Error> {
    let block = decode::<T>(rlp)?;
    let header = &block.header;
    check_contents(spec, &block)?;
    let sent = recover(spec, &block, 0, &Limits::none())?;
    let receipts = read_list::<T>(spec, header, text)?;
    check_receipts::<T>(spec, header, &sent, &receipts).map_err(|error| Part::Receipts.blame(error))?;
    let l1 = match spec.stack {
        Stack::Op => l1_from_block(spec, header, &sent)?,
        Stack::Ethereum => vec![Vec::new(); sent.len()],
    };
    Ok(Outcome {
        hash: header.hash_slow(),
        header: header.clone(),
        block: Bytes::copy_from_slice(rlp),
        receipts: records(spec, header, &sent, &receipts, l1),
        diff: Diff::default(),
    })
}

/// Receipts as their JSON says, before anything is checked.
pub(super) fn read_list<T: StackTransaction>(
    spec: &ChainSpec,
    header: &Header,
    text: &str,
) -> Result<Vec<T::Receipt>, Error> {
    let list: Vec<Value> = serde_json::from_str(text).map_err(|why| malformed("receipts", why))?;
    let roots = spec.receipts_hold_roots(header.number);
    let receipts = list.into_iter().enumerate().map(|(index, value)| {
        read_typed("receipts", index, value, |fields| {
            // Some nodes write both; the chain commits to one.
            fields.remove(if roots { "status" } else { "root" });
        })
    });
    receipts.collect()
}

fn check_receipts<T: StackTransaction>(
    spec: &ChainSpec,
    header: &Header,
    sent: &[Sent<T>],
    receipts: &[T::Receipt],
) -> Result<(), Error> {
    same(header, "number of receipts", sent.len(), receipts.len())?;
    // The root commits to each receipt's type, status, cumulative gas, bloom and logs.
    let (root, bloom) = commit_receipts(spec, header, receipts);
    same(header, "receipts root", header.receipts_root, root)?;
    same(header, "logs bloom", header.logs_bloom, bloom)?;
    let mut before = 0;
    for (index, receipt) in receipts.iter().enumerate() {
        let cumulative = receipt.cumulative_gas_used();
        if cumulative < before {
            return Err(invalid(header, format!("its receipt {index} has less gas used than the one before")));
        }
        before = cumulative;
    }
    same(header, "gas used", header.gas_used, before)
}

/// Fees for L1 data are not in receipts as the chain commits to them: they follow from the block's first transaction.
fn l1_from_block<T: StackTransaction>(
    spec: &ChainSpec,
    header: &Header,
    sent: &[Sent<T>],
) -> Result<Vec<Vec<(Extra, U256)>>, Error> {
    let raw: Vec<&[u8]> = sent.iter().map(|tx| tx.encoded_bytes().as_ref()).collect();
    let is_deposit = |raw: &&[u8]| raw.first() == Some(&DEPOSIT);
    let first = sent.first().filter(|tx| is_deposit(&tx.encoded_bytes().as_ref()));
    let attributes = first.and_then(|tx| L1Attributes::parse(tx.value().inner().input()));
    if attributes.is_none() && !raw.iter().all(is_deposit) {
        return Err(Error::Unsupported(format!(
            "block {} does not begin with L1 attributes, which the fees of its transactions follow from",
            header.number
        )));
    }
    let Ok(extras) = l1_extras(spec, header, &mut attributes.unwrap_or_default(), &raw);
    Ok(extras)
}
