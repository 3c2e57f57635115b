//! What executing a block or flashblock may take. These are limits of ours: what ends by them is neither valid nor
//! invalid, and nobody is to blame for it. What a block's own header bounds is in `claim.rs`.

use crate::base::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Set by whoever no longer wants an answer.
pub type CancelFlag = Arc<AtomicBool>;

/// Gas that a slow machine executes in a millisecond: a block that claims more of it gets more time.
const GAS_PER_MILLISECOND: u64 = 500_000;

/// A time, and a wish to stop.
#[derive(Debug, Clone)]
pub struct Limits {
    pub(crate) deadline: Option<Instant>,
    pub(crate) cancel: CancelFlag,
}

impl Limits {
    /// For whoever can wait as long as it takes.
    pub fn none() -> Self {
        Self { deadline: None, cancel: Arc::new(AtomicBool::new(false)) }
    }

    /// From now on.
    pub fn within(time: Duration, cancel: CancelFlag) -> Self {
        Self { deadline: Instant::now().checked_add(time), cancel }
    }

    /// The same with more time, for a block that says it used so much gas.
    pub(crate) fn with_time_for(&self, gas: u64) -> Self {
        let more = Duration::from_millis(gas / GAS_PER_MILLISECOND);
        let deadline = self.deadline.and_then(|deadline| deadline.checked_add(more));
        Self { deadline, cancel: Arc::clone(&self.cancel) }
    }

    /// How much time is left; `None` where there is no end to it.
    pub(crate) fn left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }

    /// What is said of something that ended because of the time.
    pub(crate) fn too_long() -> Error {
        Error::Exhausted("executing it took longer than allowed".into())
    }

    /// Fails once it has to end.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled("nobody waits for it any more".into()));
        }
        if self.left().is_some_and(|left| left.is_zero()) {
            return Err(Self::too_long());
        }
        Ok(())
    }
}
