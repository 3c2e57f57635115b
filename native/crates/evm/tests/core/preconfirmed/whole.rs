//! Blocks in pieces against the same blocks whole.

use super::case::{
    Case, complete, cut, cuts, extend_counted, message, open, parse, promoted, promoted_by_header, read_block,
    seal,
};
use super::compare::{Probes, compare, compare_piece, oracle_view};
use super::forms::Form;
use super::made::random_case;
use super::real::{op_geth, op_sepolia};
use crate::support::{Fixture, Random, options};
use alloy_primitives::{Address, B256, U256};
use chain_query_evm::{Chain, ChainOptions, HotLimits, Outcome, View};
use std::sync::Arc;

#[derive(Debug, Default)]
pub struct Seen {
    pieces: usize,
    calls: usize,
    promoted: usize,
    rounds: usize,
    wiped: usize,
    /// Pieces with a change that the whole block does not have: it was changed back.
    changed_back: usize,
}

/// Feeds all blocks of a case in pieces and takes each over when its time has come, at random.
pub fn run_case(case: &Case<'_>, form: Form, random: &mut Random, seen: &mut Seen) {
    let load = &*case.load;
    let theirs = open(&case.spec, options(), &case.parent);
    let ours = open(&case.spec, options(), &case.parent);
    ours.set_preconfirmed_depth(case.blocks.len());
    let outcomes: Vec<Outcome> = {
        let chain = open(&case.spec, options(), &case.parent);
        case.blocks.iter().map(|rlp| complete(&chain, load, || chain.execute(rlp)).unwrap()).collect()
    };
    let probes = Probes::of(case, &outcomes);
    let mut old: Vec<(Arc<View>, Arc<View>)> = Vec::new();
    let mut taken = 0;
    for (at, rlp) in case.blocks.iter().enumerate() {
        let block = read_block(rlp);
        let mut before: Option<Outcome> = None;
        for (index, count) in cuts(random, block.body.transactions.len()).into_iter().enumerate() {
            if taken < at && random.once_in(4) {
                promote(case, form, &ours, &outcomes, &mut taken);
            }
            let so_far = seal(&theirs, load, &cut(&block, count));
            let first = before.as_ref().map_or(0, |outcome| outcome.receipts.len());
            let said = message(&block, &so_far.header, &format!("p{at}"), index as u64, first, count);
            let (piece, lacked) = extend_counted(&ours, load, &parse(&form.apply(said, &so_far.header))).unwrap();
            let shown = form.shown(&so_far);
            compare_piece(&piece, before.as_ref(), &shown, &block);
            seen.rounds = seen.rounds.max(lacked.len());
            seen.pieces += 1;
            let whole = &outcomes[at].diff.slots;
            let in_block = |(address, slot, _): &(Address, B256, U256)| {
                whole.iter().any(|(other, at, _)| (other, at) == (address, slot))
            };
            seen.changed_back += usize::from(!piece.outcome.diff.slots.iter().all(in_block));
            seen.wiped += piece.outcome.diff.wiped.len();
            let view = Arc::new(ours.preconfirmed_view().unwrap());
            assert_eq!((view.number(), view.hash()), (block.header.number, shown.hash), "{}", case.name);
            assert_eq!(view.flashblock_index(), Some(index as u64));
            assert_eq!(view.header(), &shown.header);
            let oracle = oracle_view(case, &outcomes[..at], &so_far);
            seen.calls += compare(&view, &oracle, load, &probes, random);
            old.push((view, oracle));
            let (view, oracle) = &old[random.below(old.len() as u64) as usize];
            compare(view, oracle, load, &probes, random);
            before = Some(so_far);
        }
        let last = before.unwrap();
        assert_eq!((last.hash, &last.header), (outcomes[at].hash, &outcomes[at].header), "the last is the block");
        complete(&theirs, load, || theirs.execute(rlp)).unwrap();
    }
    while taken < case.blocks.len() {
        promote(case, form, &ours, &outcomes, &mut taken);
    }
    seen.promoted += taken;
    assert!(ours.preconfirmed_view().is_none(), "all is confirmed");
    for (view, oracle) in &old {
        compare(view, oracle, load, &probes, random);
    }
    let head = Arc::new(ours.head_view().unwrap());
    assert_eq!(head.hash(), outcomes.last().unwrap().hash);
    compare(&head, &Arc::new(theirs.head_view().unwrap()), load, &probes, random);
    // The same versions below it, too.
    for outcome in outcomes.iter().rev() {
        let number = outcome.header.number;
        let at = |chain: &Arc<Chain>| Arc::new(chain.view(&alloy_rlp::encode(&outcome.header)).unwrap());
        compare(&at(&ours), &at(&theirs), load, &probes, random);
        ours.revert_to(number - 1).unwrap();
        theirs.revert_to(number - 1).unwrap();
    }
}

fn promote(case: &Case<'_>, form: Form, chain: &Arc<Chain>, outcomes: &[Outcome], done: &mut usize) {
    // By its header alone, and by its contents, in turn.
    let outcome = if form != Form::Real && done.is_multiple_of(2) {
        promoted_by_header(chain, &outcomes[*done].header)
    } else {
        promoted(chain, &case.blocks[*done])
    };
    assert_eq!(outcome.diff, outcomes[*done].diff, "{}", case.name);
    assert_eq!(outcome.encode(), outcomes[*done].encode(), "{}", case.name);
    *done += 1;
}

#[test]
fn real_blocks_in_pieces_are_what_they_are_whole() {
    let mut random = Random::from_env();
    let fixtures = Fixture::all();
    let mut seen = Seen::default();
    let (sepolia, geth) = (op_sepolia(&fixtures), op_geth());
    for case in sepolia.iter().chain([&geth]) {
        run_case(case, Form::Real, &mut random, &mut seen);
    }
    // Those that follow each other, as other builders would tell of them.
    for (case, form) in [(&sepolia[0], Form::Absent), (&geth, Form::ZeroRoot), (&geth, Form::Unsaid)] {
        run_case(case, form, &mut random, &mut seen);
    }
    println!("{seen:?}");
    assert_eq!(seen.promoted, (8 + 2) + (4 + 2 + 2));
    assert!(seen.pieces > 20 && seen.calls > 5 * seen.pieces, "{seen:?}");
}

#[test]
fn random_blocks_in_pieces_are_what_they_are_whole() {
    let mut random = Random::from_env();
    let mut seen = Seen::default();
    // Sixty have about 33 of each that is counted below, and one seed of sixty had no more than 20.
    for round in 0..120 {
        let case = random_case(&mut random, round % 2 == 0);
        let form = Form::ALL[random.below(Form::ALL.len() as u64) as usize];
        run_case(&case, form, &mut random, &mut seen);
    }
    println!("{seen:?}");
    assert!(seen.wiped > 20 && seen.changed_back > 20, "{seen:?}");
}

/// Hot state that holds one entry a shard: a piece gets all it needs round by round, each key once.
#[test]
fn pieces_are_complete_although_their_keys_evict_each_other() {
    let fixtures = Fixture::all();
    let cramped = ChainOptions { hot: HotLimits { window: 4, entries: 1, code_bytes: 1 }, ..options() };
    for case in op_sepolia(&fixtures) {
        let oracle = open(&case.spec, options(), &case.parent);
        let chain = open(&case.spec, cramped, &case.parent);
        let block = read_block(&case.blocks[0]);
        let count = block.body.transactions.len();
        let (mut rounds, mut before) = (Vec::new(), 0);
        for (index, count) in [1, count / 2, count].into_iter().enumerate() {
            let so_far = seal(&oracle, &*case.load, &cut(&block, count));
            let flashblock = parse(&message(&block, &so_far.header, "p", index as u64, before, count));
            let (piece, lacked) = extend_counted(&chain, &*case.load, &flashblock).unwrap();
            assert_eq!(piece.outcome.header, so_far.header);
            rounds.push(lacked);
            before = count;
        }
        println!("{}: keys a round {rounds:?}", case.name);
        promoted(&chain, &case.blocks[0]);
    }
}
