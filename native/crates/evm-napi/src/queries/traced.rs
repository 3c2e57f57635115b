//! Traces of what is in blocks.

use crate::call::request;
use crate::errors::Result;
use crate::errors::error;
use crate::pooled::run_pooled;
use crate::view::NativeView;
use chain_query_evm as core;
use core::{CancelFlag, TraceOptions, Traced};
use napi::bindgen_prelude::{Env, Object};
use napi_derive::napi;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// What of a block is traced: a transaction, a call after some of them, or all of them.
#[napi(object)]
#[derive(Clone, Default)]
pub struct NativeTraced {
    /// How many pre-confirmed blocks before the view's state the block's parent is; none where the view is of the parent.
    pub ahead: Option<u32>,
    pub transaction: Option<u32>,
    pub call: Option<NativeTracedCall>,
}

#[napi(object)]
#[derive(Clone, Default)]
pub struct NativeTracedCall {
    /// Transactions before it.
    pub after: u32,
    pub from: Option<String>,
    pub to: Option<String>,
    pub gas: String,
    pub data: Option<String>,
    /// JSON of the fields few calls have.
    pub options: Option<String>,
}

impl NativeTraced {
    fn read(self) -> Result<Traced> {
        Ok(match (self.call, self.transaction) {
            (Some(call), _) => {
                let NativeTracedCall { after, from, to, gas, data, options } = call;
                Traced::Call { after: after as usize, request: request(from, to, gas, data, options)? }
            }
            (None, Some(index)) => Traced::Transaction(index as usize),
            (None, None) => Traced::All,
        })
    }
}

/// Traces of what is in a block, for the pool.
#[napi]
pub struct NativeTrace {
    cancel: CancelFlag,
    block: Arc<[u8]>,
    traced: Arc<NativeTraced>,
    options: Arc<str>,
}

#[napi]
impl NativeTrace {
    /// `block` is RLP; `options` is JSON.
    #[napi(constructor, catch_unwind)]
    pub fn new(block: &[u8], traced: NativeTraced, options: String) -> Self {
        let cancel = CancelFlag::default();
        Self { cancel, block: block.into(), traced: Arc::new(traced), options: options.into() }
    }

    /// Executes it for a client on the view of its parent, for at most `milliseconds` from now.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Buffer>")]
    pub fn run<'env>(
        &self,
        env: &'env Env,
        view: &NativeView,
        milliseconds: u32,
        client: String,
    ) -> Result<Object<'env>> {
        let (block, traced, options) =
            (Arc::clone(&self.block), Arc::clone(&self.traced), Arc::clone(&self.options));
        run_pooled(env, view, &client, milliseconds, &self.cancel, move |view, lane| {
            let options = TraceOptions::parse(&options).map_err(error)?;
            let ahead = traced.ahead.unwrap_or(0) as usize;
            let traced = NativeTraced::clone(&traced).read()?;
            core::trace_block(view, ahead, &block, &traced, &options, lane).map_err(error)
        })
    }

    /// Tells a run that nobody waits for it any more.
    #[napi]
    pub fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// Lets go of the block and of the call.
    #[napi]
    pub fn end(&mut self) {
        self.block = Arc::default();
        self.traced = Arc::default();
    }
}
