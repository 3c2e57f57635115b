//! What a header claims, and what it bounds: a block that uses more gas than its header says is invalid, and is known to
//! be so in the middle of a transaction. Deposits of the OP stack need this: their gas limit is whatever they say.

use crate::base::error::Error;
use crate::model::transaction::DEPOSIT;
use crate::rules::spec::{ChainSpec, Stack};
use alloy_consensus::{Header, Transaction};
use alloy_hardforks::EthereumHardforks;
use alloy_op_hardforks::OpHardforks;
use std::fmt;

/// Later times cannot be told apart as JavaScript's numbers. No clock says one of them.
const MAX_TIMESTAMP: u64 = (1 << 53) - 1;

/// Why a header cannot be that of a block on `parent`, whatever is in the block. `None` if it can.
pub(crate) fn contradiction(header: &Header, parent: &Header) -> Option<String> {
    if header.number.checked_sub(1) != Some(parent.number) {
        return Some(format!("its number is not the one after {}", parent.number));
    }
    if header.timestamp < parent.timestamp {
        return Some("its timestamp is before its parent's".into());
    }
    // Nothing nearer: development chains travel in time.
    if header.timestamp > MAX_TIMESTAMP {
        return Some(format!("its timestamp {} is no time", header.timestamp));
    }
    if header.gas_used > header.gas_limit {
        return Some(format!("it says gas used {} of a limit of {}", header.gas_used, header.gas_limit));
    }
    None
}

/// The gas that a block says it used. As text, what is wrong with one that uses more.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GasClaim {
    /// `None` where nothing is claimed, or where it does not bound what is spent.
    total: Option<u64>,
    /// The share of what a transaction spends that can be refunded at most: one part of this many.
    refund_quotient: u64,
    /// Gas above it is kept apart from what frames have left (EIP-7825).
    transaction_cap: u64,
    /// Before Regolith a deposit reports its gas limit, and a system transaction none at all, whatever they spend.
    deposits_report_otherwise: bool,
}

impl GasClaim {
    /// What the header says, or what a flashblock says of its block so far (`total`).
    pub(crate) fn new(spec: &ChainSpec, header: &Header, total: u64, transaction_cap: u64) -> Self {
        // From Amsterdam on a block counts gas for state beside the other, and says the larger of the two (EIP-8037).
        let bounds = !spec.is_amsterdam_active_at_timestamp(header.timestamp);
        Self {
            total: bounds.then_some(total),
            // EIP-3529.
            refund_quotient: if spec.is_london_active_at_block(header.number) { 5 } else { 2 },
            transaction_cap,
            deposits_report_otherwise: spec.stack == Stack::Op
                && !spec.is_regolith_active_at_timestamp(header.timestamp),
        }
    }

    /// For a block that is being made.
    pub(crate) const fn none() -> Self {
        Self { total: None, refund_quotient: 5, transaction_cap: u64::MAX, deposits_report_otherwise: false }
    }

    /// Whether a block that used so much so far has used more than it says.
    pub(crate) fn is_passed_by(&self, used: u64) -> bool {
        self.total.is_some_and(|total| used > total)
    }

    /// The least gas that a transaction must have left while it runs, after `used` by those before it. With less, its
    /// block cannot be what it says.
    ///
    /// A transaction that has spent `s` so far will have spent `S >= s` in the end: what all frames have left together
    /// never grows. It reports at least `S - S / q`, as no more than one part of `q` is refunded, and a floor
    /// (EIP-7623) only adds to that. So `R`, what the block has left by its claim, is passed for sure once
    /// `s > R * q / (q - 1)`. Nothing smaller would do: a transaction that gets the whole refund may spend that much.
    pub(crate) fn least_left(&self, used: u64, tx: &impl Transaction) -> u64 {
        let Some(total) = self.total else { return 0 };
        if self.deposits_report_otherwise && tx.ty() == DEPOSIT {
            return 0;
        }
        let rest = total.saturating_sub(used);
        let most = rest.saturating_add(rest / (self.refund_quotient - 1));
        tx.gas_limit().min(self.transaction_cap).saturating_sub(most)
    }
}

impl fmt::Display for GasClaim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "it says gas used {}, its transactions use more", self.total.unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test")]
mod tests {
    use super::*;
    use alloy_consensus::TxLegacy;

    /// Whatever a transaction spends, the claim that fits it lets it, and one that is too small does not let it spend
    /// anything that could not end within it.
    #[test]
    fn the_bound_is_exact() {
        for refund_quotient in [2, 5] {
            for claimed in 0..600 {
                let claim = GasClaim {
                    total: Some(1_000 + claimed),
                    refund_quotient,
                    transaction_cap: u64::MAX,
                    deposits_report_otherwise: false,
                };
                let tx = TxLegacy { gas_limit: 1_000_000, ..Default::default() };
                let most = tx.gas_limit - claim.least_left(1_000, &tx);
                let least_used = |spent: u64| spent - spent / refund_quotient;
                assert!(least_used(most) <= claimed, "it may spend {most} of {claimed}");
                assert!(least_used(most + 1) > claimed, "{} of {claimed} may be valid", most + 1);
            }
        }
    }

    #[test]
    fn nothing_is_bounded_where_the_claim_says_nothing() {
        let tx = TxLegacy { gas_limit: 1_000_000, ..Default::default() };
        assert_eq!(GasClaim::none().least_left(5, &tx), 0);
        assert!(!GasClaim::none().is_passed_by(u64::MAX));
        let spec =
            ChainSpec::parse(r#"{ "chainId": 7, "optimism": {}, "canyonTime": 0, "regolithTime": 0 }"#).unwrap();
        let header = Header { timestamp: 1_800_000_000, number: 1 << 25, ..Default::default() };
        let claim = GasClaim::new(&spec, &header, 10, u64::MAX);
        assert_eq!((claim.least_left(10, &tx), claim.least_left(11, &tx)), (1_000_000, 1_000_000));
        assert!(claim.is_passed_by(11) && !claim.is_passed_by(10));
        // A limit that cannot be passed.
        assert_eq!(GasClaim::new(&spec, &header, 2_000_000, u64::MAX).least_left(0, &tx), 0);
    }
}

/// The largest gas limit of a block that is executed.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GasCeiling(pub(crate) u64);

impl GasCeiling {
    /// Refuses what a block of this gas limit might take.
    pub(crate) fn check(self, limit: u64) -> Result<(), Error> {
        if limit <= self.0 {
            return Ok(());
        }
        Err(Error::Exhausted(format!(
            "its gas limit of {limit} is above {}, the most that is taken (--max-block-gas)",
            self.0
        )))
    }
}
