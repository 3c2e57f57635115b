//! Answers from other threads.

use napi::JsDeferred;
use napi::bindgen_prelude::{Env, Object, ToNapiValue};
use std::sync::{Arc, Mutex, PoisonError};

type Resolver<T> = Box<dyn FnOnce(Env) -> napi::Result<T> + Send>;

/// A promise that is settled once, from any thread.
pub(crate) struct Answer<T: ToNapiValue>(Mutex<Option<JsDeferred<T, Resolver<T>>>>);

impl<T: ToNapiValue + 'static> Answer<T> {
    /// Shared, because a full queue gives the job back to nobody.
    pub(crate) fn new<'env>(env: &'env Env) -> napi::Result<(Arc<Self>, Object<'env>)> {
        let (deferred, promise) = env.create_deferred::<T, Resolver<T>>()?;
        Ok((Arc::new(Self(Mutex::new(Some(deferred)))), promise))
    }

    /// Settles it with what `make` gives, which is run on the thread of JavaScript.
    pub(crate) fn give(&self, make: impl FnOnce() -> napi::Result<T> + Send + 'static) {
        if let Some(deferred) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            deferred.resolve(Box::new(move |_| guarded(make).unwrap_or_else(Err)));
        }
    }
}

/// Turns a panic into an error.
pub(crate) fn guarded<T>(run: impl FnOnce() -> T) -> napi::Result<T> {
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run))
        .map_err(|_| napi::Error::from_reason("unavailable: the EVM failed inside"))
}
