//! The eight blocks of OP Sepolia, each on its parent's state.

use crate::case::{BareState, Case, bare_run, bare_state, seal};
use crate::support::{Fixture, Witness, options};
use alloy_consensus::Block;
use alloy_consensus::transaction::SignerRecoverable;
use alloy_eips::eip2718::Encodable2718;
use alloy_evm::FromTxWithEncoded;
use alloy_op_evm::{OpEvmFactory, OpTx};
use alloy_rlp::Decodable;
use chain_query_evm::Chain;
use op_alloy_consensus::OpTxEnvelope;
use std::hint::black_box;
use std::sync::Arc;

pub fn case(title: &'static str) -> Case {
    let (mut ours, mut bare, mut gas, mut all) = (Vec::new(), Vec::new(), 0, Vec::new());
    for fixture in Fixture::all() {
        let chain = Arc::new(Chain::new(fixture.spec(), options()).unwrap());
        chain.open(&alloy_rlp::encode(&fixture.parent_header)).unwrap();
        let witness = Witness::new(&fixture);
        let unsealed = fixture.block();
        let mut held = Vec::new();
        let outcome = seal(&chain, &unsealed, |key| witness.load(key), &mut held);
        let state: BareState = bare_state(&held);
        let Block { body, .. } = Block::<OpTxEnvelope>::decode(&mut &*unsealed).unwrap();
        let mut header = outcome.header;
        header.state_root = witness.root_after(&outcome.diff);
        assert_eq!(header.hash_slow(), fixture.expected_block_hash);
        gas += header.gas_used;
        let sent = body
            .transactions
            .iter()
            .map(|tx| OpTx::from_encoded_tx(tx, tx.recover_signer().unwrap(), tx.encoded_2718().into()));
        let env = chain.spec().op_env(&header);
        bare.push(bare_run(OpEvmFactory::<OpTx>::default(), state, vec![(env, sent.collect())]));
        all.extend(body.transactions.iter().cloned());
        ours.push((chain, vec![alloy_rlp::encode(Block { header, body })]));
    }
    let recover = move || {
        for tx in &all {
            black_box(tx.recover_signer().unwrap());
        }
    };
    Case { title, gas, ours, bare, recover: Box::new(recover) }
}
