//! The state of one chain in memory, as its views read it.

use crate::base::error::Error;
use crate::rules::spec::ChainSpec;
use crate::state::history::History;
use crate::state::hot::{HotLimits, HotState};
use crate::state::loaded::WorkingSet;
use crate::state::senders::KnownSenders;
use crate::state::versions::Versions;
use std::sync::Arc;

/// Everything a view reads, and the rules that calls on it follow.
#[derive(Debug)]
pub(crate) struct StateCore {
    pub(crate) spec: Arc<ChainSpec>,
    pub(crate) hot: HotState,
    pub(crate) history: History,
    /// What was provided for the block being executed on the head.
    pub(crate) working: WorkingSet,
    /// What pre-confirmed blocks made of it.
    pub(crate) versions: Versions,
    /// What was provided for the flashblock being executed.
    pub(crate) working_ahead: WorkingSet,
    /// Of what was executed last, on the head or ahead of it.
    pub(crate) senders: KnownSenders,
}

impl StateCore {
    pub(crate) fn new(spec: ChainSpec, hot: HotLimits, history_bytes: usize) -> Self {
        Self {
            spec: Arc::new(spec),
            hot: HotState::new(hot),
            history: History::new(history_bytes),
            working: WorkingSet::default(),
            versions: Versions::default(),
            working_ahead: WorkingSet::default(),
            senders: KnownSenders::default(),
        }
    }

    /// Fails if blocks were taken back, or all of hot state was replaced, since it was asked for.
    pub(crate) fn expect_generation(&self, generation: u64) -> Result<(), Error> {
        if self.hot.generation() == generation {
            return Ok(());
        }
        Err(Error::Unavailable("the head moved".into()))
    }
}
