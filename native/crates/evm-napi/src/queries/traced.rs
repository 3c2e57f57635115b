//! Traces of the transactions of blocks.

use crate::errors::Result;
use crate::errors::error;
use crate::pooled::run_pooled;
use crate::view::NativeView;
use chain_query_evm as core;
use core::{CancelFlag, TraceOptions};
use napi::bindgen_prelude::{Env, Object};
use napi_derive::napi;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Traces of one transaction of a block, or of all of them, for the pool.
#[napi]
pub struct NativeTrace {
    cancel: CancelFlag,
    block: Arc<[u8]>,
    transaction: Option<usize>,
    options: Arc<str>,
}

#[napi]
impl NativeTrace {
    /// `block` is RLP; `options` is JSON.
    #[napi(constructor, catch_unwind)]
    pub fn new(block: &[u8], transaction: Option<u32>, options: String) -> Self {
        let transaction = transaction.map(|index| index as usize);
        Self { cancel: CancelFlag::default(), block: block.into(), transaction, options: options.into() }
    }

    /// Executes it on the view of its parent, for at most `milliseconds` from now.
    #[napi(catch_unwind, ts_return_type = "Promise<string | Buffer>")]
    pub fn run<'env>(&self, env: &'env Env, view: &NativeView, milliseconds: u32) -> Result<Object<'env>> {
        let (block, transaction, options) = (Arc::clone(&self.block), self.transaction, Arc::clone(&self.options));
        run_pooled(env, view, milliseconds, &self.cancel, move |view, lane| {
            let options = TraceOptions::parse(&options).map_err(error)?;
            core::trace_block(view, &block, transaction, &options, lane).map_err(error)
        })
    }

    /// Tells a run that nobody waits for it any more.
    #[napi]
    pub fn cancel(&self) {
        self.cancel.store(true, Ordering::Relaxed);
    }

    /// Lets go of the block.
    #[napi]
    pub fn end(&mut self) {
        self.block = Arc::default();
    }
}
