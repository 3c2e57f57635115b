//! The tracers that geth has built in.

use super::calls::{CallOptions, CallTracer};
use super::prestate::{PrestateOptions, PrestateTracer};
use super::struct_logger::{LogOptions, StructLogger};
use crate::base::error::{Error, malformed};
use crate::evm::meter::Metered;
use alloy_primitives::{Address, Bytes, Log, hex};
use revm::context_interface::result::{ExecutionResult, HaltReasonTr, ResultAndState};
use revm::context_interface::{ContextTr, JournalTr};
use revm::inspector::JournalExt;
use revm::interpreter::{CallInputs, CallOutcome, CreateInputs, CreateOutcome, InstructionResult, Interpreter};
use revm::{Database, Inspector};
use serde::Deserialize;
use std::collections::BTreeMap;

/// Bytes of JSON that a frame of the call tracer takes beside its input and output.
const FRAME_BYTES: usize = 512;

/// What is asked of a trace, and how large it may be.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TraceOptions {
    tracer: TracerKind,
    pub(crate) max_bytes: usize,
}

impl TraceOptions {
    /// Reads them from JSON that TypeScript has made.
    pub fn parse(text: &str) -> Result<Self, Error> {
        serde_json::from_str(text).map_err(|why| malformed("trace options", why))
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
enum TracerKind {
    StructLogger(LogOptions),
    CallTracer(CallOptions),
    PrestateTracer(PrestateOptions),
    #[serde(rename = "4byteTracer")]
    FourByteTracer,
    NoopTracer,
}

/// A tracer at work.
#[derive(Debug)]
pub(crate) struct Tracer {
    kind: Kind,
    /// Of frames and accounts, about.
    bytes: usize,
    max_bytes: usize,
}

#[derive(Debug)]
enum Kind {
    Struct(Box<StructLogger>),
    Call(Box<CallTracer>),
    Prestate(Box<PrestateTracer>),
    /// How often each selector is called, by itself and the length of what follows it.
    FourByte(BTreeMap<String, u64>),
    Noop,
}

impl Tracer {
    pub(crate) fn new(options: &TraceOptions) -> Self {
        let kind = match &options.tracer {
            TracerKind::StructLogger(options) => Kind::Struct(Box::new(StructLogger::new(*options))),
            TracerKind::CallTracer(options) => Kind::Call(Box::new(CallTracer::new(*options))),
            TracerKind::PrestateTracer(options) => Kind::Prestate(Box::new(PrestateTracer::new(*options))),
            TracerKind::FourByteTracer => Kind::FourByte(BTreeMap::new()),
            TracerKind::NoopTracer => Kind::Noop,
        };
        Self { kind, bytes: 0, max_bytes: options.max_bytes }
    }

    /// Whether it was stopped because its trace would be too large.
    pub(crate) fn is_too_large(&self) -> bool {
        self.size() > self.max_bytes
    }

    fn size(&self) -> usize {
        match &self.kind {
            Kind::Struct(logger) => logger.size(),
            _ => self.bytes,
        }
    }

    /// The trace as JSON. `db` is the state before the transaction.
    pub(crate) fn finish<DB, H>(
        &mut self,
        gas_limit: u64,
        caller: Address,
        done: &ResultAndState<H>,
        db: &mut DB,
    ) -> Result<String, String>
    where
        DB: Database,
        H: HaltReasonTr,
    {
        let used = done.result.tx_gas_used();
        match &mut self.kind {
            Kind::Struct(logger) => {
                let output = match &done.result {
                    ExecutionResult::Halt { .. } => Bytes::new(),
                    other => other.output().cloned().unwrap_or_default(),
                };
                Ok(logger.finish(used, !done.result.is_success(), &output))
            }
            Kind::Call(tracer) => tracer.finish(gas_limit, used),
            Kind::Prestate(tracer) => tracer.finish(caller, &done.state, db, self.max_bytes),
            Kind::FourByte(counts) => serde_json::to_string(counts).map_err(|why| why.to_string()),
            Kind::Noop => Ok("{}".into()),
        }
    }

    fn add(&mut self, bytes: usize) {
        self.bytes += FRAME_BYTES + 2 * bytes;
    }

    /// What a transaction is known by, before its first frame.
    fn begin<C: ContextTr>(&mut self, context: &C) {
        if let Kind::Prestate(tracer) = &mut self.kind
            && context.journal().depth() == 0
        {
            tracer.begin(context);
        }
    }
}

/// Calls of precompiles have no selector.
fn count_selector<C: ContextTr>(counts: &mut BTreeMap<String, u64>, context: &C, inputs: &CallInputs) {
    let input = inputs.input.as_bytes(context);
    if let Some((selector, rest)) = input.split_first_chunk::<4>()
        && !context.journal().precompile_addresses().contains(&inputs.bytecode_address)
    {
        *counts.entry(format!("{}-{}", hex::encode_prefixed(selector), rest.len())).or_default() += 1;
    }
}

impl<C> Inspector<C> for Tracer
where
    C: ContextTr<Journal: JournalExt> + Metered,
{
    fn step(&mut self, interpreter: &mut Interpreter, context: &mut C) {
        if self.is_too_large() {
            context.fail();
            interpreter.halt(InstructionResult::FatalExternalError);
            return;
        }
        match &mut self.kind {
            Kind::Struct(logger) => logger.step(interpreter, context),
            Kind::Call(tracer) => tracer.step(interpreter, context),
            Kind::Prestate(tracer) => tracer.step(interpreter, context),
            Kind::FourByte(_) | Kind::Noop => {}
        }
    }

    fn step_end(&mut self, interpreter: &mut Interpreter, _: &mut C) {
        match &mut self.kind {
            Kind::Struct(logger) => logger.step_end(interpreter),
            Kind::Call(tracer) => tracer.step_end(interpreter),
            Kind::Prestate(tracer) => self.bytes += tracer.step_end(interpreter),
            Kind::FourByte(_) | Kind::Noop => {}
        }
    }

    fn log(&mut self, _: &mut C, log: Log) {
        self.bytes += log.data.data.len() * 2;
        if let Kind::Call(tracer) = &mut self.kind {
            tracer.log(log);
        }
    }

    fn call(&mut self, context: &mut C, inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.add(inputs.input.len());
        self.begin(context);
        match &mut self.kind {
            Kind::Call(tracer) => tracer.call(context, inputs),
            Kind::FourByte(counts) => count_selector(counts, context, inputs),
            Kind::Struct(_) | Kind::Prestate(_) | Kind::Noop => {}
        }
        None
    }

    fn call_end(&mut self, _: &mut C, _: &CallInputs, outcome: &mut CallOutcome) {
        self.add(outcome.result.output.len());
        if let Kind::Call(tracer) = &mut self.kind {
            tracer.call_end(outcome);
        }
    }

    fn create(&mut self, context: &mut C, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.add(inputs.init_code().len());
        self.begin(context);
        if let Kind::Call(tracer) = &mut self.kind {
            tracer.create(inputs);
        }
        None
    }

    fn create_end(&mut self, _: &mut C, _: &CreateInputs, outcome: &mut CreateOutcome) {
        self.add(outcome.result.output.len());
        if let Kind::Call(tracer) = &mut self.kind {
            tracer.create_end(outcome);
        }
    }
}
