//! Calls that run in the pool.

use crate::answer::{Answer, guarded};
use crate::call::{query, render, request};
use crate::errors::{Result, error};
use crate::view::NativeView;
use alloy_primitives::hex;
use chain_query_evm as core;
use core::{CallRequest, CallResult, CancelFlag, Lane, Query};
use napi::bindgen_prelude::{Buffer, Either, Env, Object};
use napi_derive::napi;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// A call for the pool. Its texts are copied once, and read in the pool, once, however long they are and however many
/// rounds it takes.
#[napi]
pub struct NativePooledCall(Arc<PooledCall>);

struct PooledCall {
    cancel: CancelFlag,
    message: Mutex<Message>,
}

enum Message {
    Texts {
        from: Option<String>,
        to: Option<String>,
        gas: String,
        data: Option<String>,
        options: Option<String>,
        asked: Option<String>,
    },
    Read(CallRequest, Query),
    /// With whoever reads the texts.
    Taken,
    Gone,
}

impl PooledCall {
    fn message(&self) -> MutexGuard<'_, Message> {
        self.message.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the texts, the first time; not while it holds the lock, which a serving thread may want.
    fn request(&self) -> Result<(CallRequest, Query)> {
        let taken = std::mem::replace(&mut *self.message(), Message::Taken);
        let read = match taken {
            Message::Texts { from, to, gas, data, options, asked } => {
                (request(from, to, gas, data, options)?, query(asked.as_deref())?)
            }
            Message::Read(request, query) => (request, query),
            Message::Taken | Message::Gone => {
                return Err(error(core::Error::Unavailable("the call is done with".into())));
            }
        };
        let mut message = self.message();
        if matches!(*message, Message::Taken) {
            *message = Message::Read(read.0.clone(), read.1.clone());
        }
        Ok(read)
    }
}

#[napi]
impl NativePooledCall {
    /// `options` is JSON of the fields few calls have, `asked` of what is asked about it beside what it returns.
    #[napi(constructor, catch_unwind)]
    pub fn new(
        from: Option<String>,
        to: Option<String>,
        gas: String,
        data: Option<String>,
        options: Option<String>,
        asked: Option<String>,
    ) -> Self {
        let message = Mutex::new(Message::Texts { from, to, gas, data, options, asked });
        Self(Arc::new(PooledCall { cancel: CancelFlag::default(), message }))
    }

    /// Runs it on a view for a client, for at most `milliseconds` from now.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Buffer>")]
    pub fn run<'env>(
        &self,
        env: &'env Env,
        view: &NativeView,
        milliseconds: u32,
        client: String,
    ) -> Result<Object<'env>> {
        let call = Arc::clone(&self.0);
        run_pooled(env, view, &client, milliseconds, &self.0.cancel, move |view, lane| {
            call.request().map(|(request, asked)| core::query(view, &request, &asked, lane))
        })
    }

    /// Tells a run that nobody waits for it any more.
    #[napi]
    pub fn cancel(&self) {
        self.0.cancel.store(true, Ordering::Relaxed);
    }

    /// Lets go of the texts: JavaScript does not know how large they are, and may keep this for long.
    #[napi]
    pub fn end(&self) {
        *self.0.message() = Message::Gone;
    }
}

/// Has the pool run something on a view for a client, for at most so long from now.
pub(crate) fn run_pooled<'env>(
    env: &'env Env,
    view: &NativeView,
    client: &str,
    milliseconds: u32,
    cancel: &CancelFlag,
    run: impl FnOnce(&Arc<core::View>, &Lane) -> Result<CallResult> + Send + 'static,
) -> Result<Object<'env>> {
    let deadline = Instant::now() + Duration::from_millis(u64::from(milliseconds));
    let lane = Lane::Pool { deadline, cancel: Arc::clone(cancel) };
    let (chain, view) = (Arc::clone(view.chain()?), Arc::clone(view.get()?));
    let (answer, promise) = Answer::<Either<String, Buffer>>::new(env)?;
    let job = {
        let answer = Arc::clone(&answer);
        move || {
            let given = guarded(|| run(&view, &lane).map(give)).and_then(|given| given);
            // A buffer belongs to the thread of JavaScript: it is made there, around the same bytes.
            answer.give(move || {
                Ok(match given? {
                    Either::A(text) => Either::A(text),
                    Either::B(json) => Either::B(Buffer::from(json)),
                })
            });
        }
    };
    if !chain.pool().submit_for(client, job) {
        answer.give(|| Ok(Either::A("f".into())));
    }
    Ok(promise)
}

/// An output of this many bytes or more is given as JSON in bytes: a string would be copied several times on the thread
/// that serves.
const LONG: usize = 32_768;

type Given = Either<String, Vec<u8>>;

/// A long output as JSON, quotes included, and after an `r` if it is of a revert; all else as its text.
fn give(result: CallResult) -> Given {
    match &result {
        CallResult::Success(output) if output.len() >= LONG => Either::B(json_of(b"", output)),
        CallResult::Revert(output) if output.len() >= LONG => Either::B(json_of(b"r", output)),
        CallResult::Json(text) if text.len() >= LONG => Either::B(text.clone().into_bytes()),
        _ => Either::A(render(result)),
    }
}

/// With no more room than it needs: it may wait for a client for long.
fn json_of(tag: &[u8], output: &[u8]) -> Vec<u8> {
    let mut json = Vec::with_capacity(tag.len() + 2 * output.len() + 4);
    json.extend_from_slice(tag);
    json.extend_from_slice(b"\"0x");
    let digits = json.len();
    json.resize(digits + 2 * output.len(), b'0');
    // It fits: there are two digits for each byte.
    let _ = hex::encode_to_slice(output, &mut json[digits..]);
    json.push(b'"');
    json
}
