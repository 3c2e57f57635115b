//! Work that is the same for many items, on several cores.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::OnceLock;
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
}
