//! One chain in memory: rules, hot state, and the pool for long calls.

use crate::ahead::{Ahead, Extension, Flashblock, Piece, Preconfirmation, Promotion, SealedRoots, ToldFlashblock};
use crate::base::error::Error;
use crate::base::limits::Limits;
use crate::base::locks;
use crate::base::pool::Pool;
use crate::evm::block::{self, Check, Execution, Ready, check_state};
use crate::evm::effects::Effects;
use crate::evm::taken::Taking;
use crate::model::claim::GasCeiling;
use crate::model::code::bytecode;
use crate::model::diff::Diff;
use crate::model::header::{decode_header, read_header};
use crate::model::outcome::Outcome;
use crate::model::trie::kept::KeptTries;
use crate::model::trie::state::StateTrie;
use crate::rules::spec::ChainSpec;
use crate::state::core::StateCore;
use crate::state::hot::HotLimits;
use crate::state::loaded::Task;
use crate::state::view::View;
use alloy_consensus::Header;
use alloy_primitives::B256;
use std::sync::{Arc, Mutex, MutexGuard};

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
    /// Accounts and slots of all tries that are kept.
    pub trie_keys: usize,
}

/// Blocks and flashblocks that may wait for their thread. There is one follower and one stream, each with one at a time.
const EXECUTIONS: usize = 16;

/// See the module's text.
#[derive(Debug)]
pub struct Chain {
    core: Arc<StateCore>,
    ahead: Ahead,
    ceiling: GasCeiling,
    pool: Pool,
    executions: Pool,
    commitment: Mutex<Option<StateTrie>>,
    tries: KeptTries,
}

impl Chain {
    /// An empty chain; `open` or `start_at_genesis` gives it its first block.
    pub fn new(spec: ChainSpec, options: ChainOptions) -> Result<Self, Error> {
        Ok(Self {
            core: Arc::new(StateCore::new(spec, options.hot, options.history_bytes)),
            ahead: Ahead::default(),
            ceiling: GasCeiling(options.max_block_gas),
            pool: Pool::start("evm", options.pool_threads, options.pool_queue)?,
            executions: Pool::start("blocks", 1, EXECUTIONS)?,
            commitment: Mutex::new(None),
            tries: KeptTries::new(options.trie_keys),
        })
    }

    pub fn spec(&self) -> &Arc<ChainSpec> {
        &self.core.spec
    }

    pub const fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Tries of complete states, for roots of what is simulated.
    pub const fn tries(&self) -> &KeptTries {
        &self.tries
    }

    /// The thread that blocks and flashblocks are executed on. Calls have another one, and cannot fill this.
    pub const fn executions(&self) -> &Pool {
        &self.executions
    }

    fn lock_commitment(&self) -> MutexGuard<'_, Option<StateTrie>> {
        locks::lock(&self.commitment)
    }

    /// Takes the complete state out, to compute a root with it off the thread that others wait for.
    fn take_commitment(&self) -> Option<StateTrie> {
        self.lock_commitment().take()
    }

    /// Puts it back, unless it is of another head by now.
    fn return_commitment(&self, commitment: Option<StateTrie>, generation: u64) {
        if self.core.hot.generation() == generation {
            *self.lock_commitment() = commitment;
        }
    }

    /// Makes a block the head; pre-confirmed blocks that do not fit it go.
    fn advance(&self, hash: B256, header: Header, diff: Diff) -> Result<(), Error> {
        self.core.hot.apply(hash, header, diff)?;
        self.head_moved();
        Ok(())
    }

    fn head_moved(&self) {
        self.core.working.end();
        self.ahead.settle(&self.core);
    }

    /// Refuses a block whose rules are not known, given whole or by its header alone (RLP).
    pub fn expect_known(&self, block: &[u8]) -> Result<(), Error> {
        self.core.spec.expect_known(&read_header(block)?)
    }

    /// Begins hot state at the block with this header (RLP); its state is asked for as it is needed.
    pub fn open(&self, header: &[u8]) -> Result<(), Error> {
        let header = decode_header(header)?;
        self.core.hot.open(header.hash_slow(), header);
        // It may re-anchor because what it was told is false.
        self.core.history.clear();
        self.head_moved();
        Ok(())
    }

    /// Makes a block that was executed elsewhere or earlier the head.
    pub fn apply(&self, header: &[u8], diff: &[u8]) -> Result<(), Error> {
        let header = decode_header(header)?;
        self.advance(header.hash_slow(), header, Diff::decode(diff)?)
    }

    /// Executes a block (RLP) on the head and verifies it. The head stays where it is: see `make_head`.
    pub fn run_block(&self, block: &[u8], limits: &Limits) -> Result<Execution<Ready>, Error> {
        self.run_block_with(block, None, limits)
    }

    /// The same, but what cannot be executed is taken from `effects`. Without them it is `Error::Native`.
    pub fn run_block_with(
        &self,
        block: &[u8],
        effects: Option<&Effects>,
        limits: &Limits,
    ) -> Result<Execution<Ready>, Error> {
        let (view, generation) = self.begin(block)?;
        let mut commitment = self.take_commitment();
        let check = Check::Compare(&mut commitment);
        let mut taking = Taking::new(effects);
        match self.end(block::execute(&view, block, check, self.ceiling, limits, &mut taking), generation) {
            Ok(Execution::Done(outcome)) => {
                Ok(Execution::Done(Ready { generation, outcome, taken: taking.taken, commitment }))
            }
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
    pub fn make_head(&self, Ready { generation, outcome, commitment, .. }: Ready) -> Result<Box<Outcome>, Error> {
        self.core.expect_generation(generation)?;
        self.advance(outcome.hash, outcome.header.clone(), outcome.diff.clone())?;
        self.return_commitment(commitment, generation);
        Ok(outcome)
    }

    /// Both at once, however long it takes.
    pub fn execute(&self, block: &[u8]) -> Result<Execution, Error> {
        match self.run_block(block, &Limits::none())? {
            Execution::Done(ready) => Ok(Execution::Done(self.make_head(ready)?)),
            Execution::Missing(missing) => Ok(Execution::Missing(missing)),
        }
    }

    /// Executes a block whose results are not known yet (RLP) on the head and writes them into its header: gas
    /// used, receipts root, bloom and blob gas used. The head stays where it is.
    pub fn seal(&self, block: &[u8]) -> Result<Execution, Error> {
        let (view, generation) = self.begin(block)?;
        self.end(
            block::execute(&view, block, Check::Fill, self.ceiling, &Limits::none(), &mut Taking::new(None)),
            generation,
        )
    }

    /// The head to execute a block on, with what was provided for that block before, and hot state's generation.
    fn begin(&self, block: &[u8]) -> Result<(Arc<View>, u64), Error> {
        let generation = self.core.hot.generation();
        let view = View::of_head(Arc::clone(&self.core))?;
        let block = read_header(block)?.hash_slow();
        self.core.working.begin(Task { generation, head: view.hash(), block });
        Ok((Arc::new(view), generation))
    }

    /// A block that was executed or refused needs nothing any more.
    fn end(&self, execution: Result<Execution, Error>, generation: u64) -> Result<Execution, Error> {
        // What was read of a head that was taken back meanwhile proves nothing, against the block neither.
        self.core.expect_generation(generation)?;
        // One that enters a native contract is executed again, with its effects.
        if !matches!(execution, Ok(Execution::Missing(_)) | Err(Error::Native(_))) {
            self.core.working.end();
        }
        execution
    }

    /// Opens the state after the block with this header (RLP).
    pub fn view(&self, header: &[u8]) -> Result<View, Error> {
        View::open(Arc::clone(&self.core), header)
    }

    /// Opens the newest pre-confirmed state, with the context of the block it is of; `None` when there is none. It
    /// stays as it is while further flashblocks arrive and until the block below it leaves hot state.
    pub fn preconfirmed_view(&self) -> Option<View> {
        View::open_preconfirmed(Arc::clone(&self.core))
    }

    /// Opens the pre-confirmed state of one version; `None` when it is not kept any more.
    pub fn preconfirmed_view_at(&self, version: u64) -> Option<View> {
        View::open_preconfirmed_at(Arc::clone(&self.core), version)
    }

    /// A view of the head, to provide what `execute` lacked.
    pub fn head_view(&self) -> Result<View, Error> {
        View::of_head(Arc::clone(&self.core))
    }

    /// Takes off every block above `number`. The complete state must be loaded again after it.
    pub fn revert_to(&self, number: u64) -> Result<(), Error> {
        self.set_commitment(None);
        self.core.hot.revert_to(number)?;
        self.head_moved();
        Ok(())
    }

    /// Keeps the complete state, so that state roots are verified; `None` stops that.
    pub fn set_commitment(&self, commitment: Option<StateTrie>) {
        *self.lock_commitment() = commitment;
    }

    /// Accounts, slots, bytes of code and waiting calls, for metrics.
    pub fn sizes(&self) -> (usize, usize, usize, usize) {
        let (accounts, slots) = self.core.hot.entries();
        (accounts, slots, self.core.hot.code_bytes(), self.pool.waiting())
    }

    /// Bytes held of what was loaded for blocks below the window, for metrics.
    pub fn history_bytes(&self) -> usize {
        self.core.history.bytes()
    }

    /// Begins hot state at the genesis block with all of its state.
    pub fn start_at_genesis(&self, outcome: &Outcome) -> Result<(), Error> {
        self.core.hot.open(outcome.hash, outcome.header.clone());
        self.head_moved();
        for (address, account) in &outcome.diff.accounts {
            self.core.hot.put_account(*address, *account);
        }
        for (address, slot, value) in &outcome.diff.slots {
            self.core.hot.put_slot(*address, *slot, *value);
        }
        for (hash, code) in &outcome.diff.codes {
            self.core.hot.put_code(*hash, bytecode(code.clone()));
        }
        Ok(())
    }

    /// Sets how many blocks may be pre-confirmed at once.
    pub fn set_preconfirmed_depth(&self, depth: usize) {
        self.ahead.set_depth(depth);
    }

    /// Blocks, accounts and slots that are pre-confirmed, for metrics.
    pub fn preconfirmed_sizes(&self) -> (usize, usize, usize) {
        self.core.versions.newest().map_or((0, 0, 0), |(_, newest)| {
            let (accounts, slots) = newest.overlay.entries();
            let blocks = newest.header.number.saturating_sub(newest.base_number);
            (usize::try_from(blocks).unwrap_or(usize::MAX), accounts, slots)
        })
    }

    /// The payloads of the blocks that are pre-confirmed on the head, lowest first.
    pub fn preconfirmed_payloads(&self) -> Vec<String> {
        self.ahead.payloads()
    }

    /// Whether pre-confirmed blocks went although they name a head as their parent, because it has other contents than
    /// they were executed on. Since it was asked last: whoever goes by hashes has to be told.
    pub fn take_lost_preconfirmed(&self) -> bool {
        self.ahead.take_lost()
    }

    /// The last block that was pre-confirmed without a hash and sealed with other contents: what names it as its parent
    /// does not stand on what was pre-confirmed.
    pub fn sealed_otherwise(&self) -> Option<u64> {
        self.ahead.sealed_otherwise()
    }

    /// The version of the newest pre-confirmed state; `None` when nothing is pre-confirmed.
    pub fn preconfirmed_version(&self) -> Option<u64> {
        self.core.versions.newest().map(|(version, _)| version)
    }

    /// Executes a flashblock on the one before it and compares what it gives with what it says. Readers do not see it
    /// yet: see `show`.
    pub fn run_flashblock(
        &self,
        flashblock: &Flashblock,
        limits: &Limits,
    ) -> Result<Preconfirmation<Extension>, Error> {
        self.ahead.run_flashblock(&self.core, flashblock, self.ceiling, limits)
    }

    /// Shows readers a flashblock that was executed. Refused, with everything as it was, if the head or what is
    /// pre-confirmed has changed since.
    pub fn show(&self, extension: Extension) -> Result<Box<Piece>, Error> {
        self.ahead.show(&self.core, extension)
    }

    /// Both at once, however long it takes.
    pub fn extend_preconfirmed(&self, flashblock: &Flashblock) -> Result<Preconfirmation, Error> {
        match self.run_flashblock(flashblock, &Limits::none())? {
            Preconfirmation::Done(extension) => Ok(Preconfirmation::Done(self.show(extension)?)),
            Preconfirmation::Missing(missing) => Ok(Preconfirmation::Missing(missing)),
        }
    }

    /// Shows readers what a flashblock changed that another process executed, without executing it; gives the version of the
    /// state after it. Refused, with everything as it was, if it does not follow what is here.
    pub fn apply_flashblock(&self, flashblock: ToldFlashblock<'_>) -> Result<u64, Error> {
        self.ahead.take_told(&self.core, flashblock)
    }

    /// Forgets pre-confirmed blocks from a number on. Whoever holds a view of them can go on reading it.
    pub fn drop_preconfirmed(&self, from: u64) {
        self.ahead.drop_from(&self.core, from);
    }

    /// Finds what a sealed block (RLP) gives, if it is the first pre-confirmed one, without executing what was
    /// pre-confirmed. `None` if no block of its number was pre-confirmed on the head. Nothing changes: see `make_head`.
    pub fn run_promotion(&self, rlp: &[u8], limits: &Limits) -> Result<Option<Promotion<Ready>>, Error> {
        let generation = self.core.hot.generation();
        let promotion = self.ahead.run_promotion(&self.core, rlp, limits)?;
        promotion.map(|promotion| self.ready(promotion, generation)).transpose()
    }

    /// The same for the block with this hash, if that is what was pre-confirmed first: its contents are here, and nobody
    /// has to be asked for them. Where its builder did not say all of its header, the sealed header's `roots` complete it. `None` if
    /// another block, or none, is pre-confirmed there.
    pub fn run_sealed(&self, hash: B256, roots: Option<SealedRoots>) -> Result<Option<Promotion<Ready>>, Error> {
        let generation = self.core.hot.generation();
        let promotion = self.ahead.run_sealed(&self.core, hash, roots)?;
        promotion.map(|promotion| self.ready(promotion, generation)).transpose()
    }

    /// Verifies the state root, if the complete state is at hand.
    fn ready(&self, promotion: Promotion, generation: u64) -> Result<Promotion<Ready>, Error> {
        promotion.and_then(|outcome| {
            let mut commitment = self.take_commitment();
            if let Some(complete) = &mut commitment {
                check_state(self.spec(), &outcome.header, &outcome.diff, complete)?;
            }
            Ok(Ready { generation, outcome, taken: Vec::new(), commitment })
        })
    }

    /// Makes a sealed block (RLP) the head, however long it takes. Executing a block instead drops what was
    /// pre-confirmed and does not fit.
    pub fn promote(&self, rlp: &[u8]) -> Result<Option<Promotion>, Error> {
        let promotion = self.run_promotion(rlp, &Limits::none())?;
        promotion.map(|promotion| promotion.and_then(|ready| self.make_head(ready))).transpose()
    }

    /// The same by its hash (`run_sealed`).
    pub fn promote_sealed(&self, hash: B256, roots: Option<SealedRoots>) -> Result<Option<Promotion>, Error> {
        let promotion = self.run_sealed(hash, roots)?;
        promotion.map(|promotion| promotion.and_then(|ready| self.make_head(ready))).transpose()
    }
}

#[cfg(test)]
#[path = "chain_tests.rs"]
mod tests;
