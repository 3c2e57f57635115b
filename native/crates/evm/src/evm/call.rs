//! Calls: a message run on a view and thrown away.

use crate::base::limits::CancelFlag;
use crate::evm::database::{Guess, Overrides, ViewDb};
use crate::evm::message::{AccountFields, CallRequest, CallResult, Message, Setting, message};
use crate::evm::meter::{Meter, Stop};
use crate::evm::vm::{self, Ran};
use crate::model::code::bytecode;
use crate::state::view::{Epoch, View};
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, KECCAK256_EMPTY, U256, keccak256};
use revm::context_interface::result::ResultGas;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Instant;

/// Longest code of a caller's own that runs inline: pretended, or of a creation. Work is counted at jumps and calls, so
/// what has none must be short. It is the limit of EIP-3860, which old forks and overrides do not have.
const MAX_INLINE_CODE: usize = 49_152;
/// Steps of what is done before the first opcode: an authorization is an ecrecover, an entry of a list or of an override
/// is read and hashed a few times, and bytes are hashed, analysed or counted.
pub(crate) const AUTHORIZATION_STEPS: usize = 48;
const ENTRY_STEPS: usize = 2;
const BYTES_PER_STEP: usize = 128;
/// Keys that one run may lack: loading and handing in more at a time would hold a serving thread.
const MAX_MISSING: usize = 2_048;

/// Where a call runs.
#[derive(Debug, Clone)]
pub enum Lane {
    /// On the serving thread, within this many steps.
    Inline(u64),
    /// In the pool, until a time or a wish to stop.
    Pool { deadline: Instant, cancel: CancelFlag },
}

/// Runs a call on the calling thread.
pub fn call(view: &Arc<View>, request: &CallRequest, lane: &Lane) -> CallResult {
    let mut runs = match Runs::begin(view, request, lane) {
        Ok(runs) => runs,
        Err(result) => return result,
    };
    let result = runs
        .run(request, |message, db| vm::run(view.spec(), message, db))
        .map_or_else(|result| result, |ran| ran.result);
    runs.end(result)
}

/// Runs of one request: on one state, within one budget of steps or time.
pub(crate) struct Runs<'a> {
    view: &'a Arc<View>,
    epoch: Epoch,
    setting: Setting<'a>,
    upfront: u64,
    /// Absent while a run has it.
    db: Option<ViewDb>,
}

/// What a run gave beside its database.
pub(crate) struct Done {
    pub(crate) result: CallResult,
    /// None when the message could not start.
    pub(crate) gas: Option<ResultGas>,
}

impl<'a> Runs<'a> {
    pub(crate) fn begin(view: &'a Arc<View>, request: &CallRequest, lane: &Lane) -> Result<Self, CallResult> {
        let setting = Setting { block: Cow::Borrowed(view.header()), prices_pretended: false };
        Self::begin_in(view, setting, Overrides::default(), request, lane)
    }

    /// The same in a block, after changes that were made to the state since that of the view.
    pub(crate) fn begin_in(
        view: &'a Arc<View>,
        setting: Setting<'a>,
        changes: Overrides,
        request: &CallRequest,
        lane: &Lane,
    ) -> Result<Self, CallResult> {
        let Some(epoch) = view.enter() else {
            return Err(CallResult::Outdated);
        };
        let meter = match lane {
            Lane::Inline(steps) => Meter::steps(*steps),
            Lane::Pool { deadline, cancel } => Meter::clock(*deadline, Arc::clone(cancel)),
        };
        let accounts = request.options.as_deref().and_then(|options| options.state_overrides.as_ref());
        if matches!(lane, Lane::Inline(_)) && brings_long_code(request, accounts) {
            return Err(CallResult::Budget);
        }
        let mut db = ViewDb::new(Arc::clone(view), meter);
        db.hashes_below = setting.block.number;
        db.max_missing = MAX_MISSING;
        let overrides = accounts.into_iter().flatten().fold(changes, pretend);
        db.overrides = Some(overrides).filter(|overrides| !overrides.accounts.is_empty());
        Ok(Self { view, epoch, setting, upfront: upfront_steps(request), db: Some(db) })
    }

    /// The state as the message finds it.
    pub(crate) fn db(&mut self) -> &mut ViewDb {
        self.db.get_or_insert_with(ViewDb::idle)
    }

    /// Counts work outside of runs; false when no time or steps are left for it.
    pub(crate) fn charge(&mut self, steps: usize) -> bool {
        self.db().meter.charge(steps as u64)
    }

    /// Runs a message by `run`, and again with other guesses if it lacked state. An error is for `end`, as is everything once
    /// state was lacking.
    pub(crate) fn run(
        &mut self,
        request: &CallRequest,
        mut run: impl FnMut(Message, ViewDb) -> Ran,
    ) -> Result<Done, CallResult> {
        let first = message(self.view.spec(), &self.setting, request)?;
        // A pretended time must not be answered by the rules before it.
        if let Err(why) = self.view.spec().expect_known(&first.header) {
            return Err(CallResult::Invalid(why.to_string()));
        }
        let upfront = self.upfront;
        let db = self.db();
        // Gas of the run before says nothing about this one.
        db.meter.begin_transaction(0, 0);
        if !db.meter.charge(upfront) {
            return Err(CallResult::Budget);
        }
        let mut ran = run(first, self.db.take().unwrap_or_else(ViewDb::idle));
        if ran.db.wants_another_run()
            && let Some(mut meter) = ran.db.meter.again()
            && meter.charge(upfront)
            && let Ok(second) = message(self.view.spec(), &self.setting, request)
        {
            ran.db.guess = Guess::One;
            ran.db.meter = meter;
            ran = run(second, ran.db);
        }
        let is_whole = ran.db.missing.borrow().is_empty() && ran.db.meter.stopped.is_none();
        self.db = Some(ran.db);
        if is_whole { Ok(Done { result: ran.result, gas: ran.gas }) } else { Err(ran.result) }
    }

    /// What is answered: `result`, unless the state has moved on, something was missing, or a run was stopped.
    pub(crate) fn end(mut self, result: CallResult) -> CallResult {
        let (view, epoch) = (self.view, self.epoch);
        if !view.check(epoch) {
            return CallResult::Outdated;
        }
        let db = self.db();
        let missing = db.missing.borrow_mut().take();
        if !missing.is_empty() {
            return CallResult::Missing(view.missing(epoch, missing));
        }
        match db.meter.stopped {
            Some(Stop::Budget) => CallResult::Budget,
            Some(Stop::Deadline) => CallResult::Timeout,
            Some(Stop::Cancelled) => CallResult::Cancelled,
            Some(Stop::Native(address)) => CallResult::Native(address),
            // A call claims nothing.
            Some(Stop::Claim) | None => result,
        }
    }
}

/// What the message itself costs before it runs, in steps.
fn upfront_steps(request: &CallRequest) -> u64 {
    let mut steps = request.data.len() / BYTES_PER_STEP;
    if let Some(options) = request.options.as_deref() {
        steps += options.authorization_list.as_ref().map_or(0, Vec::len) * AUTHORIZATION_STEPS;
        for item in options.access_list.iter().flat_map(|list| list.iter()) {
            steps += ENTRY_STEPS * (1 + item.storage_keys.len());
        }
        for fields in options.state_overrides.iter().flat_map(HashMap::values) {
            let slots = fields.state.iter().chain(&fields.state_diff).map(HashMap::len).sum::<usize>();
            let code = fields.code.as_ref().map_or(0, |code| code.len());
            steps += ENTRY_STEPS * (1 + slots) + code / BYTES_PER_STEP;
        }
    }
    steps as u64
}

fn brings_long_code(request: &CallRequest, accounts: Option<&HashMap<Address, AccountFields>>) -> bool {
    let creation = request.to.is_none().then_some(&request.data);
    let pretended = accounts.into_iter().flat_map(HashMap::values).filter_map(|fields| fields.code.as_ref());
    creation.into_iter().chain(pretended).any(|code| code.len() > MAX_INLINE_CODE)
}

/// Adds what a caller pretends of an account.
fn pretend(mut overrides: Overrides, (address, fields): (&Address, &AccountFields)) -> Overrides {
    let over = overrides.accounts.entry(*address).or_default();
    over.is_pretended = true;
    over.balance = fields.balance.or(over.balance);
    over.nonce = fields.nonce.map(|nonce| nonce.to()).or(over.nonce);
    if let Some(code) = &fields.code {
        let hash = if code.is_empty() { KECCAK256_EMPTY } else { keccak256(code) };
        over.code_hash = Some(hash);
        if !code.is_empty() {
            overrides.codes.insert(hash, bytecode(code.clone()));
        }
    }
    if fields.state.is_some() {
        over.replaces_storage = true;
        over.slots.clear();
    }
    let slots = fields.state.as_ref().or(fields.state_diff.as_ref());
    over.slots.extend(slots.into_iter().flatten().map(|(slot, value)| (*slot, U256::from_be_bytes(value.0))));
    overrides
}
