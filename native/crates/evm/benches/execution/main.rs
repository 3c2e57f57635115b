//! Blocks executed and verified by `Chain::execute` on hot state that lacks nothing, beside the same transactions on
//! bare revm: `cargo bench --bench execution -- [ROUNDS] [CASE]`. Prints the table of `docs/benchmarks.md`.

#![expect(clippy::unwrap_used, clippy::panic, clippy::expect_used, reason = "a benchmark: what fails ends it")]

mod case;
mod op_sepolia;
#[path = "../../tests/support/mod.rs"]
mod support;
mod synthetic;

use case::{Case, Recover};
use chain_query_evm::Execution;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

type Make = fn(&'static str) -> Case;

/// Work timed as one figure takes at least this long: it is repeated until it does.
const LEAST: Duration = Duration::from_millis(60);

fn main() {
    // cargo adds a flag that says that this is a benchmark.
    let mut args = std::env::args().skip(1).filter(|text| !text.starts_with("--"));
    let rounds: usize = args.next().map_or(7, |text| text.parse().expect("ROUNDS is a number"));
    let only = args.next().unwrap_or_default();
    let cases: [(&str, Make); 4] = [
        ("8 real blocks of OP Sepolia", op_sepolia::case),
        ("12 calls of 100 writes and logs a block", synthetic::writes),
        ("400 token transfers a block", synthetic::tokens),
        ("400 transfers a block", synthetic::transfers),
    ];
    println!(
        "| same blocks, one thread | Mgas a block | ours, blocks/s | ours, Mgas/s | bare revm, Mgas/s | ÷ revm | senders | ÷ revm + senders |"
    );
    println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    for (title, make) in cases.into_iter().filter(|(title, _)| title.contains(&only)) {
        let case = make(title);
        match rounds {
            // Ours alone, for a profiler.
            0 => drop((0..200).map(|_| ours(&case)).sum::<Duration>()),
            _ => println!("{}", measure(&case, rounds)),
        }
    }
}

/// CPU time of each of the three, in turn, round after round.
fn measure(case: &Case, rounds: usize) -> String {
    let parts: [&dyn Fn() -> Duration; 3] = [&|| ours(case), &|| bare(case), &|| recovery(&case.recover)];
    let mut taken = [const { Vec::new() }; 3];
    let repeats = parts.map(|part| (LEAST.as_secs_f64() / part().as_secs_f64().max(1e-6)).ceil() as u32);
    for _ in 0..rounds {
        for ((part, taken), repeats) in parts.iter().zip(&mut taken).zip(repeats) {
            taken.push((0..repeats).map(|_| part()).sum::<Duration>().as_secs_f64() / f64::from(repeats));
        }
    }
    // A chain knows the senders of what it executed before, and ours has executed it: finding them is measured apart.
    let [ours, _, senders] = &mut taken;
    ours.iter_mut().zip(senders).for_each(|(ours, senders)| *ours += *senders);
    let ratio = |of: &dyn Fn(usize) -> f64| median((0..rounds).map(of).collect());
    let revm = ratio(&|round| taken[1][round] / taken[0][round]);
    let both = ratio(&|round| (taken[1][round] + taken[2][round]) / taken[0][round]);
    let share = ratio(&|round| taken[2][round] / taken[0][round]);
    let [ours, bare, _] = taken.map(median);
    let (blocks, gas) = (case.blocks() as f64, case.gas as f64 / 1e6);
    format!(
        "| {} | {:.1} | {:.0} | {:.0} | {:.0} | {revm:.2} | {:.0} % | {both:.2} |",
        case.title,
        gas / blocks,
        blocks / ours,
        gas / ours,
        gas / bare,
        share * 100.0,
    )
}

fn median(mut list: Vec<f64>) -> f64 {
    list.sort_by(f64::total_cmp);
    list[list.len() / 2]
}

/// Everything from the bytes of a block to a head that requests see.
fn ours(case: &Case) -> Duration {
    let mut taken = Duration::ZERO;
    for (chain, blocks) in &case.ours {
        let before = chain.head_view().unwrap().number();
        let mut outcomes = Vec::with_capacity(blocks.len());
        taken += timed(|| {
            for block in blocks {
                let Execution::Done(outcome) = chain.execute(block).unwrap() else {
                    panic!("hot state lacks something")
                };
                outcomes.push(outcome);
            }
        });
        let gas: u64 = outcomes.iter().map(|outcome| outcome.header.gas_used).sum();
        assert!(gas > 0);
        chain.revert_to(before).unwrap();
    }
    taken
}

/// The transactions alone, senders known, nothing compared. What went in and what came out is made and freed untimed.
fn bare(case: &Case) -> Duration {
    let (mut taken, mut gas) = (Duration::ZERO, 0);
    for prepare in &case.bare {
        let run = prepare();
        let mut left = None;
        taken += timed(|| left = Some(run()));
        gas += left.unwrap().0;
    }
    assert_eq!(gas, case.gas, "bare revm did the same");
    taken
}

fn recovery(recover: &Recover) -> Duration {
    timed(recover)
}

fn timed(work: impl FnOnce()) -> Duration {
    let before = cpu_time();
    work();
    cpu_time() - before
}

/// What this thread has used of a processor: other programs on the machine do not count. Elsewhere than on Linux, the
/// clock.
fn cpu_time() -> Duration {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    // The kernel brings the figure up to date when the thread could be replaced by another.
    std::thread::yield_now();
    let used = std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|text| text.split(' ').next()?.parse().ok().map(Duration::from_nanos));
    used.unwrap_or_else(|| START.elapsed())
}
