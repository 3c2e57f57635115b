//! Pre-confirmed states as readers find them: the newest, and the few before it by their version.

use crate::base::locks::{read, write};
use crate::state::overlay::Snapshot;
use std::collections::VecDeque;
use std::sync::{Arc, RwLock};

/// States that can be opened by their version, the newest included.
const KEPT: usize = 16;

/// Each state that readers were shown has a version, counted from 1. Who was told of one can open exactly that one for
/// a while, although others came after it.
#[derive(Debug, Default)]
pub(crate) struct Versions(RwLock<Shown>);

#[derive(Debug, Default)]
struct Shown {
    last: u64,
    /// Whether the last one is a state: after a drop there may be nothing that is pre-confirmed.
    is_state: bool,
    kept: VecDeque<(u64, Arc<Snapshot>)>,
}

impl Versions {
    /// Shows readers another state, or that there is none. Gives its version.
    pub(crate) fn show(&self, state: Option<Snapshot>) -> u64 {
        let mut shown = write(&self.0);
        shown.last += 1;
        shown.is_state = state.is_some();
        let version = shown.last;
        if let Some(state) = state {
            if shown.kept.len() == KEPT {
                shown.kept.pop_front();
            }
            shown.kept.push_back((version, Arc::new(state)));
        }
        version
    }

    /// The state readers see now and its version; `None` when nothing is pre-confirmed.
    pub(crate) fn newest(&self) -> Option<(u64, Arc<Snapshot>)> {
        let shown = read(&self.0);
        shown.kept.back().filter(|_| shown.is_state).cloned()
    }

    /// The state of one version, if it is still kept.
    pub(crate) fn find(&self, version: u64) -> Option<Arc<Snapshot>> {
        let shown = read(&self.0);
        shown.kept.iter().find(|(kept, _)| *kept == version).map(|(_, state)| Arc::clone(state))
    }
}
