//! One simulation from its beginning to its end.

use super::block::{Blocks, Failure};
use super::cost::upfront_steps;
use super::refusal::Refusal;
use super::request::SimulationRequest;
use crate::evm::block::SharedMissing;
use crate::evm::call::Lane;
use crate::evm::database::{Guess, ViewDb};
use crate::evm::meter::{Meter, Stop};
use crate::model::key::Missing;
use crate::model::trie::kept::KeptTries;
use crate::state::view::View;
use alloy_primitives::Address;
use revm::database::State;
use std::rc::Rc;
use std::sync::Arc;

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
    /// Too long for a serving thread, or it lacks state: it belongs in the pool.
    Budget,
    Timeout,
    Cancelled,
}

/// Simulates blocks after the view's, on the calling thread. Without tries their state roots are zero: not all of the state is
/// known.
pub fn simulate(
    view: &Arc<View>,
    request: &SimulationRequest,
    tries: Option<&KeptTries>,
    lane: &Lane,
) -> Simulation {
    let is_inline = matches!(lane, Lane::Inline(_));
    let Some(first) = meter(lane, request) else {
        return Simulation::Budget;
    };
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
    let run = |guess: Guess, meter: Meter| {
        let mut db = ViewDb::new(Arc::clone(view), meter);
        db.missing = Rc::clone(&missing);
        db.max_missing = MAX_MISSING;
        db.guess = guess;
        let state = State::builder().with_database(db).with_bundle_update().build();
        Blocks::new(view, request, trie.clone()).run(state)
    };
    let mut ran = run(Guess::Zero, first);
    let may_lack_more = !is_inline && (1..MAX_MISSING).contains(&missing.borrow().len());
    if may_lack_more && let Some(second) = meter(lane, request) {
        ran = run(Guess::One, second);
    }
    if !view.check(epoch) {
        return Simulation::Outdated;
    }
    let lacked = missing.borrow_mut().take();
    if !lacked.is_empty() && is_inline {
        return Simulation::Budget;
    }
    if !lacked.is_empty() {
        return Simulation::Missing(view.missing(epoch, lacked));
    }
    match ran {
        Ok(json) => Simulation::Done(json),
        Err(Failure::Refused(Refusal { code, message })) => Simulation::Refused { code, message },
        Err(Failure::Stopped(Stop::Cancelled)) => Simulation::Cancelled,
        Err(Failure::Stopped(Stop::Native(address))) => Simulation::Native(address),
        Err(Failure::Stopped(Stop::Budget)) if is_inline => Simulation::Budget,
        // Steps are counted only where something is missing.
        Err(Failure::Stopped(Stop::Deadline | Stop::Budget | Stop::Claim)) => Simulation::Timeout,
    }
}

/// What bounds a run; nothing where it is too long for its lane before it begins.
fn meter(lane: &Lane, request: &SimulationRequest) -> Option<Meter> {
    match lane {
        Lane::Pool { deadline, cancel } => Some(Meter::clock(*deadline, Arc::clone(cancel))),
        Lane::Inline(steps) => {
            upfront_steps(request).and_then(|upfront| steps.checked_sub(upfront)).map(Meter::steps)
        }
    }
}
