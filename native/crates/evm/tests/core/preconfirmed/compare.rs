//! Two states, which must answer alike.

use super::case::{Case, Load, OpBlock, answer, open, read_block, settle};
use crate::support::{CONTRACT, GAS, Random, options, request, with_options};
use alloy_consensus::transaction::SignerRecoverable;
use alloy_consensus::{Block, BlockBody, Transaction};
use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::{Address, B256, Bytes, U256, address, hex};
use chain_query_evm::{CallRequest, CallResult, Outcome, Piece, View};
use serde_json::json;
use std::sync::Arc;

/// What is compared: keys and calls.
#[derive(Default)]
pub struct Probes {
    accounts: Vec<Address>,
    slots: Vec<(Address, B256)>,
    calls: Vec<CallRequest>,
}

pub const L1_BLOCK: Address = address!("4200000000000000000000000000000000000015");

impl Probes {
    pub fn of(case: &Case<'_>, outcomes: &[Outcome]) -> Self {
        let mut probes = Self::default();
        for outcome in outcomes {
            probes.accounts.extend(outcome.diff.accounts.iter().map(|(address, _)| *address));
            probes.slots.extend(outcome.diff.slots.iter().map(|(address, slot, _)| (*address, *slot)));
            for slot in 0..9 {
                probes.slots.push((L1_BLOCK, B256::from(U256::from(slot))));
            }
        }
        for rlp in &case.blocks {
            for tx in read_block(rlp).body.transactions {
                let from = tx.recover_signer().unwrap();
                probes.calls.push(CallRequest {
                    from,
                    to: tx.to(),
                    gas: GAS,
                    data: tx.input().clone(),
                    options: None,
                });
            }
        }
        for selector in [hex!("5cf24969"), hex!("8381f58a"), hex!("b80777ea")] {
            let data = Bytes::copy_from_slice(&selector);
            probes.calls.push(CallRequest { from: CONTRACT, to: Some(L1_BLOCK), gas: GAS, data, options: None });
        }
        probes
    }
}

/// Returns NUMBER, TIMESTAMP, BASEFEE, PREVRANDAO, COINBASE, GASLIMIT, BLOBBASEFEE and the hashes of this block and
/// the eight before it.
pub fn context() -> CallRequest {
    let mut code = Vec::new();
    let mut words = 0u8;
    let mut put = |value: &[u8]| {
        code.extend_from_slice(value);
        code.extend_from_slice(&[0x61, words >> 3, words << 5, 0x52]);
        words += 1;
    };
    for opcode in [0x43, 0x42, 0x48, 0x44, 0x41, 0x45] {
        put(&[opcode]);
    }
    for back in 0..9 {
        put(&[0x60, back, 0x43, 0x03, 0x40]);
    }
    code.extend_from_slice(&[0x61, words >> 3, words << 5, 0x60, 0, 0xf3]);
    let request = request(CONTRACT);
    let max = U256::MAX >> 8;
    with_options(
        request,
        &json!({
            "gasPrice": U256::from(1_000_000_000_000u64),
            "stateOverrides": {
                CONTRACT.to_string(): { "code": hex::encode_prefixed(code) },
                Address::ZERO.to_string(): { "balance": max },
            },
        }),
    )
}

pub fn compare(
    ours: &Arc<View>,
    theirs: &Arc<View>,
    load: &Load<'_>,
    probes: &Probes,
    random: &mut Random,
) -> usize {
    for address in &probes.accounts {
        let mine = settle(ours, load, || ours.account(*address));
        assert_eq!(mine, settle(theirs, load, || theirs.account(*address)), "account {address}");
    }
    for (address, slot) in &probes.slots {
        let mine = settle(ours, load, || ours.slot(*address, *slot));
        assert_eq!(mine, settle(theirs, load, || theirs.slot(*address, *slot)), "slot {slot} of {address}");
    }
    let mut compared = 0;
    let context = context();
    let fixed = &probes.calls[probes.calls.len().saturating_sub(3)..];
    let picked: Vec<&CallRequest> =
        (0..4).map(|_| &probes.calls[random.below(probes.calls.len() as u64) as usize]).collect();
    for request in fixed.iter().chain(picked).chain([&context]) {
        let mine = answer(ours, load, request);
        assert_eq!(mine, answer(theirs, load, request), "a call to {:?}", request.to);
        compared += usize::from(mine.is_some());
    }
    assert!(matches!(answer(ours, load, &context), Some(CallResult::Success(_))), "the context can be read");
    compared
}

/// The state after some blocks, each applied from its whole diff.
pub fn oracle_view(case: &Case<'_>, confirmed: &[Outcome], last: &Outcome) -> Arc<View> {
    let chain = open(&case.spec, options(), &case.parent);
    for outcome in confirmed.iter().chain([last]) {
        chain.apply(&alloy_rlp::encode(&outcome.header), &outcome.diff.encode()).unwrap();
    }
    Arc::new(chain.view(&alloy_rlp::encode(&last.header)).unwrap())
}

/// A piece must be the difference between two executions from the start of the block.
pub fn compare_piece(piece: &Piece, before: Option<&Outcome>, so_far: &Outcome, block: &OpBlock) {
    let first = before.map_or(0, |outcome| outcome.receipts.len());
    let logs: usize = so_far.receipts[..first].iter().map(|receipt| receipt.logs.len()).sum();
    assert_eq!((piece.first_transaction, piece.first_log), (first, logs));
    let transactions = block.body.transactions[first..so_far.receipts.len()].to_vec();
    let body = BlockBody { transactions, ommers: Vec::new(), withdrawals: Some(Withdrawals::default()) };
    let expected = Outcome {
        hash: so_far.hash,
        header: so_far.header.clone(),
        block: alloy_rlp::encode(Block { header: so_far.header.clone(), body }).into(),
        receipts: so_far.receipts[first..].to_vec(),
        diff: piece.outcome.diff.clone(),
    };
    assert_eq!(piece.outcome.header, expected.header);
    assert_eq!(piece.outcome.encode(), expected.encode());
}
