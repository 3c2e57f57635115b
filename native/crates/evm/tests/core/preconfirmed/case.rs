//! Blocks with the state below them, and how they are handed in.

use crate::support::{CONTRACT, MAX_ROUNDS, Random, options};
use alloy_consensus::{Block, Header, proofs};
use alloy_eips::eip2718::Encodable2718;
use alloy_primitives::{B256, Bytes, U64};
use alloy_rlp::Decodable;
use alloy_trie::EMPTY_ROOT_HASH;
use chain_query_evm::{
    CallRequest, CallResult, Chain, ChainOptions, ChainSpec, Error, Execution, Flashblock, Key, Lane, Missing,
    Outcome, Piece, Preconfirmation, Promoted, Promotion, Read, SealedRoots, View, call,
};
use op_alloy_consensus::OpTxEnvelope;
use serde_json::{Value, json};
use std::collections::HashSet;
use std::sync::Arc;

pub type Load<'a> = dyn Fn(&Key) -> Option<Vec<u8>> + 'a;
pub type OpBlock = Block<OpTxEnvelope>;

/// Consecutive sealed blocks, and the state below the first of them.
pub struct Case<'a> {
    pub name: String,
    pub spec: ChainSpec,
    pub parent: Header,
    pub blocks: Vec<Vec<u8>>,
    pub load: Box<Load<'a>>,
}

pub fn hold(load: &Load<'_>, missing: &mut Missing) -> Vec<Vec<u8>> {
    // Speculation also asks for keys that a block never touches; a witness does not have those.
    let loaded: Vec<(Key, Vec<u8>)> = missing.keys.iter().filter_map(|key| Some((*key, load(key)?))).collect();
    missing.keys = loaded.iter().map(|(key, _)| *key).collect();
    loaded.into_iter().map(|(_, value)| value).collect()
}

pub fn provide(view: &View, load: &Load<'_>, mut missing: Missing) {
    let values = hold(load, &mut missing);
    view.provide(&missing, &values.iter().map(Vec::as_slice).collect::<Vec<_>>()).unwrap();
}

pub fn open(spec: &ChainSpec, options: ChainOptions, parent: &Header) -> Arc<Chain> {
    let chain = Chain::new(spec.clone(), options).unwrap();
    chain.open(&alloy_rlp::encode(parent)).unwrap();
    Arc::new(chain)
}

pub fn complete(
    chain: &Arc<Chain>,
    load: &Load<'_>,
    mut run: impl FnMut() -> Result<Execution, Error>,
) -> Result<Outcome, Error> {
    for _ in 0..MAX_ROUNDS {
        match run()? {
            Execution::Done(outcome) => return Ok(*outcome),
            Execution::Missing(missing) => provide(&chain.head_view()?, load, missing),
        };
    }
    panic!("still missing keys after {MAX_ROUNDS} rounds");
}

/// Hands a flashblock in until nothing is missing; the piece, and how many keys each round lacked. No key is asked for twice: so it
/// ends, however many rounds that takes.
pub fn extend_counted(
    chain: &Arc<Chain>,
    load: &Load<'_>,
    flashblock: &Flashblock,
) -> Result<(Piece, Vec<usize>), Error> {
    let mut lacked = Vec::new();
    let mut provided = HashSet::new();
    loop {
        let mut missing = match chain.extend_preconfirmed(flashblock)? {
            Preconfirmation::Done(piece) => return Ok((*piece, lacked)),
            Preconfirmation::Missing(missing) => missing,
        };
        let values = hold(load, &mut missing);
        assert!(!values.is_empty(), "nobody has {:?}", missing.keys);
        for key in &missing.keys {
            assert!(provided.insert(*key), "asked for {key:?} again");
        }
        lacked.push(values.len());
        chain.head_view()?.provide(&missing, &values.iter().map(Vec::as_slice).collect::<Vec<_>>())?;
    }
}

pub fn extend(chain: &Arc<Chain>, load: &Load<'_>, flashblock: &Flashblock) -> Result<Piece, Error> {
    extend_counted(chain, load, flashblock).map(|(piece, _)| piece)
}

pub fn seal(chain: &Arc<Chain>, load: &Load<'_>, block: &OpBlock) -> Outcome {
    let rlp = alloy_rlp::encode(block);
    complete(chain, load, || chain.seal(&rlp)).unwrap()
}

/// The first transactions of a block.
pub fn cut(block: &OpBlock, count: usize) -> OpBlock {
    let mut block = block.clone();
    block.body.transactions.truncate(count);
    block.header.transactions_root = proofs::calculate_transaction_root(&block.body.transactions);
    block
}

/// The message that says: these are the transactions after the first `before`, and the block so far is `so_far`.
pub fn message(block: &OpBlock, so_far: &Header, payload: &str, index: u64, before: usize, count: usize) -> Value {
    let raw: Vec<Bytes> =
        block.body.transactions[before..count].iter().map(|tx| tx.encoded_2718().into()).collect();
    let quantity = |value: u64| json!(U64::from(value));
    let header = &block.header;
    let mut message = json!({
        "payload_id": payload, "index": index, "metadata": { "block_number": header.number },
        "diff": {
            "state_root": so_far.state_root, "receipts_root": so_far.receipts_root,
            "logs_bloom": so_far.logs_bloom, "gas_used": quantity(so_far.gas_used),
            "block_hash": so_far.hash_slow(), "transactions": raw, "withdrawals": [],
            "withdrawals_root": so_far.withdrawals_root.unwrap_or(EMPTY_ROOT_HASH),
            "blob_gas_used": quantity(so_far.blob_gas_used.unwrap_or_default()),
        },
    });
    if index == 0 {
        message["base"] = json!({
            "parent_beacon_block_root": header.parent_beacon_block_root.unwrap_or_default(),
            "parent_hash": header.parent_hash, "fee_recipient": header.beneficiary,
            "prev_randao": header.mix_hash, "block_number": quantity(header.number),
            "gas_limit": quantity(header.gas_limit), "timestamp": quantity(header.timestamp),
            "extra_data": header.extra_data, "base_fee_per_gas": quantity(header.base_fee_per_gas.unwrap()),
        });
    }
    message
}

pub fn parse(message: &Value) -> Flashblock {
    Flashblock::parse(&message.to_string()).unwrap()
}

pub fn read_block(rlp: &[u8]) -> OpBlock {
    OpBlock::decode(&mut &*rlp).unwrap()
}

/// Where a block of `count` transactions is cut: after the first one mostly, as builders do, then anywhere.
pub fn cuts(random: &mut Random, count: usize) -> Vec<usize> {
    let mut cuts: Vec<usize> = (0..1 + random.below(6)).map(|_| random.below(count as u64 + 1) as usize).collect();
    cuts.push(count);
    if !random.once_in(4) {
        cuts.push(1.min(count));
    }
    cuts.sort_unstable();
    cuts
}

pub fn settle<T>(view: &View, load: &Load<'_>, read: impl Fn() -> Read<T>) -> Option<T> {
    for _ in 0..4 {
        match read() {
            Read::Value(value) => return Some(value),
            Read::Missing(missing) => {
                // What no witness reaches is the same nothing on both sides.
                provide(view, &|key| Some(load(key).unwrap_or_default()), missing);
            }
            Read::Outdated => panic!("a view is outdated"),
        }
    }
    None
}

/// Runs a call; `None` if it needs code that nobody has.
pub fn answer(view: &Arc<View>, load: &Load<'_>, request: &CallRequest) -> Option<CallResult> {
    for _ in 0..MAX_ROUNDS {
        match call(view, request, &Lane::Inline(1 << 40)) {
            CallResult::Missing(missing) => {
                let code = |key: &Key| matches!(key, Key::Code(_)) && load(key).is_none();
                if missing.keys.iter().all(code) {
                    return None;
                }
                let any = |key: &Key| if code(key) { None } else { Some(load(key).unwrap_or_default()) };
                provide(view, &any, missing);
            }
            result => return Some(result),
        }
    }
    panic!("a call is never complete");
}

pub fn begin(case: &Case<'_>) -> Arc<Chain> {
    open(&case.spec, options(), &case.parent)
}

pub fn newest(chain: &Arc<Chain>) -> Option<(u64, u64)> {
    let view = chain.preconfirmed_view()?;
    Some((view.number(), view.flashblock_index().unwrap()))
}

pub fn slot(chain: &Arc<Chain>, load: &Load<'_>, slot: u8) -> u64 {
    let view = chain.preconfirmed_view().unwrap();
    settle(&view, load, || view.slot(CONTRACT, B256::with_last_byte(slot))).unwrap().to()
}

pub fn feed(chain: &Arc<Chain>, case: &Case<'_>, messages: &[Value]) {
    for message in messages {
        extend(chain, &*case.load, &parse(message)).unwrap();
    }
}

/// Takes over a sealed block that is as it was pre-confirmed.
pub fn promoted(chain: &Arc<Chain>, rlp: &[u8]) -> Outcome {
    match chain.promote(rlp).unwrap() {
        Some(Promotion { difference: None, result: Promoted::Done(outcome), .. }) => *outcome,
        other => panic!("it is as it was pre-confirmed: {other:?}"),
    }
}

/// The same by the sealed header, without the block.
pub fn promoted_by_header(chain: &Arc<Chain>, header: &Header) -> Outcome {
    let Header { state_root, withdrawals_root, .. } = *header;
    match chain.promote_sealed(header.hash_slow(), Some(SealedRoots { state_root, withdrawals_root })).unwrap() {
        Some(Promotion { difference: None, result: Promoted::Done(outcome), .. }) => *outcome,
        other => panic!("it is as it was pre-confirmed: {other:?}"),
    }
}

/// Takes over a sealed block until nothing is missing; calls `between` after each round that lacked something.
pub fn promote(chain: &Arc<Chain>, load: &Load<'_>, rlp: &[u8], mut between: impl FnMut()) -> Promotion {
    for _ in 0..MAX_ROUNDS {
        let promotion = chain.promote(rlp).unwrap().unwrap();
        let Promoted::Missing(missing) = promotion.result else { return promotion };
        between();
        provide(&chain.head_view().unwrap(), load, missing);
    }
    panic!("still missing keys after {MAX_ROUNDS} rounds");
}

/// The messages of a block in pieces that end where `cuts` say.
pub fn pieces(oracle: &Arc<Chain>, load: &Load<'_>, block: &OpBlock, cuts: &[usize]) -> Vec<Flashblock> {
    let mut before = 0;
    let list = cuts.iter().enumerate().map(|(index, count)| {
        let so_far = seal(oracle, load, &cut(block, *count));
        let message = message(block, &so_far.header, "p", index as u64, before, *count);
        before = *count;
        parse(&message)
    });
    list.collect()
}
