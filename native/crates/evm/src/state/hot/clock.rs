//! Choosing what a full map drops: second chance, in the order in which the map lies in memory.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash};

/// What is done with an entry that the hand comes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// It may not go.
    Stays,
    /// It was used since the hand last came; the next time it goes.
    Spared,
    /// It goes, and makes so much room.
    Goes(usize),
}

/// A hand that goes round the entries of one map, always on from where it stopped: a sweep that began at the first entry
/// each time would drop what lies there again and again, however often it is used, and never what lies at the end.
#[derive(Debug, Default)]
pub(super) struct Clock {
    /// Entries before the hand, of so many: others have come since, anywhere, so that only the share still says where it is.
    passed: usize,
    of: usize,
}

impl Clock {
    /// Drops entries until there is so much room, or none is left that may go.
    pub(super) fn sweep<K: Eq + Hash, V, S: BuildHasher>(
        &mut self,
        map: &mut HashMap<K, V, S>,
        mut room: usize,
        mut judge: impl FnMut(&V) -> Verdict,
    ) {
        // On to the end, then twice from the start: by then it has been everywhere, and what it spared goes.
        for _ in 0..3 {
            if room == 0 {
                return;
            }
            let first = (self.passed * map.len()).checked_div(self.of).unwrap_or(0);
            let (mut at, mut passed) = (0, first);
            map.retain(|_, value| {
                at += 1;
                if at <= first || room == 0 {
                    return true;
                }
                if let Verdict::Goes(freed) = judge(value) {
                    room = room.saturating_sub(freed);
                    return false;
                }
                passed += 1;
                true
            });
            (self.passed, self.of) = if room == 0 { (passed, map.len()) } else { (0, 0) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    struct Entry {
        used: Cell<bool>,
        pinned: bool,
    }

    fn judge(entry: &Entry) -> Verdict {
        if entry.pinned {
            Verdict::Stays
        } else if entry.used.take() {
            Verdict::Spared
        } else {
            Verdict::Goes(1)
        }
    }

    fn map(count: u32, entry: impl Fn(u32) -> Entry) -> HashMap<u32, Entry> {
        (0..count).map(|key| (key, entry(key))).collect()
    }

    #[test]
    fn goes_on_where_it_stopped_until_it_has_been_everywhere() {
        let mut map = map(1_000, |_| Entry { used: Cell::new(true), pinned: false });
        let mut clock = Clock::default();
        // Everything was used: all get their second chance in this sweep, and the first hundred go.
        clock.sweep(&mut map, 100, judge);
        assert_eq!(map.len(), 900);
        // From here on, what goes is what nobody used, wherever it lies; none of those goes that are used each time.
        let favourites: Vec<u32> = map.keys().copied().filter(|key| key % 3 == 0).collect();
        for _ in 0..5 {
            for key in &favourites {
                map[key].used.set(true);
            }
            clock.sweep(&mut map, 100, judge);
        }
        assert_eq!(map.len(), 400);
        assert!(favourites.iter().all(|key| map.contains_key(key)));
    }

    #[test]
    fn drops_no_more_than_asked_for_and_never_what_stays() {
        let mut map = map(100, |key| Entry { used: Cell::new(false), pinned: key % 2 == 0 });
        let mut clock = Clock::default();
        clock.sweep(&mut map, 20, judge);
        assert_eq!(map.len(), 80);
        clock.sweep(&mut map, 1_000, judge);
        assert_eq!(map.len(), 50);
        assert!(map.keys().all(|key| key % 2 == 0));
        clock.sweep(&mut map, 1, judge);
        assert_eq!(map.len(), 50);
        clock.sweep(&mut HashMap::<u32, Entry>::new(), 1, judge);
    }
}
