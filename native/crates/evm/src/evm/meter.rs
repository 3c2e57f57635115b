//! Limits on how long a call, or a transaction of a block, runs. A lower gas limit would change what GAS, the 63/64 rule
//! and try/catch see, so the limit is beside it: work is counted where code can loop or fan out (at JUMPDEST, at calls and creates, by the length
//! of what is hashed or returned) and there, too, by the gas spent since the last count. Precompiles are counted by their gas.
//!
//! The weights keep the worst code found below 50 ms at the default budget: `tests/alone/hold.rs` measures them.

use crate::base::limits::{CancelFlag, Limits};
use alloy_evm::eth::EthEvmContext;
use alloy_op_evm::OpEvmContext;
use alloy_primitives::Address;
use revm::Database;
use revm::context_interface::JournalTr;
use revm::context_interface::context::ContextError;
use revm::database::State;
use revm::interpreter::Host;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Steps between two looks at the clock.
const STRIDE: u64 = 4096;
/// What a call costs in steps: entering a frame, or running a precompile.
pub(crate) const CALL_STEPS: u64 = 64;
/// Gas that weighs as much as a step. The slowest opcode for its gas takes 6 ns for one (TSTORE of a new key).
const GAS_PER_STEP: u64 = 256;
/// The same for precompiles, which take up to 40 ns for one (P256VERIFY).
pub(crate) const PRECOMPILE_GAS_PER_STEP: u64 = 64;
/// What one precompile may take of the time that is left, by its gas: nothing can stop it while it runs.
const PRECOMPILE_NANOS_PER_GAS: u64 = 40;
/// Strides of a run that has lacked state: it only looks for more keys, and what it guessed may make it loop. In a block, of
/// each transaction.
const GUESSING_STRIDES: u64 = 12;
const GUESSING_STEPS: u64 = GUESSING_STRIDES * STRIDE;

/// How the first frame of a transaction ends that is not run: see `taken`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TakenFrame {
    pub(crate) succeeded: bool,
    /// Of the gas that the transaction has.
    pub(crate) gas_left: u64,
}

/// Why a run was stopped from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stop {
    /// It used up its steps and belongs in the pool.
    Budget,
    Deadline,
    Cancelled,
    /// Its block says that less gas was used.
    Claim,
    /// It entered the native contract at this address.
    Native(Address),
}

/// Counts the steps of one run down.
#[derive(Debug)]
pub(crate) struct Meter {
    left: u64,
    limit: Limit,
    /// Gas left in all frames together when it was last looked at.
    gas: u64,
    /// Gas that must be left in all frames together: see `GasClaim::least_left`.
    least: u64,
    /// Gas that the frames below each depth hold back from their callees.
    held: Vec<u64>,
    pub(crate) stopped: Option<Stop>,
    /// How the next frame ends, in place of being run.
    pub(crate) taken: Option<TakenFrame>,
}

#[derive(Debug)]
enum Limit {
    None,
    Steps,
    /// Looked at after each stride, of which there may be no more than so many.
    Clock {
        deadline: Instant,
        cancel: CancelFlag,
        strides: u64,
    },
    /// The clock, and steps for each transaction once state was lacking.
    Block {
        limits: Limits,
        guesses: bool,
    },
}

impl Meter {
    pub(crate) const fn unlimited() -> Self {
        Self::new(u64::MAX, Limit::None)
    }

    pub(crate) const fn steps(budget: u64) -> Self {
        Self::new(budget, Limit::Steps)
    }

    pub(crate) const fn clock(deadline: Instant, cancel: CancelFlag) -> Self {
        // Nothing left: the first count looks at the clock, as a call may have waited for long.
        Self::new(0, Limit::Clock { deadline, cancel, strides: u64::MAX })
    }

    /// For a whole block: `begin_transaction` comes before each of its transactions.
    pub(crate) fn block(limits: &Limits) -> Self {
        Self::new(0, Limit::Block { limits: limits.clone(), guesses: false })
    }

    const fn new(left: u64, limit: Limit) -> Self {
        Self { left, limit, gas: 0, least: 0, held: Vec::new(), stopped: None, taken: None }
    }

    /// The next transaction of a block has this much gas, and must have `least` left while it runs.
    pub(crate) fn begin_transaction(&mut self, gas: u64, least: u64) {
        (self.gas, self.least, self.stopped) = (gas, least, None);
        if matches!(self.limit, Limit::Block { guesses: true, .. }) {
            // What is made up says nothing about the claim.
            (self.left, self.least) = (GUESSING_STEPS, 0);
        }
    }

    /// Frames that were open at once, at most.
    pub(crate) const fn deepest(&self) -> usize {
        self.held.len()
    }

    /// From here on the run goes on with made-up state: bounds it if only the clock did.
    pub(crate) fn guess(&mut self) {
        match &mut self.limit {
            Limit::Clock { strides, .. } => *strides = (*strides).min(GUESSING_STRIDES),
            Limit::Block { guesses, .. } if !*guesses => {
                *guesses = true;
                (self.left, self.least) = (GUESSING_STEPS, 0);
            }
            Limit::Block { .. } | Limit::None | Limit::Steps => {}
        }
    }

    /// Has the run stop where it is next counted: nothing that it could still find is wanted.
    pub(crate) fn exhaust(&mut self) {
        self.left = 0;
        if let Limit::Clock { strides, .. } = &mut self.limit {
            *strides = 0;
        }
    }

    /// Counts work that is done before the first opcode; false when the run must not begin.
    pub(crate) fn charge(&mut self, steps: u64) -> bool {
        self.tick(steps)
    }

    /// What another run of the same call gets: of steps those that are left, of time all of it. `None` when this one
    /// used it up.
    pub(crate) fn again(&self) -> Option<Self> {
        match (&self.limit, self.stopped) {
            (Limit::None, _) => Some(Self::unlimited()),
            (Limit::Steps, None) => Some(Self::steps(self.left)),
            (Limit::Clock { deadline, cancel, .. }, None | Some(Stop::Budget)) => {
                Some(Self::clock(*deadline, Arc::clone(cancel)))
            }
            (Limit::Block { .. }, _) | (_, Some(_)) => None,
        }
    }

    /// Counts `steps` and the gas spent since the last time, given what this frame has left.
    #[inline]
    pub(crate) fn count(&mut self, steps: u64, depth: usize, gas: u64) -> bool {
        let left = self.held.get(depth).copied().unwrap_or(0).saturating_add(gas);
        let spent = self.gas.saturating_sub(left);
        self.gas = left;
        if left < self.least {
            self.stopped = Some(Stop::Claim);
            return false;
        }
        self.tick(steps + spent / GAS_PER_STEP)
    }

    /// Notes that the frame at `depth` keeps `gas` while the one it calls runs.
    pub(crate) fn hold(&mut self, depth: usize, gas: u64) {
        let below = self.held.get(depth).copied().unwrap_or(0);
        if self.held.len() < depth + 2 {
            self.held.resize(depth + 2, 0);
        }
        self.held[depth + 1] = below.saturating_add(gas);
    }

    /// The most gas a precompile may use here, and what it means to need more, if there is a bound beside its own.
    pub(crate) fn precompile_gas(&self) -> Option<(u64, Stop)> {
        let by_steps = (self.left.saturating_mul(PRECOMPILE_GAS_PER_STEP), Stop::Budget);
        // Nothing looks at the clock inside a precompile, and some take minutes for a gas limit out of bounds.
        let in_time =
            |left: Duration| u64::try_from(left.as_nanos()).unwrap_or(u64::MAX) / PRECOMPILE_NANOS_PER_GAS;
        match &self.limit {
            Limit::None => None,
            Limit::Steps | Limit::Block { guesses: true, .. } => Some(by_steps),
            Limit::Clock { cancel, .. } if cancel.load(Ordering::Relaxed) => Some((0, Stop::Cancelled)),
            Limit::Clock { deadline, strides, .. } => {
                let in_strides = strides.saturating_mul(STRIDE * PRECOMPILE_GAS_PER_STEP);
                let in_time = in_time(deadline.saturating_duration_since(Instant::now()));
                Some((in_time.min(in_strides), Stop::Deadline))
            }
            Limit::Block { limits, guesses: false } => {
                let by_claim = (self.least > 0).then(|| (self.gas.saturating_sub(self.least), Stop::Claim));
                let by_time = limits.left().map(|left| (in_time(left), Stop::Deadline));
                by_claim.into_iter().chain(by_time).min_by_key(|(gas, _)| *gas)
            }
        }
    }

    /// Counts `steps`; false when the run must stop.
    #[inline]
    pub(crate) fn tick(&mut self, steps: u64) -> bool {
        if self.left >= steps {
            self.left -= steps;
            return true;
        }
        self.refill(steps)
    }

    #[cold]
    fn refill(&mut self, steps: u64) -> bool {
        let taken = 1 + steps / STRIDE;
        self.stopped = match &mut self.limit {
            Limit::None => None,
            Limit::Steps => Some(Stop::Budget),
            Limit::Clock { strides, .. } if *strides < taken => Some(Stop::Budget),
            Limit::Clock { cancel, .. } if cancel.load(Ordering::Relaxed) => Some(Stop::Cancelled),
            Limit::Clock { deadline, .. } if Instant::now() >= *deadline => Some(Stop::Deadline),
            Limit::Clock { strides, .. } => {
                *strides -= taken;
                None
            }
            Limit::Block { guesses: true, .. } => Some(Stop::Budget),
            Limit::Block { limits, .. } if limits.cancel.load(Ordering::Relaxed) => Some(Stop::Cancelled),
            Limit::Block { limits, .. } if limits.left().is_some_and(|left| left.is_zero()) => {
                Some(Stop::Deadline)
            }
            Limit::Block { .. } => None,
        };
        self.left = STRIDE;
        self.stopped.is_none()
    }
}

/// A database that carries the meter of the run it is read by.
pub(crate) trait HasMeter {
    fn meter(&mut self) -> &mut Meter;
    /// Whether code at this address is native code of the chain's own node.
    fn is_native(&self, address: &Address) -> bool;
}

impl<DB: HasMeter> HasMeter for State<DB> {
    #[inline]
    fn meter(&mut self) -> &mut Meter {
        self.database.meter()
    }

    fn is_native(&self, address: &Address) -> bool {
        self.database.is_native(address)
    }
}

/// A host that is stopped by the meter of its database.
pub(crate) trait Metered: Host {
    fn meter(&mut self) -> &mut Meter;
    fn is_native(&self, address: &Address) -> bool;
    fn depth(&self) -> usize;
    fn fail(&mut self);
}

macro_rules! metered {
    ($context:ident) => {
        impl<DB: Database + HasMeter + Debug> Metered for $context<DB>
        where
            Self: Host,
        {
            #[inline]
            fn meter(&mut self) -> &mut Meter {
                self.journaled_state.database.meter()
            }

            #[inline]
            fn is_native(&self, address: &Address) -> bool {
                self.journaled_state.database.is_native(address)
            }

            #[inline]
            fn depth(&self) -> usize {
                self.journaled_state.depth()
            }

            fn fail(&mut self) {
                self.error = Err(ContextError::Custom("stopped by the meter".into()));
            }
        }
    };
}

metered!(EthEvmContext);
metered!(OpEvmContext);
