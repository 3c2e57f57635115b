//! The blocks of a simulation, one after another.

use super::chain::{self, Placed};
use super::cost::BLOCK_STEPS;
use super::ended::{HaltWords, ended, envelope, refusal};
use super::message::{Filled, Rules, Transaction};
use super::overrides;
use super::refusal::{Refusal, refuse};
use super::render::{self, RanCall};
use super::request::{AskedBlock, AskedCall, SimulationRequest};
use super::transfers::Transfers;
use crate::evm::factory::{BlockState, OpRules, eth_evm, op_evm};
use crate::evm::meter::Stop;
use crate::evm::precompiles::MeteredPrecompiles;
use crate::model::trie::state::StateTrie;
use crate::rules::spec::{ChainSpec, Stack};
use crate::state::view::View;
use alloy_consensus::{Eip658Value, Header, Receipt, ReceiptEnvelope, TxReceipt, Typed2718, proofs};
use alloy_eips::eip4895::{Withdrawal, Withdrawals};
use alloy_eips::eip7685::Requests;
use alloy_evm::block::calc::base_block_reward;
use alloy_evm::block::{BlockExecutionError, SystemCaller};
use alloy_evm::eth::eip6110::{DEPOSIT_REQUEST_TYPE, parse_deposits_from_receipts};
use alloy_evm::{EthEvm, Evm, EvmEnv};
use alloy_op_evm::{OpEvm, OpTx};
use alloy_primitives::map::AddressMap;
use alloy_primitives::{Address, B256, Bloom, Bytes, U256};
use op_alloy_consensus::L2_TO_L1_MESSAGE_PASSER_ADDRESS;
use op_revm::{L1BlockInfo, OpTransaction};
use revm::DatabaseCommit;
use revm::context::{CfgEnv, TxEnv};
use revm::context_interface::block::BlobExcessGasAndPrice;
use revm::database::AccountStatus;
use revm::database::DatabaseCommitExt;
use revm::database::states::bundle_state::BundleRetention;
use revm::primitives::hardfork::SpecId;
use std::sync::Arc;

/// The most that all frames of a call may have as memory together, as of a transaction.
const MAX_MEMORY: u64 = 1 << 29;
/// Bytes of an answer that a call takes beside what it returns and logs, about.
const CALL_BYTES: usize = 256;
const LOG_BYTES: usize = 512;

/// Why there is no answer.
pub(super) enum Failure {
    Refused(Refusal),
    Stopped(Stop),
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// All blocks of one simulation.
pub(super) struct Blocks<'a> {
    view: &'a Arc<View>,
    spec: &'a ChainSpec,
    request: &'a SimulationRequest,
    /// Of the state so far, where all of it is known.
    trie: Option<StateTrie>,
    /// Gas and bytes that are left.
    gas: u64,
    bytes: usize,
    json: Vec<u8>,
}

/// What the calls of one block gave.
#[derive(Default)]
struct Contents {
    transactions: Vec<Transaction>,
    receipts: Vec<ReceiptEnvelope>,
    calls: Vec<RanCall>,
    senders: Vec<Address>,
    gas_used: u64,
    blob_gas_used: u64,
    logs: usize,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(view: &'a Arc<View>, request: &'a SimulationRequest, trie: Option<StateTrie>) -> Self {
        let (gas, bytes) = (request.limits.gas, request.limits.bytes);
        Self { view, spec: view.spec(), request, trie, gas, bytes, json: b"[".to_vec() }
    }

    /// Runs them all; the JSON of what they became.
    pub(super) fn run(mut self, mut state: BlockState) -> Result<Vec<u8>, Failure> {
        let placed = chain::place(self.spec, self.view.header(), self.request)?;
        let (mut parent, mut parent_hash) = (self.view.header().clone(), self.view.hash());
        for placed in &placed {
            let meter = &mut state.database.meter;
            if !meter.charge(BLOCK_STEPS) {
                return Err(Failure::Stopped(meter.stopped.unwrap_or(Stop::Deadline)));
            }
            let header = chain::header(self.spec, &parent, parent_hash, placed, self.request.validation);
            // A pretended time must not be answered by the rules before it.
            self.spec.expect_known(&header).map_err(|why| refuse(-32000, why.to_string()))?;
            (state, parent, parent_hash) = self.run_block(state, header, placed)?;
            state.block_hashes.insert(parent.number, parent_hash);
        }
        self.json.push(b']');
        Ok(self.json)
    }

    fn run_block(
        &mut self,
        mut state: BlockState,
        header: Header,
        placed: &Placed<'_>,
    ) -> Result<(BlockState, Header, B256), Failure> {
        let asked = placed.asked;
        let transfers = Transfers::new(self.request.trace_transfers);
        let blob_base_fee = asked.and_then(|asked| asked.block_overrides.blob_base_fee);
        let price = |env: &mut Option<BlobExcessGasAndPrice>| {
            if let (Some(blob), Some(fee)) = (env, blob_base_fee) {
                blob.blob_gasprice = fee.saturating_to();
            }
        };
        let inspects = self.request.trace_transfers;
        match self.spec.stack {
            Stack::Ethereum => {
                let mut env = self.spec.eth_call_env(&header, header.difficulty.is_zero());
                price(&mut env.block_env.blob_excess_gas_and_price);
                let rules = self.relax(&mut env.cfg_env, &env.block_env, SpecId::clone);
                state.database.delegations = rules.fork.is_enabled_in(SpecId::PRAGUE);
                let evm = EthEvm::new(eth_evm(state, env, &[], transfers), inspects);
                self.run_in(evm, |tx| tx, header, asked, &rules)
            }
            Stack::Op => {
                let mut env: EvmEnv<_> = self.spec.op_env(&header);
                price(&mut env.block_env.blob_excess_gas_and_price);
                let op = OpRules::of(self.spec, &env, header.timestamp);
                let rules = self.relax(&mut env.cfg_env, &env.block_env, |fork| fork.into_eth_spec());
                state.database.delegations = rules.fork.is_enabled_in(SpecId::PRAGUE);
                let mut evm = op_evm(state, env, op, &[], transfers);
                // op-revm gives back of the operator's fee what gas was left, even where none was charged.
                evm.0.ctx.chain = L1BlockInfo {
                    l2_block: Some(U256::from(header.number)),
                    operator_fee_scalar: Some(U256::ZERO),
                    operator_fee_constant: Some(U256::ZERO),
                    ..L1BlockInfo::default()
                };
                let evm = OpEvm::new(evm, inspects);
                // No bytes, so no fee for L1 data and none for the operator, as in a call.
                let sent = |tx: TxEnv| {
                    let mut op = OpTransaction::new(tx);
                    op.enveloped_tx = Some(Bytes::new());
                    OpTx(op)
                };
                self.run_in(evm, sent, header, asked, &rules)
            }
        }
    }

    /// Turns off what is compared here, in geth's order and words, and what is not asked of a call.
    fn relax<S>(
        &self,
        cfg: &mut CfgEnv<S>,
        block: &revm::context::BlockEnv,
        fork: impl Fn(&S) -> SpecId,
    ) -> Rules {
        cfg.disable_nonce_check = true;
        cfg.disable_eip3607 = true;
        cfg.disable_block_gas_limit = true;
        cfg.disable_base_fee = true;
        cfg.tx_chain_id_check = false;
        cfg.tx_gas_limit_cap = Some(u64::MAX);
        cfg.max_blobs_per_tx = None;
        cfg.memory_limit = MAX_MEMORY;
        Rules {
            chain_id: self.spec.chain_id,
            fork: fork(&cfg.spec),
            validation: self.request.validation,
            blob_base_fee: block.blob_excess_gas_and_price.map_or(0, |blob| blob.blob_gasprice),
        }
    }

    fn run_in<E>(
        &mut self,
        mut evm: E,
        sent: impl Fn(TxEnv) -> E::Tx,
        mut header: Header,
        asked: Option<&AskedBlock>,
        rules: &Rules,
    ) -> Result<(BlockState, Header, B256), Failure>
    where
        E: Evm<DB = BlockState, Inspector = Transfers, Precompiles = MeteredPrecompiles, HaltReason: HaltWords>,
    {
        if let Some(asked) = asked {
            overrides::displace(evm.precompiles_mut(), &asked.state_overrides)?;
            overrides::apply(evm.db_mut(), &asked.state_overrides);
        }
        let mut system = SystemCaller::new(self.spec);
        // What the last call had left is not what the system spends.
        evm.db_mut().database.meter.begin_transaction(0, 0);
        if header.requests_hash.is_some() {
            let done = system.apply_blockhashes_contract_call(header.parent_hash, &mut evm);
            self.done(&evm, done)?;
        }
        if header.parent_beacon_block_root.is_some() {
            let done = system.apply_beacon_root_contract_call(header.parent_beacon_block_root, &mut evm);
            self.done(&evm, done)?;
        }
        let mut contents = Contents::default();
        for call in asked.into_iter().flat_map(|asked| &asked.calls) {
            self.run_call(&mut evm, &sent, &header, call, rules, &mut contents)?;
        }
        evm.db_mut().database.meter.begin_transaction(0, 0);
        if header.requests_hash.is_some() && self.spec.stack == Stack::Ethereum {
            let requests = parse_deposits_from_receipts(self.spec, &contents.receipts);
            let requests = requests.map_err(BlockExecutionError::from).and_then(|deposits| {
                let mut requests = Requests::default();
                if !deposits.is_empty() {
                    requests.push_request_with_type(DEPOSIT_REQUEST_TYPE, deposits);
                }
                system.append_post_execution_changes(&mut evm, &mut requests)?;
                Ok(requests)
            });
            header.requests_hash = Some(self.done(&evm, requests)?.requests_hash());
        }
        let (mut state, _) = evm.finish();
        let given = asked.and_then(|asked| asked.block_overrides.withdrawals.clone()).unwrap_or_default();
        if header.withdrawals_root.is_none() && !given.is_empty() {
            return Err(refuse(-32000, "withdrawals set before Shanghai activation").into());
        }
        let withdrawals = header.withdrawals_root.is_some().then(|| Withdrawals::new(given));
        self.pay(&mut state, &header, withdrawals.as_deref().map_or(&[], Vec::as_slice));
        header.state_root = self.settle(&mut state);
        header.withdrawals_root = withdrawals.as_ref().map(|list| self.withdrawals_root(&header, list));
        header.gas_used = contents.gas_used;
        header.blob_gas_used = header.blob_gas_used.map(|_| contents.blob_gas_used);
        header.logs_bloom = contents.receipts.iter().fold(Bloom::ZERO, |all, receipt| all | receipt.bloom());
        header.receipts_root = proofs::calculate_receipt_root(&contents.receipts);
        let bytes: Vec<&Bytes> = contents.transactions.iter().map(|tx| &tx.bytes).collect();
        header.transactions_root =
            alloy_trie::root::ordered_trie_root_with_encoder(&bytes, |tx, out| out.extend_from_slice(tx));
        let hash = header.hash_slow();
        let block = render::Block {
            header: &header,
            hash,
            transactions: &contents.transactions,
            senders: &contents.senders,
            calls: &contents.calls,
            withdrawals: withdrawals.as_ref(),
            is_whole: self.request.return_full_transactions,
        };
        if self.json.len() > 1 {
            self.json.push(b',');
        }
        block.write(&mut self.json).map_err(|why| refuse(-32603, why.to_string()))?;
        if self.json.len() > self.request.limits.bytes {
            return Err(self.too_large().into());
        }
        Ok((state, header, hash))
    }

    fn run_call<E>(
        &mut self,
        evm: &mut E,
        sent: &impl Fn(TxEnv) -> E::Tx,
        header: &Header,
        asked: &AskedCall,
        rules: &Rules,
        contents: &mut Contents,
    ) -> Result<(), Failure>
    where
        E: Evm<DB = BlockState, Inspector = Transfers, Precompiles = MeteredPrecompiles, HaltReason: HaltWords>,
    {
        if !evm.db_mut().database.meter.charge(1) {
            return Err(stopped(evm));
        }
        let sender = overrides::info(evm.db_mut(), asked.from).unwrap_or_default();
        let remaining = header.gas_limit.saturating_sub(contents.gas_used);
        let wanted = asked.gas.map_or(remaining, |gas| gas.to());
        if wanted > remaining {
            let text = format!("block gas limit reached: remaining: {remaining}, required: {wanted}");
            return Err(refuse(-38015, text).into());
        }
        let gas = wanted.min(self.gas);
        let nonce = asked.nonce.map_or(sender.nonce, |nonce| nonce.to());
        let filled = Filled::new(asked, nonce, gas, header);
        filled.check(&sender, header, rules)?;
        let transaction = filled.transaction(rules, header);
        evm.db_mut().database.meter.begin_transaction(gas, 0);
        let done = match evm.transact_raw(sent(filled.message(header, rules))) {
            Ok(done) => done,
            Err(_) if evm.db().database.meter.stopped.is_some() => return Err(stopped(evm)),
            Err(why) => return Err(refusal(&filled, &why).into()),
        };
        evm.db_mut().commit(done.state);
        // Nonces go round, as they do in geth where nobody validates.
        if sender.nonce == u64::MAX && asked.to.is_some() {
            overrides::set_nonce(evm.db_mut(), asked.from, 0);
        }
        let used = done.result.tx_gas_used();
        let gas_report = done.result.gas();
        let peak = gas_report.total_gas_spent().max(used);
        self.gas = self.gas.saturating_sub(used);
        contents.gas_used += used;
        contents.blob_gas_used += filled.blob_gas();
        let logs = done.result.logs().to_vec();
        let seen = evm.inspector_mut().take();
        let shown = if self.request.trace_transfers {
            seen
        } else {
            (contents.logs..).zip(logs.iter().cloned()).collect()
        };
        contents.logs += logs.len();
        let call = ended(done.result, shown, (used, peak), gas < wanted);
        self.spend(&call)?;
        let status = if self.spec.receipts_hold_roots(header.number) {
            Eip658Value::PostState(self.settle(evm.db_mut()))
        } else {
            Eip658Value::Eip658(call.succeeded)
        };
        let receipt = Receipt { status, cumulative_gas_used: contents.gas_used, logs };
        contents.receipts.push(envelope(transaction.envelope.ty(), receipt));
        contents.transactions.push(transaction);
        contents.senders.push(asked.from);
        contents.calls.push(call);
        Ok(())
    }

    /// What a block pays beside its transactions.
    fn pay(&self, state: &mut BlockState, header: &Header, withdrawals: &[Withdrawal]) {
        let mut paid: AddressMap<u128> = AddressMap::default();
        if !header.difficulty.is_zero()
            && let Some(reward) = base_block_reward(self.spec, header.number)
        {
            *paid.entry(header.beneficiary).or_default() += reward;
        }
        for withdrawal in withdrawals {
            let paid = paid.entry(withdrawal.address).or_default();
            *paid = paid.saturating_add(withdrawal.amount_wei().saturating_to());
        }
        // Reading state does not fail: what is missing is noted.
        let _ = state.increment_balances(paid);
    }

    /// Takes what has changed into the trie; its root, or zero where not all of the state is known.
    fn settle(&mut self, state: &mut BlockState) -> B256 {
        state.merge_transitions(BundleRetention::PlainState);
        let bundle = state.take_bundle();
        // What was wiped so far is wiped: later changes are to what came after, which is all there is.
        for account in state.cache.accounts.values_mut() {
            account.status = match account.status {
                AccountStatus::DestroyedChanged => AccountStatus::InMemoryChange,
                AccountStatus::Destroyed | AccountStatus::DestroyedAgain => AccountStatus::LoadedNotExisting,
                other => other,
            };
        }
        // Nobody asks for the root of made-up state.
        let is_known = state.database.missing.borrow().is_empty();
        self.trie.as_mut().filter(|_| is_known).map_or(B256::ZERO, |trie| {
            trie.apply_bundle(&bundle);
            trie.root()
        })
    }

    fn withdrawals_root(&self, header: &Header, list: &Withdrawals) -> B256 {
        if !self.spec.withdrawals_root_is_storage(header.timestamp) {
            return proofs::calculate_withdrawals_root(list);
        }
        self.trie.as_ref().map_or(B256::ZERO, |trie| trie.storage_root(L2_TO_L1_MESSAGE_PASSER_ADDRESS))
    }

    /// Counts what a call adds to the answer before all of it is there.
    fn spend(&mut self, call: &RanCall) -> Result<(), Refusal> {
        let logs: usize = call.logs.iter().map(|(_, log)| LOG_BYTES + 2 * log.data.data.len()).sum();
        let bytes =
            CALL_BYTES + 2 * (call.output.len() + call.reverted.as_ref().map_or(0, |data| data.len())) + logs;
        match self.bytes.checked_sub(bytes) {
            Some(left) => {
                self.bytes = left;
                Ok(())
            }
            None => Err(self.too_large()),
        }
    }

    fn too_large(&self) -> Refusal {
        refuse(-32003, format!("response too large, at most {} bytes", self.request.limits.bytes))
    }

    /// What a call of the system gave, or why it did not.
    fn done<E: Evm<DB = BlockState>, T>(
        &self,
        evm: &E,
        done: Result<T, impl std::fmt::Display>,
    ) -> Result<T, Failure> {
        done.map_err(|why| match evm.db().database.meter.stopped {
            Some(stop) => Failure::Stopped(stop),
            None => refuse(-32000, format!("system call failed to execute: {why}")).into(),
        })
    }
}

fn stopped<E: Evm<DB = BlockState>>(evm: &E) -> Failure {
    Failure::Stopped(evm.db().database.meter.stopped.unwrap_or(Stop::Deadline))
}
