//! The prestate tracer: accounts and slots as they were before a transaction that touches them, or what it changes of them.

use super::TOO_LARGE;
use super::fault::{Running, ended};
use alloy_primitives::map::AddressSet;
use alloy_primitives::{Address, B256, Bytes, KECCAK256_EMPTY, U256, keccak256};
use revm::Database;
use revm::bytecode::opcode;
use revm::context_interface::transaction::AuthorizationTr;
use revm::context_interface::{Block, Cfg, ContextTr, Transaction};
use revm::inspector::JournalExt;
use revm::interpreter::Interpreter;
use revm::interpreter::interpreter_types::{InputsTr, MemoryTr};
use revm::primitives::hardfork::SpecId;
use revm::state::{Account, EvmState};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// The most memory that a creation is taken to fill up with zeros.
const MAX_PADDING: usize = 1 << 20;
/// Bytes of JSON that an account or a slot takes, about.
const ENTRY_BYTES: usize = 160;

#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PrestateOptions {
    diff_mode: bool,
    disable_code: bool,
    disable_storage: bool,
    include_empty: bool,
}

/// See the module's text.
#[derive(Debug, Default)]
pub(super) struct PrestateTracer {
    options: PrestateOptions,
    touched: BTreeMap<Address, BTreeSet<B256>>,
    created: AddressSet,
    destroyed: AddressSet,
    fork: SpecId,
    /// A creation's address is known by its sender.
    recipient: Option<Address>,
    /// Touched by the opcode that runs, unless that cannot begin.
    next: Option<Touch>,
    running: Option<Running>,
}

#[derive(Debug, Clone, Copy)]
enum Touch {
    Slot(Address, B256),
    Account(Address),
    /// And what it delegates to.
    Called(Address, Option<Address>),
    Created(Address),
    Destroyed {
        contract: Address,
        heir: Address,
    },
}

#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown {
    #[serde(skip_serializing_if = "Option::is_none")]
    balance: Option<U256>,
    #[serde(skip_serializing_if = "<[u8]>::is_empty")]
    code: Bytes,
    #[serde(skip_serializing_if = "Option::is_none")]
    code_hash: Option<B256>,
    #[serde(skip_serializing_if = "is_zero")]
    nonce: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    storage: BTreeMap<B256, B256>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
const fn is_zero(nonce: &u64) -> bool {
    *nonce == 0
}

type Accounts = BTreeMap<Address, Shown>;

#[derive(Serialize)]
struct Diff {
    post: Accounts,
    pre: Accounts,
}

/// An account at one time. The hash of no code is zero.
#[derive(Default, Clone, PartialEq)]
struct Held {
    balance: U256,
    nonce: u64,
    code_hash: B256,
    code: Bytes,
}

impl PrestateTracer {
    pub(super) fn new(options: PrestateOptions) -> Self {
        Self { options, ..Self::default() }
    }

    /// What a transaction touches before its first opcode.
    pub(super) fn begin<C: ContextTr>(&mut self, context: &C) {
        self.fork = context.cfg().spec().into();
        let tx = context.tx();
        self.recipient = tx.kind().to().copied();
        let authorities = tx.authorization_list().filter_map(|item| item.authority());
        let named = [tx.caller(), context.block().beneficiary()].into_iter().chain(self.recipient);
        for address in named.chain(authorities) {
            self.touched.entry(address).or_default();
        }
    }

    pub(super) fn step<C>(&mut self, interpreter: &Interpreter, context: &mut C)
    where
        C: ContextTr<Journal: JournalExt>,
    {
        let running = Running::of(interpreter);
        let stack = interpreter.stack.data();
        let from_top = |place: usize| stack.iter().rev().nth(place).copied();
        let address = |place: usize| from_top(place).map(|word| Address::from_word(word.into()));
        let contract = interpreter.input.target_address();
        self.running = Some(running);
        self.next = match running.opcode {
            opcode::SLOAD | opcode::SSTORE => from_top(0).map(|slot| Touch::Slot(contract, slot.into())),
            opcode::EXTCODECOPY | opcode::EXTCODEHASH | opcode::EXTCODESIZE | opcode::BALANCE => {
                address(0).map(Touch::Account)
            }
            opcode::SELFDESTRUCT => address(0).map(|heir| Touch::Destroyed { contract, heir }),
            opcode::CALL | opcode::CALLCODE | opcode::DELEGATECALL | opcode::STATICCALL if stack.len() >= 5 => {
                address(1).map(|called| Touch::Called(called, self.delegate_of(called, context)))
            }
            opcode::CREATE => {
                let account = context.journal().evm_state().get(&contract);
                Some(Touch::Created(contract.create(account.map_or(0, |account| account.info.nonce))))
            }
            opcode::CREATE2 => from_top(3)
                .zip(init_code_hash(interpreter))
                .map(|(salt, hash)| Touch::Created(contract.create2(B256::from(salt), hash))),
            _ => None,
        };
    }

    /// What the code of an account, as it is now, delegates to.
    fn delegate_of<C>(&self, called: Address, context: &mut C) -> Option<Address>
    where
        C: ContextTr<Journal: JournalExt>,
    {
        if !self.fork.is_enabled_in(SpecId::PRAGUE) {
            return None;
        }
        let known = context.journal().evm_state().get(&called).map(|account| account.info.clone());
        let info = known.or_else(|| context.db_mut().basic(called).ok().flatten())?;
        let code = info.code.or_else(|| context.db_mut().code_by_hash(info.code_hash).ok())?;
        code.eip7702_address()
    }

    /// Gives about how much larger the trace is now.
    pub(super) fn step_end(&mut self, interpreter: &mut Interpreter) -> usize {
        let (Some(touch), Some(running)) = (self.next.take(), self.running) else {
            return 0;
        };
        if ended(interpreter).is_some_and(|result| running.refusal(result).is_some()) {
            return 0;
        }
        match touch {
            Touch::Slot(_, _) if self.options.disable_storage => 0,
            Touch::Slot(address, slot) => {
                usize::from(self.touched.entry(address).or_default().insert(slot)) * ENTRY_BYTES
            }
            Touch::Account(address) => self.touch(address),
            Touch::Called(address, delegate) => {
                self.touch(address) + delegate.map_or(0, |delegate| self.touch(delegate))
            }
            Touch::Created(address) => {
                self.created.insert(address);
                self.touch(address)
            }
            Touch::Destroyed { contract, heir } => {
                self.destroyed.insert(contract);
                self.touch(heir)
            }
        }
    }

    fn touch(&mut self, address: Address) -> usize {
        let is_new = !self.touched.contains_key(&address);
        self.touched.entry(address).or_default();
        usize::from(is_new) * ENTRY_BYTES
    }

    /// The whole trace. `db` is the state before the transaction, `after` what it changed.
    pub(super) fn finish<DB: Database>(
        &mut self,
        caller: Address,
        after: &EvmState,
        db: &mut DB,
        max_bytes: usize,
    ) -> Result<String, String> {
        let recipient = match self.recipient {
            Some(recipient) => recipient,
            None => {
                let created = caller.create(read(db, caller)?.nonce);
                self.created.insert(created);
                created
            }
        };
        self.touch(recipient);
        if self.fork.is_enabled_in(SpecId::PRAGUE)
            && let Some(delegate) = delegate(&read(db, recipient)?.code)
        {
            self.touch(delegate);
        }
        let (mut pre, mut post) = (Accounts::new(), Accounts::new());
        let mut bytes = 0;
        for (address, slots) in &self.touched {
            let before = read(db, *address)?;
            let mut storage = BTreeMap::new();
            for slot in slots {
                let value = db.storage(*address, (*slot).into()).map_err(|why| why.to_string())?;
                storage.insert(*slot, B256::from(value));
            }
            let is_empty = before == Held::default();
            let mut shown = self.shown(&before, storage);
            if self.options.diff_mode && !self.is_deleted(address) {
                let Some(changed) = self.changed(&before, &mut shown, after.get(address), db)? else {
                    continue;
                };
                bytes += 2 * changed.code.len() + ENTRY_BYTES;
                post.insert(*address, changed);
            }
            if !is_empty || self.options.include_empty {
                bytes += 2 * shown.code.len() + ENTRY_BYTES * (1 + shown.storage.len());
                pre.insert(*address, shown);
            }
            if bytes > max_bytes {
                return Err(TOO_LARGE.into());
            }
        }
        let text = if self.options.diff_mode {
            serde_json::to_string(&Diff { post, pre })
        } else {
            serde_json::to_string(&pre)
        };
        text.map_err(|why| why.to_string())
    }

    /// An account that is gone afterwards is shown as it was, and not afterwards. As in geth, also if that was undone.
    fn is_deleted(&self, address: &Address) -> bool {
        let always = !self.fork.is_enabled_in(SpecId::CANCUN);
        self.destroyed.contains(address) && (always || self.created.contains(address))
    }

    fn shown(&self, held: &Held, storage: BTreeMap<B256, B256>) -> Shown {
        Shown {
            balance: Some(held.balance),
            code: if self.options.disable_code { Bytes::new() } else { held.code.clone() },
            code_hash: Some(held.code_hash).filter(|hash| !hash.is_zero()),
            nonce: held.nonce,
            storage,
        }
    }

    /// What of an account is another afterwards, if anything is; slots that are not are taken out of `shown`.
    fn changed<DB: Database>(
        &self,
        before: &Held,
        shown: &mut Shown,
        account: Option<&Account>,
        db: &mut DB,
    ) -> Result<Option<Shown>, String> {
        let Some(account) = account else {
            return Ok(None);
        };
        let is_gone = account.is_selfdestructed();
        let now = if is_gone { Held::default() } else { held(before, account, db)? };
        let mut changed = Shown {
            balance: (now.balance != before.balance).then_some(now.balance),
            nonce: if now.nonce == before.nonce { 0 } else { now.nonce },
            code_hash: (now.code_hash != before.code_hash).then_some(now.code_hash),
            ..Shown::default()
        };
        if !self.options.disable_code && now.code != before.code {
            changed.code.clone_from(&now.code);
        }
        let mut is_stored = false;
        shown.storage.retain(|slot, old| {
            let kept = account.storage.get(&U256::from_be_bytes(slot.0)).map(|slot| slot.present_value);
            let new = if is_gone { B256::ZERO } else { kept.map_or(*old, B256::from) };
            if new != *old {
                is_stored = true;
                if !new.is_zero() {
                    changed.storage.insert(*slot, new);
                }
            }
            new != *old && !old.is_zero()
        });
        Ok((now != *before || is_stored).then_some(changed))
    }
}

fn read<DB: Database>(db: &mut DB, address: Address) -> Result<Held, String> {
    let info = db.basic(address).map_err(|why| why.to_string())?.unwrap_or_default();
    let mut held = Held { balance: info.balance, nonce: info.nonce, ..Held::default() };
    if info.code_hash != KECCAK256_EMPTY {
        let code = match info.code {
            Some(code) => code,
            None => db.code_by_hash(info.code_hash).map_err(|why| why.to_string())?,
        };
        held.code = code.original_bytes();
        held.code_hash = info.code_hash;
    }
    Ok(held)
}

/// An account after a transaction.
fn held<DB: Database>(before: &Held, account: &Account, db: &mut DB) -> Result<Held, String> {
    let info = &account.info;
    let mut held = Held { balance: info.balance, nonce: info.nonce, ..Held::default() };
    if info.code_hash == before.code_hash {
        held.code_hash = before.code_hash;
        held.code.clone_from(&before.code);
    } else if info.code_hash != KECCAK256_EMPTY {
        held.code_hash = info.code_hash;
        held.code = match &info.code {
            Some(code) => code.original_bytes(),
            None => db.code_by_hash(info.code_hash).map_err(|why| why.to_string())?.original_bytes(),
        };
    }
    Ok(held)
}

fn delegate(code: &[u8]) -> Option<Address> {
    let target = code.strip_prefix(&[0xef, 0x01, 0x00])?;
    (target.len() == 20).then(|| Address::from_slice(target))
}

/// The hash of what a CREATE2 would run: memory that it does not have yet is zero.
fn init_code_hash(interpreter: &Interpreter) -> Option<B256> {
    let mut words = interpreter.stack.data().iter().rev().skip(1);
    let (offset, size) = (words.next()?, words.next()?);
    let (offset, size) = (usize::try_from(*offset).ok()?, usize::try_from(*size).ok()?);
    if size == 0 {
        return Some(KECCAK256_EMPTY);
    }
    let memory = interpreter.memory.size();
    let end = offset.checked_add(size)?;
    if end > memory.checked_add(MAX_PADDING)? {
        return None;
    }
    let mut code = interpreter.memory.slice(offset.min(memory)..end.min(memory)).to_vec();
    code.resize(size, 0);
    Some(keccak256(code))
}
