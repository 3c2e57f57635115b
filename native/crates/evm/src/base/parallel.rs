//! Work that is the same for many items, on several cores.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// Items that are worth a thread: finding as many senders takes a millisecond, starting a thread a twentieth of it.
const PER_THREAD: usize = 24;
const MAX_THREADS: usize = 8;

/// Maps items in order; the first error in that order is the result.
pub(crate) fn map<T: Sync, R: Send, E: Send>(
    items: &[T],
    run: impl Fn(usize, &T) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let threads = cores().min(MAX_THREADS).min(items.len() / PER_THREAD).max(1);
    let size = items.len().div_ceil(threads).max(1);
    let part = |first: usize| -> Result<Vec<R>, E> {
        let items = items.iter().enumerate().skip(first).take(size);
        items.map(|(index, item)| run(index, item)).collect()
    };
    if threads == 1 {
        return part(0);
    }
    thread::scope(|scope| {
        let part = &part;
        let others: Vec<_> = (1..threads).map(|thread| scope.spawn(move || part(thread * size))).collect();
        let mut all = part(0)?;
        for other in others {
            all.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic))?);
        }
        Ok(all)
    })
}

/// Items from which on a thread is worth it that makes them while they are used.
const WORTH_A_HELPER: usize = 8;

/// Items that are used in order, and made by one more thread meanwhile. Whoever needs one before it is there makes others.
pub(crate) struct Supply<'a, R, E> {
    make: Box<dyn Fn(usize) -> Result<R, E> + Sync + 'a>,
    made: Vec<OnceLock<Result<R, E>>>,
    /// The first that nobody has begun.
    next: AtomicUsize,
}

impl<'a, R: Send + Sync, E: Send + Sync + Clone> Supply<'a, R, E> {
    pub(crate) fn new(count: usize, make: impl Fn(usize) -> Result<R, E> + Sync + 'a) -> Self {
        let made = (0..count).map(|_| OnceLock::new()).collect();
        Self { make: Box::new(make), made, next: AtomicUsize::new(0) }
    }

    pub(crate) const fn len(&self) -> usize {
        self.made.len()
    }

    /// Does some work while the items are made.
    pub(crate) fn beside<T>(&self, work: impl FnOnce() -> T) -> T {
        if self.made.len() < WORTH_A_HELPER || cores() == 1 {
            return work();
        }
        thread::scope(|scope| {
            // Where no thread can be started, this one makes them as it needs them.
            let _ = thread::Builder::new().spawn_scoped(scope, || while self.make_next() {});
            let done = work();
            // Both see to those that are left.
            while self.make_next() {}
            done
        })
    }

    /// Begins no more of them: nobody needs them.
    pub(crate) fn stop(&self) {
        self.next.store(self.made.len(), Ordering::Relaxed);
    }

    /// An item. While another thread makes it, this one makes those after it.
    pub(crate) fn get(&self, index: usize) -> Result<&R, E> {
        while self.made[index].get().is_none() && self.make_next() {}
        self.make_at(index).as_ref().map_err(E::clone)
    }

    /// Makes them all; the first error in their order is the result.
    pub(crate) fn make_all(&self) -> Result<(), E> {
        self.beside(|| ());
        (0..self.len()).try_for_each(|index| self.get(index).map(drop))
    }

    /// All items in order; the first error in that order is the result.
    pub(crate) fn finish(self) -> Result<Vec<R>, E> {
        let Self { make, made, .. } = self;
        made.into_iter()
            .enumerate()
            .map(|(index, item)| item.into_inner().unwrap_or_else(|| make(index)))
            .collect()
    }

    fn make_next(&self) -> bool {
        // Not past the end, however often it is asked.
        let take = |next: usize| (next < self.made.len()).then_some(next + 1);
        let Ok(index) = self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, take) else { return false };
        self.make_at(index);
        true
    }

    /// Waits for whoever has begun with it, if somebody has.
    fn make_at(&self, index: usize) -> &Result<R, E> {
        self.made[index].get_or_init(|| (self.make)(index))
    }
}

/// Asked once: the answer is read from files.
fn cores() -> usize {
    static CORES: OnceLock<usize> = OnceLock::new();
    *CORES.get_or_init(|| thread::available_parallelism().map_or(1, NonZero::get))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keeps_the_order_and_gives_the_first_error() {
        for count in [0, 1, 23, 24, 47, 48, 49, 200, 1_001] {
            let items: Vec<usize> = (0..count).collect();
            let doubled = map(&items, |index, item| Ok::<_, usize>(index + item));
            assert_eq!(doubled, Ok(items.iter().map(|item| item * 2).collect()));
            let failing = map(&items, |index, _| if index < count / 3 { Ok(()) } else { Err(index) });
            assert_eq!(failing, if count == 0 { Ok(vec![]) } else { Err(count / 3) });
        }
    }

    #[test]
    fn a_supply_makes_each_item_once_while_it_is_used() {
        for count in [0, 1, 7, 8, 9, 200, 1_001] {
            let calls: Vec<AtomicUsize> = (0..count).map(|_| AtomicUsize::new(0)).collect();
            let make = |index: usize| {
                calls[index].fetch_add(1, Ordering::Relaxed);
                if index % 100 == 99 { Err(index) } else { Ok(index * 2) }
            };
            let supply = Supply::new(count, make);
            let used = supply.beside(|| (0..count).map(|index| supply.get(index).copied()).collect::<Vec<_>>());
            let expected = |index| if index % 100 == 99 { Err(index) } else { Ok(index * 2) };
            assert_eq!(used, (0..count).map(expected).collect::<Vec<_>>());
            assert_eq!(supply.finish(), (0..count).map(expected).collect());
            assert!(calls.iter().all(|calls| calls.load(Ordering::Relaxed) == 1));
        }
    }

    #[test]
    fn a_supply_that_is_stopped_or_not_used_finishes() {
        let supply = Supply::new(500, Ok::<usize, usize>);
        supply.beside(|| supply.stop());
        assert_eq!(supply.get(499), Ok(&499));
        assert_eq!(supply.finish(), Ok((0..500).collect()));
    }
}
