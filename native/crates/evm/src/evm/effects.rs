//! What transactions did that are not executed here, as an upstream tells it: a state diff (`prestateTracer` with
//! `diffMode`) and a receipt of each.

use crate::base::error::{Error, malformed};
use crate::model::outcome::Extra;
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, Log, U64, U256};
use serde::Deserialize;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Of all transactions of a block, in order.
#[derive(Debug)]
pub struct Effects {
    pub(crate) transactions: Vec<TransactionEffects>,
    /// Whether all of them are taken, as the rules of the block are not known.
    pub(crate) is_whole: bool,
    /// Accounts that such a block may write outside of its transactions: nothing here knows what they were.
    pub(crate) unknown: BTreeSet<Address>,
}

/// Of one transaction.
#[derive(Debug)]
pub(crate) struct TransactionEffects {
    pub(crate) succeeded: bool,
    pub(crate) gas_used: u64,
    pub(crate) logs: Vec<Log>,
    /// What its receipt has beside what the chain commits to, deposits' nonces left out.
    pub(crate) extras: Vec<(Extra, U256)>,
    pub(crate) accounts: BTreeMap<Address, AccountEffects>,
}

/// Of one transaction on one account: what is `None` in `after` stayed as it was.
#[derive(Debug, Default)]
pub(crate) struct AccountEffects {
    /// `None`: there was no account.
    pub(crate) before: Option<AccountParts>,
    /// `None`: the account was deleted.
    pub(crate) after: Option<AccountParts>,
    /// What each slot was, and what it became.
    pub(crate) slots: BTreeMap<U256, (U256, U256)>,
}

#[derive(Debug, Default)]
pub(crate) struct AccountParts {
    pub(crate) nonce: Option<u64>,
    pub(crate) balance: Option<U256>,
    pub(crate) code: Option<Bytes>,
}

#[derive(Deserialize)]
struct Text {
    diffs: Vec<TextDiff>,
    receipts: Vec<TextReceipt>,
    #[serde(default)]
    whole: bool,
    #[serde(default)]
    unknown: BTreeSet<Address>,
}

#[derive(Deserialize)]
struct TextDiff {
    pre: BTreeMap<Address, TextAccount>,
    post: BTreeMap<Address, TextAccount>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextAccount {
    balance: Option<U256>,
    nonce: Option<Nonce>,
    code: Option<Bytes>,
    code_hash: Option<B256>,
    #[serde(default)]
    storage: HashMap<B256, B256>,
}

/// geth and reth write nonces as numbers, others as quantities.
#[derive(Deserialize)]
#[serde(untagged)]
enum Nonce {
    Number(u64),
    Quantity(U64),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TextReceipt {
    status: U64,
    cumulative_gas_used: U64,
    logs: Vec<Log>,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

/// Names of what follows from rules and is served with receipts.
const EXTRAS: [(&str, Extra); 11] = [
    ("blobGasUsed", Extra::BlobGasUsed),
    ("blobGasPrice", Extra::BlobGasPrice),
    ("l1GasPrice", Extra::L1GasPrice),
    ("l1GasUsed", Extra::L1GasUsed),
    ("l1Fee", Extra::L1Fee),
    ("l1BaseFeeScalar", Extra::L1BaseFeeScalar),
    ("l1BlobBaseFee", Extra::L1BlobBaseFee),
    ("l1BlobBaseFeeScalar", Extra::L1BlobBaseFeeScalar),
    ("operatorFeeScalar", Extra::OperatorFeeScalar),
    ("operatorFeeConstant", Extra::OperatorFeeConstant),
    ("daFootprintGasScalar", Extra::DaFootprintGasScalar),
];

fn read_extras(fields: &BTreeMap<String, Value>) -> Result<Vec<(Extra, U256)>, Error> {
    let told = EXTRAS.iter().filter_map(|(name, extra)| Some((name, *extra, fields.get(*name)?)));
    told.filter(|(_, _, value)| !value.is_null())
        .map(|(name, extra, value)| {
            let value = U256::deserialize(value).map_err(|why| malformed("receipts", format!("{name}: {why}")))?;
            Ok((extra, value))
        })
        .collect()
}

impl Effects {
    /// Reads `{diffs, receipts}`: what `debug_traceBlockByHash` and `eth_getBlockReceipts` give, each a list; with `whole` and
    /// `unknown` where the rules of the block are not known.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let Text { diffs, receipts, whole, unknown } =
            serde_json::from_str(text).map_err(|why| malformed("state diffs", why))?;
        if diffs.len() != receipts.len() {
            return Err(malformed("state diffs", "there is not one for each receipt"));
        }
        let mut before = 0;
        let transactions = diffs.into_iter().zip(receipts).map(|(diff, receipt)| {
            let total: u64 = receipt.cumulative_gas_used.to();
            let gas_used = total.checked_sub(before).ok_or_else(|| malformed("receipts", "gas used shrinks"))?;
            before = total;
            Ok(TransactionEffects {
                succeeded: !receipt.status.is_zero(),
                gas_used,
                extras: read_extras(&receipt.others)?,
                logs: receipt.logs,
                accounts: read_diff(diff),
            })
        });
        Ok(Self { transactions: transactions.collect::<Result<_, Error>>()?, is_whole: whole, unknown })
    }
}

/// `pre` has what was changed as it was, and all of an account that was deleted; `post` has what it became. Neither has
/// slots that are zero in it.
fn read_diff(TextDiff { pre, mut post }: TextDiff) -> BTreeMap<Address, AccountEffects> {
    let mut accounts = BTreeMap::new();
    for (address, was) in pre {
        let mut effects = AccountEffects::default();
        let became = post.remove(&address);
        for (slot, value) in &was.storage {
            effects.slots.entry(U256::from_be_bytes(slot.0)).or_default().0 = U256::from_be_bytes(value.0);
        }
        let mut before = parts(&was);
        // A nonce of zero is left out.
        before.nonce.get_or_insert(0);
        effects.before = Some(before);
        effects.take(became);
        accounts.insert(address, effects);
    }
    for (address, became) in post {
        let mut effects = AccountEffects::default();
        effects.take(Some(became));
        accounts.insert(address, effects);
    }
    accounts
}

impl AccountEffects {
    fn take(&mut self, became: Option<TextAccount>) {
        let Some(became) = became else { return };
        for (slot, value) in &became.storage {
            self.slots.entry(U256::from_be_bytes(slot.0)).or_default().1 = U256::from_be_bytes(value.0);
        }
        self.after = Some(parts(&became));
    }
}

/// geth leaves out code that is empty, and names it by this hash or by none.
fn is_no_code(hash: &B256) -> bool {
    hash.is_zero() || *hash == KECCAK256_EMPTY
}

fn parts(account: &TextAccount) -> AccountParts {
    AccountParts {
        nonce: account.nonce.as_ref().map(|nonce| match nonce {
            Nonce::Number(nonce) => *nonce,
            Nonce::Quantity(nonce) => nonce.to(),
        }),
        balance: account.balance,
        code: account.code.clone().or_else(|| account.code_hash.filter(is_no_code).map(|_| Bytes::new())),
    }
}
