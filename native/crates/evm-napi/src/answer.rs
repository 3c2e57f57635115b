//! Answers from other threads.

use crate::errors::{Failure, Result, error, refused};
use chain_query_evm as core;
use napi::bindgen_prelude::{Env, Object, ToNapiValue};
use napi::{JsDeferred, JsError};
use std::sync::{Arc, Mutex, PoisonError};

type Resolver<T> = Box<dyn FnOnce(Env) -> napi::Result<T> + Send>;

/// A promise that is settled once, from any thread.
pub(crate) struct Answer<T: ToNapiValue>(Mutex<Option<JsDeferred<T, Resolver<T>>>>);

impl<T: ToNapiValue + 'static> Answer<T> {
    /// Shared, because a full queue gives the job back to nobody.
    pub(crate) fn new<'env>(env: &'env Env) -> Result<(Arc<Self>, Object<'env>)> {
        let (deferred, promise) = env.create_deferred::<T, Resolver<T>>().map_err(refused)?;
        Ok((Arc::new(Self(Mutex::new(Some(deferred)))), promise))
    }

    /// Settles it with what `make` gives, which is run on the thread of JavaScript.
    pub(crate) fn give(&self, make: impl FnOnce() -> Result<T> + Send + 'static) {
        if let Some(deferred) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            deferred.resolve(Box::new(move |env| {
                guarded(make).unwrap_or_else(Err).map_err(|failure| with_code(env, failure))
            }));
        }
    }
}

/// A promise is rejected with errors that have none of our codes, unless the exception is made before.
fn with_code(env: Env, failure: Failure) -> napi::Error {
    napi::Error::from(JsError::from(failure).into_unknown(env))
}

/// Turns a panic into an error.
pub(crate) fn guarded<T>(run: impl FnOnce() -> T) -> Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run))
        .map_err(|_| error(core::Error::Unavailable("the EVM failed inside".into())))
}
