//! Simulations, which run in the pool, and the tries of their state roots.

pub mod tries;

use crate::answer::{Answer, guarded};
use crate::errors::{Result, error};
use crate::view::NativeView;
use chain_query_evm as core;
use core::{CancelFlag, Lane, Simulation, SimulationRequest};
use napi::bindgen_prelude::{Buffer, Either, Env, Object};
use napi_derive::napi;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A simulation. Its text is read in the pool, once, however many rounds it takes.
#[napi]
pub struct NativeSimulation {
    cancel: CancelFlag,
    request: Arc<Mutex<Request>>,
}

enum Request {
    Text(String),
    Read(Arc<SimulationRequest>),
    Gone,
}

fn request(place: &Mutex<Request>) -> Result<Arc<SimulationRequest>> {
    let lock = || place.lock().unwrap_or_else(PoisonError::into_inner);
    let text = match &mut *lock() {
        Request::Read(request) => return Ok(Arc::clone(request)),
        Request::Gone => return Err(error(core::Error::Unavailable("the simulation is done with".into()))),
        Request::Text(text) => std::mem::take(text),
    };
    // Not while the lock is held, which a serving thread may want; one run comes after the other.
    let read = Arc::new(SimulationRequest::parse(&text).map_err(error)?);
    let mut place = lock();
    if matches!(*place, Request::Text(_)) {
        *place = Request::Read(Arc::clone(&read));
    }
    Ok(read)
}

#[napi]
impl NativeSimulation {
    /// `text` is JSON.
    #[napi(constructor, catch_unwind)]
    pub fn new(text: String) -> Self {
        Self { cancel: CancelFlag::default(), request: Arc::new(Mutex::new(Request::Text(text))) }
    }

    /// Runs it on a view for a client, for at most `milliseconds` from now, with state roots if the trie of its block is kept. Long JSON is bytes; a text is as of a view, with `e` for a code
    /// and the words of a refusal, and `T` where that trie is gone.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Buffer>")]
    pub fn run<'env>(
        &self,
        env: &'env Env,
        view: &NativeView,
        milliseconds: u32,
        client: String,
        has_trie: bool,
    ) -> Result<Object<'env>> {
        let deadline = Instant::now() + Duration::from_millis(u64::from(milliseconds));
        let (chain, view) = (Arc::clone(view.chain()?), Arc::clone(view.get()?));
        let place = Arc::clone(&self.request);
        let lane = Lane::Pool { deadline, cancel: Arc::clone(&self.cancel) };
        let (answer, promise) = Answer::<Either<String, Buffer>>::new(env)?;
        let job = {
            let (answer, chain) = (Arc::clone(&answer), Arc::clone(&chain));
            move || {
                let given = guarded(|| {
                    let request = request(&place)?;
                    let tries = has_trie.then(|| chain.tries());
                    Ok(core::simulate(&view, &request, tries, &lane))
                });
                let given = given.and_then(|given| given);
                // A buffer belongs to the thread of JavaScript: it is made there, around the same bytes.
                answer.give(move || given.map(give));
            }
        };
        if !chain.pool().submit_for(&client, job) {
            answer.give(|| Ok(Either::A("f".into())));
        }
        Ok(promise)
    }

    /// Tells a run that nobody waits for it any more.
    #[napi]
    pub fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// Lets go of the text.
    #[napi]
    pub fn end(&self) {
        *self.request.lock().unwrap_or_else(PoisonError::into_inner) = Request::Gone;
    }
}

/// JSON of this many bytes or more is given in bytes: a string would be copied several times on the thread that serves, and
/// one that is shorter costs less than bytes that V8 has to know of.
const LONG: usize = 32_768;

pub(crate) fn give(simulation: Simulation) -> Either<String, Buffer> {
    Either::A(match simulation {
        Simulation::Done(mut json) if json.len() >= LONG => {
            json.shrink_to_fit();
            return Either::B(json.into());
        }
        Simulation::Done(mut json) => {
            json.insert(0, b'=');
            // It is: a serializer has written it.
            String::from_utf8(json).unwrap_or_default()
        }
        Simulation::Refused { code, message } => format!("e{code} {message}"),
        Simulation::Missing(missing) => format!("m{}", missing.encode()),
        Simulation::NeedsTrie => "T".into(),
        Simulation::Native(address) => format!("n{address:#x}"),
        Simulation::Outdated => "o".into(),
        Simulation::Budget => "b".into(),
        Simulation::Timeout => "t".into(),
        Simulation::Cancelled => "c".into(),
    })
}
