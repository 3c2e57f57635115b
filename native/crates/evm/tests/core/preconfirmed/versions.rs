//! Pre-confirmed states by version.

use super::case::{begin, extend, feed, newest, parse, promoted, settle};
use super::made::two_blocks;
use crate::support::CONTRACT;
use alloy_primitives::B256;
use chain_query_evm::Chain;
use serde_json::json;
use std::sync::Arc;

const KEPT: u64 = 16;

fn at(chain: &Arc<Chain>, version: u64) -> Option<(u64, u64)> {
    let view = chain.preconfirmed_view_at(version)?;
    Some((view.number(), view.flashblock_index().unwrap()))
}

#[test]
fn every_state_that_was_shown_can_be_opened_for_a_while() {
    let (case, messages) = two_blocks();
    let load = &*case.load;
    let chain = begin(&case);
    assert_eq!((chain.preconfirmed_version(), at(&chain, 0), at(&chain, 1)), (None, None, None));
    for (index, message) in messages[0].iter().enumerate() {
        let piece = extend(&chain, load, &parse(message)).unwrap();
        assert_eq!((piece.version, chain.preconfirmed_version()), (index as u64 + 1, Some(piece.version)));
    }
    // What is refused has no version.
    let mut wrong = messages[1][0].clone();
    wrong["diff"]["gas_used"] = json!("0x1");
    extend(&chain, load, &parse(&wrong)).unwrap_err();
    assert_eq!(chain.preconfirmed_version(), Some(3));
    feed(&chain, &case, &messages[1][..1]);
    assert_eq!((chain.preconfirmed_version(), newest(&chain)), (Some(4), Some((2, 0))));
    // Confirmed, dropped, nothing left: each is another state.
    promoted(&chain, &case.blocks[0]);
    assert_eq!((chain.preconfirmed_version(), newest(&chain)), (Some(5), Some((2, 0))));
    let base = |version| chain.preconfirmed_view_at(version).unwrap().base().0;
    assert_eq!((base(4), base(5)), (0, 1));
    chain.drop_preconfirmed(3);
    assert_eq!(chain.preconfirmed_version(), Some(5), "nothing was dropped");
    chain.drop_preconfirmed(2);
    assert_eq!((chain.preconfirmed_version(), newest(&chain), at(&chain, 6)), (None, None, None));
    // Those before can still be read, exactly as they were.
    let expected = [(1, 0), (1, 1), (1, 2), (2, 0), (2, 0)];
    for (version, expected) in (1..).zip(expected) {
        assert_eq!(at(&chain, version), Some(expected));
    }
    let third = |version| {
        let view = chain.preconfirmed_view_at(version).unwrap();
        settle(&view, load, || view.slot(CONTRACT, B256::with_last_byte(3))).unwrap().to::<u64>()
    };
    assert_eq!([third(1), third(2), third(3), third(5)], [0, 0, 11, 11]);
    for version in 7..7 + KEPT {
        feed(&chain, &case, &messages[1][..1]);
        assert_eq!(chain.preconfirmed_version(), Some(version), "nothing has version 6 again");
    }
    assert_eq!((at(&chain, 5), at(&chain, 7)), (None, Some((2, 0))));
    feed(&chain, &case, &messages[1][1..2]);
    assert_eq!((at(&chain, 7), at(&chain, 8)), (None, Some((2, 0))));
}
