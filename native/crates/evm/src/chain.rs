//! One chain in memory: rules, hot state, and the pool for long calls.

use crate::block::{self, Check, Execution, Ready};
use crate::commitment::Commitment;
use crate::db::bytecode;
use crate::diff::Diff;
use crate::error::{Error, malformed};
use crate::history::History;
use crate::hot::{HotLimits, HotState};
use crate::limits::Limits;
use crate::loaded::{Task, WorkingSet};
use crate::outcome::Outcome;
use crate::pool::Pool;
use crate::preconfirmed::Preconfirmed;
use crate::spec::ChainSpec;
use crate::view::View;
use alloy_consensus::Header;
use alloy_primitives::B256;
use alloy_rlp::{Decodable, Header as RlpHeader};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Limits of one chain in memory.
#[derive(Debug, Clone, Copy)]
pub struct ChainOptions {
    pub hot: HotLimits,
    /// Bytes kept of what was loaded for blocks below the window, all of them together.
    pub history_bytes: usize,
    pub pool_threads: usize,
    pub pool_queue: usize,
    /// The largest gas limit of a block that is executed.
    pub max_block_gas: u64,
}

impl ChainOptions {
    /// Refuses what a block of this gas limit might take.
    pub(crate) fn check_gas_limit(&self, limit: u64) -> Result<(), Error> {
        if limit <= self.max_block_gas {
            return Ok(());
        }
        Err(Error::Exhausted(format!(
            "its gas limit of {limit} is above {}, the most that is taken (--max-block-gas)",
            self.max_block_gas
        )))
    }
}

/// Blocks and flashblocks that may wait for their thread. There is one follower and one stream, each with one at a time.
const EXECUTIONS: usize = 16;

/// See the module's text.
#[derive(Debug)]
pub struct Chain {
    spec: Arc<ChainSpec>,
    options: ChainOptions,
    hot: HotState,
    history: History,
    working: WorkingSet,
    preconfirmed: Preconfirmed,
    pool: Pool,
    executions: Pool,
    commitment: Mutex<Option<Commitment>>,
}

impl Chain {
    /// An empty chain; `open` or `start_at_genesis` gives it its first block.
    pub fn new(spec: ChainSpec, options: ChainOptions) -> Result<Self, Error> {
        Ok(Self {
            spec: Arc::new(spec),
            options,
            hot: HotState::new(options.hot),
            history: History::new(options.history_bytes),
            working: WorkingSet::default(),
            preconfirmed: Preconfirmed::default(),
            pool: Pool::start("evm", options.pool_threads, options.pool_queue)?,
            executions: Pool::start("blocks", 1, EXECUTIONS)?,
            commitment: Mutex::new(None),
        })
    }

    pub const fn spec(&self) -> &Arc<ChainSpec> {
        &self.spec
    }

    pub const fn options(&self) -> &ChainOptions {
        &self.options
    }

    pub const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// The thread that blocks and flashblocks are executed on. Calls have another one, and cannot fill this.
    pub const fn executions(&self) -> &Pool {
        &self.executions
    }

    pub(crate) const fn hot(&self) -> &HotState {
        &self.hot
    }

    pub(crate) const fn history(&self) -> &History {
        &self.history
    }

    pub(crate) const fn working(&self) -> &WorkingSet {
        &self.working
    }

    pub(crate) const fn preconfirmed(&self) -> &Preconfirmed {
        &self.preconfirmed
    }

    fn lock_commitment(&self) -> MutexGuard<'_, Option<Commitment>> {
        self.commitment.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the complete state out, to compute a root with it off the thread that others wait for.
    pub(crate) fn take_commitment(&self) -> Option<Commitment> {
        self.lock_commitment().take()
    }

    /// Puts it back, unless it is of another head by now.
    pub(crate) fn return_commitment(&self, commitment: Option<Commitment>, generation: u64) {
        if self.hot.generation() == generation {
            *self.lock_commitment() = commitment;
        }
    }

    /// Makes a block the head; pre-confirmed blocks that do not fit it go.
    pub(crate) fn advance(&self, hash: B256, header: Header, diff: Diff) -> Result<(), Error> {
        self.hot.apply(hash, header, diff)?;
        self.head_moved();
        Ok(())
    }

    fn head_moved(&self) {
        self.working.end();
        self.preconfirmed.settle(self.hot.head().as_deref());
    }

    /// Begins hot state at the block with this header (RLP); its state is asked for as it is needed.
    pub fn open(&self, header: &[u8]) -> Result<(), Error> {
        let header = decode_header(header)?;
        self.hot.open(header.hash_slow(), header);
        // It may begin anew because what it was told is false.
        self.history.clear();
        self.head_moved();
        Ok(())
    }

    /// Makes a block that was executed elsewhere or earlier the head.
    pub fn apply(&self, header: &[u8], diff: &[u8]) -> Result<(), Error> {
        let header = decode_header(header)?;
        self.advance(header.hash_slow(), header, Diff::decode(diff)?)
    }

    /// Executes a block (RLP) on the head and verifies it. The head stays where it is: see `make_head`.
    pub fn run_block(self: &Arc<Self>, block: &[u8], limits: &Limits) -> Result<Execution<Ready>, Error> {
        let (view, generation) = self.begin(block)?;
        let mut commitment = self.take_commitment();
        let check = Check::Compare(&mut commitment);
        match self.end(block::execute(self, &view, block, check, limits), generation) {
            Ok(Execution::Done(outcome)) => Ok(Execution::Done(Ready { generation, outcome, commitment })),
            Ok(Execution::Missing(missing)) => {
                self.return_commitment(commitment, generation);
                Ok(Execution::Missing(missing))
            }
            Err(why) => {
                self.return_commitment(commitment, generation);
                Err(why)
            }
        }
    }

    /// Makes a block the head that was executed on it. Refused if the head has moved since.
    pub fn make_head(&self, Ready { generation, outcome, commitment }: Ready) -> Result<Box<Outcome>, Error> {
        self.expect_generation(generation)?;
        self.advance(outcome.hash, outcome.header.clone(), outcome.diff.clone())?;
        self.return_commitment(commitment, generation);
        Ok(outcome)
    }

    /// Both at once, however long it takes.
    pub fn execute(self: &Arc<Self>, block: &[u8]) -> Result<Execution, Error> {
        match self.run_block(block, &Limits::none())? {
            Execution::Done(ready) => Ok(Execution::Done(self.make_head(ready)?)),
            Execution::Missing(missing) => Ok(Execution::Missing(missing)),
        }
    }

    /// Executes a block whose results are not known yet (RLP) on the head and writes them into its header: gas
    /// used, receipts root, bloom and blob gas used. The head stays where it is.
    pub fn seal(self: &Arc<Self>, block: &[u8]) -> Result<Execution, Error> {
        let (view, generation) = self.begin(block)?;
        self.end(block::execute(self, &view, block, Check::Fill, &Limits::none()), generation)
    }

    /// The head to execute a block on, with what was provided for that block before, and hot state's generation.
    fn begin(self: &Arc<Self>, block: &[u8]) -> Result<(Arc<View>, u64), Error> {
        let generation = self.hot.generation();
        let view = View::of_head(Arc::clone(self))?;
        let block = read_header(block)?.hash_slow();
        self.working.begin(Task { generation, head: view.hash(), block });
        Ok((Arc::new(view), generation))
    }

    /// A block that was executed or refused needs nothing any more.
    fn end(&self, execution: Result<Execution, Error>, generation: u64) -> Result<Execution, Error> {
        // What was read of a head that was taken back meanwhile proves nothing, against the block neither.
        self.expect_generation(generation)?;
        if !matches!(execution, Ok(Execution::Missing(_))) {
            self.working.end();
        }
        execution
    }

    /// Fails if blocks were taken back, or all of hot state was replaced, since it was asked for.
    pub(crate) fn expect_generation(&self, generation: u64) -> Result<(), Error> {
        if self.hot.generation() == generation {
            return Ok(());
        }
        Err(Error::Unavailable("the head moved".into()))
    }

    /// A view of the head, to provide what `execute` lacked.
    pub fn head_view(self: &Arc<Self>) -> Result<View, Error> {
        View::of_head(Arc::clone(self))
    }

    /// Takes off every block above `number`. The complete state must be loaded again after it.
    pub fn revert_to(&self, number: u64) -> Result<(), Error> {
        self.set_commitment(None);
        self.hot.revert_to(number)?;
        self.head_moved();
        Ok(())
    }

    /// Keeps the complete state, so that state roots are verified; `None` stops that.
    pub fn set_commitment(&self, commitment: Option<Commitment>) {
        *self.lock_commitment() = commitment;
    }

    /// Accounts, slots, bytes of code and waiting calls, for metrics.
    pub fn sizes(&self) -> (usize, usize, usize, usize) {
        let (accounts, slots) = self.hot.entries();
        (accounts, slots, self.hot.code_bytes(), self.pool.waiting())
    }

    /// Bytes held of what was loaded for blocks below the window, for metrics.
    pub fn history_bytes(&self) -> usize {
        self.history.bytes()
    }

    /// Begins hot state at the genesis block with all of its state.
    pub fn start_at_genesis(&self, outcome: &Outcome) -> Result<(), Error> {
        self.hot.open(outcome.hash, outcome.header.clone());
        self.head_moved();
        for (address, account) in &outcome.diff.accounts {
            self.hot.put_account(*address, *account);
        }
        for (address, slot, value) in &outcome.diff.slots {
            self.hot.put_slot(*address, *slot, *value);
        }
        for (hash, code) in &outcome.diff.codes {
            self.hot.put_code(*hash, bytecode(code.clone()));
        }
        Ok(())
    }
}

/// Reads the header of a block, given whole or by its header alone (RLP).
pub fn read_header(bytes: &[u8]) -> Result<Header, Error> {
    let mut outer = bytes;
    let list = RlpHeader::decode(&mut outer).map_err(|why| malformed("block", why))?;
    let mut inner = outer.get(..list.payload_length).ok_or_else(|| malformed("block", "it ends early"))?;
    // A block is a list that begins with a list; a header begins with its parent's hash.
    let is_block = inner.first().is_some_and(|byte| *byte >= 0xc0);
    let header = if is_block { Header::decode(&mut inner) } else { Header::decode(&mut &*bytes) };
    header.map_err(|why| malformed("block header", why))
}

fn decode_header(mut bytes: &[u8]) -> Result<Header, Error> {
    Header::decode(&mut bytes).map_err(|why| malformed("block header", why))
}
