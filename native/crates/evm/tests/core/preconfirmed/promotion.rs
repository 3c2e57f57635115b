//! Sealed blocks that are not what was pre-confirmed.

use super::case::{
    Case, begin, complete, cut, cuts, extend, feed, newest, open, pieces, promote, read_block, seal, settle,
};
use super::compare::{Probes, compare};
use super::made::{build, random_genesis, random_transaction, sign, two_blocks};
use super::real::{op_geth, op_sepolia};
use crate::support::{CONTRACT, Fixture, Random, options};
use alloy_consensus::{TxEip1559, proofs};
use alloy_primitives::{B256, U256};
use chain_query_evm::{Chain, ChainOptions, Difference, Error, HotLimits, Outcome, Promoted, Promotion};
use op_alloy_consensus::OpTxEnvelope;
use std::cell::{Cell, RefCell};
use std::sync::Arc;

type OpBlock = super::case::OpBlock;

fn sealed(mut block: OpBlock, change: impl FnOnce(&mut OpBlock)) -> Vec<u8> {
    change(&mut block);
    block.header.transactions_root = proofs::calculate_transaction_root(&block.body.transactions);
    alloy_rlp::encode(block)
}

fn executed(case: &Case<'_>, rlp: &[u8]) -> Outcome {
    let chain = begin(case);
    complete(&chain, &*case.load, || chain.execute(rlp)).unwrap()
}

#[test]
fn a_sealed_block_that_differs_says_from_where() {
    let (case, messages) = two_blocks();
    let load = &*case.load;
    let chain = begin(&case);
    assert!(chain.promote(&case.blocks[0]).unwrap().is_none());
    feed(&chain, &case, &messages[0]);
    assert!(chain.promote(&case.blocks[1]).unwrap().is_none());
    let differs = |change: &dyn Fn(&mut OpBlock)| {
        let rlp = sealed(read_block(&case.blocks[0]), change);
        let promotion = promote(&chain, load, &rlp, || {});
        assert!(matches!(promotion.result, Promoted::No), "{promotion:?}");
        assert_eq!(promotion.preconfirmed, 3);
        assert_eq!(newest(&chain), Some((1, 2)), "it is all still there");
        promotion.difference.unwrap()
    };
    // Nothing is shared with the first piece.
    assert_eq!(differs(&|block| block.body.transactions.swap(0, 1)), Difference::Transaction(0));
    assert_eq!(differs(&|block| block.header.timestamp += 1), Difference::Context("timestamp"));
    assert_eq!(differs(&|block| block.header.mix_hash = B256::ZERO), Difference::Context("prev randao"));
    let both = |block: &mut OpBlock| {
        block.body.transactions.swap(1, 2);
        block.header.gas_limit += 1;
    };
    assert_eq!(differs(&both), Difference::Transaction(1));
    let root = |block: &mut OpBlock| block.header.receipts_root = B256::ZERO;
    assert_eq!(differs(&root), Difference::Results("receipts root"));
    // The rest was executed, and does not give what the header says.
    let more = |block: &mut OpBlock| block.body.transactions.push(block.body.transactions[0].clone());
    // More gas than that: known before there are results to compare.
    assert_eq!(differs(&more), Difference::Results("transactions"));
    let other_root = |block: &mut OpBlock| {
        block.body.transactions.swap(1, 2);
        block.header.receipts_root = B256::ZERO;
    };
    assert_eq!(differs(&other_root), Difference::Results("receipts root"));
    let footprint = |block: &mut OpBlock| {
        block.body.transactions.swap(1, 2);
        block.header.blob_gas_used = Some(1);
    };
    assert_eq!(differs(&footprint), Difference::Results("blob gas used"));
    let tx = TxEip1559 { chain_id: 7, gas_limit: 21_000, max_fee_per_gas: 10, ..Default::default() };
    let poor = |block: &mut OpBlock| block.body.transactions.push(sign(&mut Random::from_seed(1), &tx).0);
    assert_eq!(differs(&poor), Difference::Results("transactions"));
    // A block that is not what its header says is refused.
    let mut block = read_block(&case.blocks[0]);
    block.header.transactions_root = B256::ZERO;
    assert!(matches!(chain.promote(&alloy_rlp::encode(block)), Err(Error::InvalidBlock(_))));
}

#[test]
fn a_block_that_is_known_by_its_hash_need_not_be_read() {
    let (case, messages) = two_blocks();
    let chain = begin(&case);
    let [first, second] = [0, 1].map(|index| read_block(&case.blocks[index]).header.hash_slow());
    assert!(chain.promote_sealed(first, None).unwrap().is_none());
    feed(&chain, &case, &messages[0]);
    feed(&chain, &case, &messages[1]);
    assert!(chain.promote_sealed(second, None).unwrap().is_none(), "the one below is first");
    for (hash, rlp) in [first, second].into_iter().zip(&case.blocks) {
        let promotion = chain.promote_sealed(hash, None).unwrap().unwrap();
        assert_eq!(promotion.difference, None);
        assert_eq!(done(promotion).block, *rlp);
    }
    assert_eq!(newest(&chain), None);
}

/// Those above what was pre-confirmed do not stand on another block; a view of them goes on.
#[test]
fn a_block_that_is_shorter_or_longer_is_taken_over() {
    let (case, messages) = two_blocks();
    let load = &*case.load;
    let whole = read_block(&case.blocks[0]);
    let mut longer = whole.clone();
    longer.body.transactions.push(whole.body.transactions[0].clone());
    for (block, from) in [(cut(&whole, 2), 2), (cut(&whole, 1), 1), (longer, 3)] {
        let rlp = sealed(block, |block| {
            block.header.transactions_root = proofs::calculate_transaction_root(&block.body.transactions);
            block.header = seal(&begin(&case), load, block).header;
        });
        for executes in [false, true] {
            let chain = begin(&case);
            feed(&chain, &case, &messages[0]);
            feed(&chain, &case, &messages[1]);
            let view = Arc::new(chain.preconfirmed_view().unwrap());
            if executes {
                complete(&chain, load, || chain.execute(&rlp)).unwrap();
            } else {
                let promotion = promote(&chain, load, &rlp, || {});
                assert_eq!(promotion.difference, Some(Difference::Transaction(from)));
                assert_eq!(done(promotion).encode(), executed(&case, &rlp).encode());
            }
            assert_eq!(newest(&chain), None);
            let value = settle(&view, load, || view.slot(CONTRACT, B256::with_last_byte(3)));
            assert_eq!(value, Some(U256::from(21)));
            assert!(chain.promote(&rlp).unwrap().is_none());
        }
    }
}

fn done(promotion: Promotion) -> Outcome {
    match promotion.result {
        Promoted::Done(outcome) => *outcome,
        other => panic!("{other:?}"),
    }
}

#[derive(Debug, Default)]
struct Seen {
    same: usize,
    resumed: usize,
    executed: usize,
    rounds: usize,
    /// Flashblocks that came between two rounds.
    between: usize,
}

/// Pre-confirms a part of one block and takes over another one with the same beginning.
fn take_over(
    case: &Case<'_>,
    other: &OpBlock,
    rlp: &[u8],
    options: ChainOptions,
    random: &mut Random,
    seen: &mut Seen,
) {
    let load = &*case.load;
    let chain = open(&case.spec, options, &case.parent);
    let count = other.body.transactions.len();
    let all = pieces(&begin(case), load, other, &cuts(random, count));
    let early = 1 + random.below(all.len() as u64) as usize;
    for flashblock in &all[..early] {
        extend(&chain, load, flashblock).unwrap();
    }
    let (rounds, next) = (Cell::new(0), Cell::new(early));
    let between = RefCell::new(Random::from_seed(random.below(1 << 32)));
    let mut first = all[..early].iter().map(|flashblock| flashblock.diff.transactions.len()).sum::<usize>();
    let promotion = promote(&chain, load, rlp, || {
        rounds.set(rounds.get() + 1);
        assert_eq!(newest(&chain), Some((other.header.number, next.get() as u64 - 1)), "nothing is lost");
        if next.get() < all.len() && between.borrow_mut().once_in(2) {
            extend(&chain, load, &all[next.get()]).unwrap();
            first += all[next.get()].diff.transactions.len();
            next.set(next.get() + 1);
        }
    });
    seen.rounds = seen.rounds.max(rounds.get());
    seen.between += next.get() - early;
    assert_eq!(promotion.preconfirmed, first);
    let expected = executed(case, rlp);
    let block = read_block(rlp);
    let shared = block.body.transactions.iter().zip(&other.body.transactions[..first]);
    let shared = shared.take_while(|(mine, theirs)| mine == theirs).count();
    let same = shared == first && shared == block.body.transactions.len();
    assert_eq!(promotion.difference, (!same).then_some(Difference::Transaction(shared)));
    let outcome = match promotion.result {
        Promoted::Done(outcome) => {
            *(if same { &mut seen.same } else { &mut seen.resumed }) += 1;
            *outcome
        }
        Promoted::No => {
            assert!(all[0].diff.transactions.len() > shared, "the first piece is shared");
            seen.executed += 1;
            complete(&chain, load, || chain.execute(rlp)).unwrap()
        }
        Promoted::Missing(missing) => panic!("{missing:?}"),
    };
    assert_eq!(outcome.diff, expected.diff, "{}", case.name);
    assert_eq!(outcome.encode(), expected.encode(), "{}", case.name);
    let oracle = begin(case);
    oracle.apply(&alloy_rlp::encode(&expected.header), &expected.diff.encode()).unwrap();
    assert_eq!(newest(&chain), None);
    // A call may need more than the smallest hot state can hold.
    let head = |chain: &Arc<Chain>| Arc::new(chain.head_view().unwrap());
    if options.hot.entries > 1 {
        compare(&head(&chain), &head(&oracle), load, &Probes::of(case, &[expected]), random);
    }
}

#[test]
fn what_is_left_of_random_blocks_is_executed_on_what_is_shared() {
    let mut random = Random::from_env();
    let mut seen = Seen::default();
    for round in 0..150 {
        let cancun = round % 2 == 0;
        let list = |random: &mut Random, count: u64| -> Vec<OpTxEnvelope> {
            (0..count).map(|_| random_transaction(random)).collect()
        };
        let count = 1 + random.below(14);
        let body = list(&mut random, count);
        let mut other = body[..random.below(count + 1) as usize].to_vec();
        let rest = random.below(6);
        other.extend(list(&mut random, rest));
        let text = random_genesis(cancun);
        let case = build(&text, cancun, vec![body]);
        let theirs = build(&text, cancun, vec![other]);
        take_over(&case, &read_block(&theirs.blocks[0]), &case.blocks[0], options(), &mut random, &mut seen);
    }
    println!("{seen:?}");
    assert!(seen.resumed > 50 && seen.executed > 0 && seen.rounds > 1 && seen.between > 5, "{seen:?}");
}

/// Also where hot state holds one entry a shard, and what was loaded for the rest must be kept elsewhere.
#[test]
fn what_is_left_of_real_blocks_is_executed_on_what_is_shared() {
    let mut random = Random::from_env();
    let mut seen = Seen::default();
    let fixtures = Fixture::all();
    let cramped = ChainOptions { hot: HotLimits { window: 4, entries: 1, code_bytes: 1 }, ..options() };
    for case in op_sepolia(&fixtures).iter().chain([&op_geth()]) {
        for options in [options(), cramped] {
            let block = read_block(&case.blocks[0]);
            let count = block.body.transactions.len() as u64;
            for _ in 0..3 {
                let short = cut(&block, 1 + random.below(count) as usize);
                take_over(case, &short, &case.blocks[0], options, &mut random, &mut seen);
            }
        }
    }
    println!("{seen:?}");
    assert!(seen.resumed > 10, "{seen:?}");
}
