//! Executing blocks on the thread that the chain has for it. There nothing is changed: what a block or flashblock did
//! is taken in on the thread of JavaScript, when its promise is settled, so that all changes happen there in order.

use crate::answer::{Answer, guarded};
use crate::chain::NativeChain;
use crate::errors::{Result, error};
use chain_query_evm as core;
use core::{CancelFlag, Chain, Execution, Limits};
use napi::bindgen_prelude::{Buffer, Env, Object, ToNapiValue};
use napi_derive::napi;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What executing a block gave: one of the first two.
#[napi(object)]
#[derive(Default)]
pub struct NativeExecution {
    pub outcome: Option<Buffer>,
    pub missing: Option<String>,
    /// With an outcome: the transactions whose effects were taken.
    pub taken: Option<Vec<u32>>,
}

/// Tells a block that is executed that nobody waits for it any more.
#[napi]
#[derive(Default)]
pub struct NativeCancel(CancelFlag);

#[napi]
impl NativeCancel {
    #[napi(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    #[napi]
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// What a run may take: so much time from when it begins, and until nobody waits for it.
pub(crate) struct Bounds {
    time: Duration,
    cancel: CancelFlag,
}

impl Bounds {
    pub(crate) fn new(milliseconds: u32, cancel: &NativeCancel) -> Self {
        Self { time: Duration::from_millis(u64::from(milliseconds)), cancel: Arc::clone(&cancel.0) }
    }
}

/// Runs `compute` on the chain's thread for blocks, and `take_in` with what it gives on the thread of JavaScript. Nothing
/// is taken in that nobody waits for any more.
pub(crate) fn execute_off_thread<'env, T, R>(
    env: &'env Env,
    chain: &Arc<Chain>,
    Bounds { time, cancel }: Bounds,
    compute: impl FnOnce(&Arc<Chain>, &Limits) -> Result<T, core::Error> + Send + 'static,
    take_in: impl FnOnce(&Arc<Chain>, T) -> Result<R, core::Error> + Send + 'static,
) -> Result<Object<'env>>
where
    T: Send + 'static,
    R: ToNapiValue + 'static,
{
    let (answer, promise) = Answer::<R>::new(env)?;
    let job = {
        let (answer, chain) = (Arc::clone(&answer), Arc::clone(chain));
        move || {
            let limits = Limits::within(time, Arc::clone(&cancel));
            let computed = guarded(|| compute(&chain, &limits));
            answer.give(move || {
                if cancel.load(Ordering::Relaxed) {
                    return Err(error(core::Error::Cancelled("nobody waits for it any more".into())));
                }
                take_in(&chain, computed?.map_err(error)?).map_err(error)
            });
        }
    };
    if !chain.executions().submit(job) {
        answer.give(|| Err(error(core::Error::Unavailable("too many blocks wait to be executed".into()))));
    }
    Ok(promise)
}

#[napi]
impl NativeChain {
    /// Executes and verifies a block on the head and makes it the head, within so much time and a bit more for a block
    /// that says it used much gas. `effects` is JSON: the state diffs and receipts of its transactions, which what cannot be
    /// executed is taken from.
    #[napi(catch_unwind, ts_return_type = "Promise<NativeExecution>")]
    pub fn execute<'env>(
        &self,
        env: &'env Env,
        block: &[u8],
        milliseconds: u32,
        cancel: &NativeCancel,
        effects: Option<String>,
    ) -> Result<Object<'env>> {
        let block = block.to_vec();
        execute_off_thread(
            env,
            &self.inner,
            Bounds::new(milliseconds, cancel),
            move |chain, limits| {
                let effects = effects.map(|text| core::Effects::parse(&text)).transpose()?;
                Ok(match chain.run_block_with(&block, effects.as_ref(), limits)? {
                    Execution::Done(ready) => Execution::Done((ready.outcome().encode(), ready)),
                    Execution::Missing(missing) => Execution::Missing(missing),
                })
            },
            |chain, execution| {
                Ok(match execution {
                    Execution::Done((outcome, ready)) => {
                        let taken = Some(ready.taken().to_vec());
                        chain.make_head(ready)?;
                        NativeExecution { outcome: Some(outcome.into()), taken, ..Default::default() }
                    }
                    Execution::Missing(missing) => {
                        NativeExecution { missing: Some(missing.encode()), ..Default::default() }
                    }
                })
            },
        )
    }
}
