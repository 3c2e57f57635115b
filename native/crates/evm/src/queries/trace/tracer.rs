//! The tracers that geth has built in. All but the struct logger are those of revm-inspectors.

use crate::base::error::{Error, malformed};
use crate::evm::meter::Metered;
use crate::queries::trace::struct_logger::{LogOptions, StructLogger};
use alloy_primitives::{Address, B256, Bytes, Log, U256};
use alloy_rpc_types_trace::geth::{CallConfig, FourByteFrame, PreStateConfig};
use revm::bytecode::Bytecode;
use revm::context_interface::ContextTr;
use revm::context_interface::result::{ExecutionResult, HaltReasonTr, ResultAndState};
use revm::database_interface::DatabaseRef;
use revm::inspector::JournalExt;
use revm::interpreter::{CallInputs, CallOutcome, CreateInputs, CreateOutcome, InstructionResult, Interpreter};
use revm::state::AccountInfo;
use revm::{Database, Inspector};
use revm_inspectors::tracing::{FourByteInspector, TracingInspector, TracingInspectorConfig};
use serde::{Deserialize, Serialize};
use std::cell::RefCell;

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
    CallTracer(CallConfig),
    PrestateTracer(PreStateConfig),
    #[serde(rename = "4byteTracer")]
    FourByteTracer,
    NoopTracer,
}

/// A tracer at work.
#[derive(Debug)]
pub(crate) struct Tracer {
    kind: Kind,
    /// Of frames, about.
    bytes: usize,
    max_bytes: usize,
}

#[derive(Debug)]
enum Kind {
    Struct(Box<StructLogger>),
    Call(Box<TracingInspector>, CallConfig),
    Prestate(Box<TracingInspector>, PreStateConfig),
    FourByte(FourByteInspector),
    Noop,
}

impl Tracer {
    pub(crate) fn new(options: &TraceOptions) -> Self {
        let kind = match &options.tracer {
            TracerKind::StructLogger(options) => Kind::Struct(Box::new(StructLogger::new(*options))),
            TracerKind::CallTracer(config) => {
                let inner = TracingInspector::new(TracingInspectorConfig::from_geth_call_config(config));
                Kind::Call(Box::new(inner), *config)
            }
            TracerKind::PrestateTracer(config) => {
                let inner = TracingInspector::new(TracingInspectorConfig::from_geth_prestate_config(config));
                Kind::Prestate(Box::new(inner), *config)
            }
            TracerKind::FourByteTracer => Kind::FourByte(FourByteInspector::default()),
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
            Kind::Call(inner, config) => {
                inner.set_transaction_gas_limit(gas_limit);
                inner.set_transaction_caller(caller);
                json_of(&inner.geth_builder().geth_call_traces(*config, used))
            }
            Kind::Prestate(inner, config) => {
                inner.set_transaction_gas_limit(gas_limit);
                let before = Before(RefCell::new(db));
                let frame = inner.geth_builder().geth_prestate_traces(done, config, before);
                json_of(&frame.map_err(|why| why.to_string())?)
            }
            Kind::FourByte(inner) => json_of(&FourByteFrame::from(&*inner)),
            Kind::Noop => Ok("{}".into()),
        }
    }

    fn add(&mut self, bytes: usize) {
        self.bytes += FRAME_BYTES + 2 * bytes;
    }
}

fn json_of<T: Serialize>(value: &T) -> Result<String, String> {
    serde_json::to_string(value).map_err(|why| why.to_string())
}

/// State that is read by a shared reference, as builders of traces do.
struct Before<'a, DB>(RefCell<&'a mut DB>);

impl<DB: Database> DatabaseRef for Before<'_, DB> {
    type Error = DB::Error;

    fn basic_ref(&self, address: Address) -> Result<Option<AccountInfo>, DB::Error> {
        self.0.borrow_mut().basic(address)
    }

    fn code_by_hash_ref(&self, hash: B256) -> Result<Bytecode, DB::Error> {
        self.0.borrow_mut().code_by_hash(hash)
    }

    fn storage_ref(&self, address: Address, index: U256) -> Result<U256, DB::Error> {
        self.0.borrow_mut().storage(address, index)
    }

    fn block_hash_ref(&self, number: u64) -> Result<B256, DB::Error> {
        self.0.borrow_mut().block_hash(number)
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
        if let Kind::Struct(logger) = &mut self.kind {
            logger.step(interpreter, context);
        }
    }

    fn step_end(&mut self, interpreter: &mut Interpreter, _: &mut C) {
        if let Kind::Struct(logger) = &mut self.kind {
            logger.step_end(interpreter);
        }
    }

    fn log(&mut self, context: &mut C, log: Log) {
        self.bytes += log.data.data.len() * 2;
        match &mut self.kind {
            Kind::Call(inner, _) | Kind::Prestate(inner, _) => inner.log(context, log),
            Kind::Struct(_) | Kind::FourByte(_) | Kind::Noop => {}
        }
    }

    fn call(&mut self, context: &mut C, inputs: &mut CallInputs) -> Option<CallOutcome> {
        self.add(inputs.input.len());
        match &mut self.kind {
            Kind::Call(inner, _) | Kind::Prestate(inner, _) => inner.call(context, inputs),
            Kind::FourByte(inner) => inner.call(context, inputs),
            Kind::Struct(_) | Kind::Noop => None,
        }
    }

    fn call_end(&mut self, context: &mut C, inputs: &CallInputs, outcome: &mut CallOutcome) {
        self.add(outcome.result.output.len());
        if let Kind::Call(inner, _) | Kind::Prestate(inner, _) = &mut self.kind {
            inner.call_end(context, inputs, outcome);
        }
    }

    fn create(&mut self, context: &mut C, inputs: &mut CreateInputs) -> Option<CreateOutcome> {
        self.add(inputs.init_code().len());
        match &mut self.kind {
            Kind::Call(inner, _) | Kind::Prestate(inner, _) => inner.create(context, inputs),
            Kind::Struct(_) | Kind::FourByte(_) | Kind::Noop => None,
        }
    }

    fn create_end(&mut self, context: &mut C, inputs: &CreateInputs, outcome: &mut CreateOutcome) {
        self.add(outcome.result.output.len());
        if let Kind::Call(inner, _) | Kind::Prestate(inner, _) = &mut self.kind {
            inner.create_end(context, inputs, outcome);
        }
    }

    fn selfdestruct(&mut self, contract: Address, target: Address, value: U256) {
        if let Kind::Call(inner, _) | Kind::Prestate(inner, _) = &mut self.kind {
            Inspector::<C>::selfdestruct(&mut **inner, contract, target, value);
        }
    }
}
