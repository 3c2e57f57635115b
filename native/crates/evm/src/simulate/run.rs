//! One simulation from its beginning to its end.

use super::block::{Blocks, Failure};
use super::refusal::Refusal;
use super::request::SimulationRequest;
use crate::base::limits::CancelFlag;
use crate::evm::block::SharedMissing;
use crate::evm::database::{Guess, ViewDb};
use crate::evm::meter::{Meter, Stop};
use crate::model::key::Missing;
use crate::model::trie::kept::KeptTries;
use crate::state::view::View;
use alloy_primitives::Address;
use revm::database::State;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// Keys that one run may lack, as of a call.
const MAX_MISSING: usize = 2_048;

/// How a simulation ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Simulation {
    /// The JSON of its blocks.
    Done(Vec<u8>),
    /// With a code of execution-apis and geth's words.
    Refused {
        code: i32,
        message: String,
    },
    Missing(Missing),
    /// The trie of the block it begins at has to be built first.
    NeedsTrie,
    Native(Address),
    /// The view's block left hot state: resolve it again.
    Outdated,
    Timeout,
    Cancelled,
}

/// Simulates blocks after the view's, on the calling thread, until a time or a wish to stop. Without tries their state roots are
/// zero: not all of the state is known.
pub fn simulate(
    view: &Arc<View>,
    request: &SimulationRequest,
    tries: Option<&KeptTries>,
    deadline: Instant,
    cancel: &CancelFlag,
) -> Simulation {
    let Some(epoch) = view.enter() else {
        return Simulation::Outdated;
    };
    // What is pre-confirmed has no trie: blocks so far are too many and too short-lived.
    let tries = tries.filter(|_| view.flashblock_index().is_none());
    let trie = tries.and_then(|tries| tries.find(view.hash()));
    if tries.is_some() && trie.is_none() {
        return Simulation::NeedsTrie;
    }
    let missing = SharedMissing::default();
    let run = |guess: Guess| {
        let mut db = ViewDb::new(Arc::clone(view), Meter::clock(deadline, Arc::clone(cancel)));
        db.missing = Rc::clone(&missing);
        db.max_missing = MAX_MISSING;
        db.guess = guess;
        let state = State::builder().with_database(db).with_bundle_update().build();
        Blocks::new(view, request, trie.clone()).run(state)
    };
    let mut ran = run(Guess::Zero);
    if (1..MAX_MISSING).contains(&missing.borrow().len()) {
        ran = run(Guess::One);
    }
    if !view.check(epoch) {
        return Simulation::Outdated;
    }
    let lacked = missing.borrow_mut().take();
    if !lacked.is_empty() {
        return Simulation::Missing(view.missing(epoch, lacked));
    }
    match ran {
        Ok(json) => Simulation::Done(json),
        Err(Failure::Refused(Refusal { code, message })) => Simulation::Refused { code, message },
        Err(Failure::Stopped(Stop::Cancelled)) => Simulation::Cancelled,
        Err(Failure::Stopped(Stop::Native(address))) => Simulation::Native(address),
        // Steps are counted only where something is missing.
        Err(Failure::Stopped(Stop::Deadline | Stop::Budget | Stop::Claim)) => Simulation::Timeout,
    }
}
