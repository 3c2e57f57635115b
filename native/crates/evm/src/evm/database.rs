//! State as revm asks for it: a view, with the overrides of one call, that notes what it lacks and goes on.

use crate::evm::meter::{HasMeter, Meter};
use crate::model::code::bytecode;
use crate::model::diff::Account;
use crate::model::key::{Key, MissingSet};
use crate::state::view::View;
use alloy_primitives::map::{AddressMap, B256Map, HashMap};
use alloy_primitives::{Address, B256, KECCAK256_EMPTY, U256, b256, bytes};
use revm::Database;
use revm::bytecode::Bytecode;
use revm::state::AccountInfo;
use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::LazyLock;

/// Stands for the code of an account that is not known yet: it returns 1,024 bytes, the first word as guessed and the
/// others zero, so that a caller goes on and the keys behind it are found in the same round.
const STUB_HASH: B256 = b256!("00000000000000000000000000000000000000000000000000000000000057ab");
static ZERO_STUB: LazyLock<Bytecode> = LazyLock::new(|| bytecode(bytes!("6104005ff3")));
static ONE_STUB: LazyLock<Bytecode> = LazyLock::new(|| bytecode(bytes!("60015f526104005ff3")));

/// What a run pretends where it lacks state. Zeros fail where code asks for something to be there, ones where it asks
/// for the opposite: a run with each finds many more keys than either.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Guess {
    Zero,
    One,
}

/// State a call pretends, above the view.
#[derive(Debug, Default)]
pub(crate) struct Overrides {
    pub(crate) accounts: AddressMap<AccountOverride>,
    pub(crate) codes: B256Map<Bytecode>,
}

/// Each field that is set replaces the view's.
#[derive(Debug, Default)]
pub(crate) struct AccountOverride {
    pub(crate) balance: Option<U256>,
    pub(crate) nonce: Option<u64>,
    pub(crate) code_hash: Option<B256>,
    /// Whether the caller pretends it; else it is what transactions before the call have done.
    pub(crate) is_pretended: bool,
    /// Whether slots not listed are zero.
    pub(crate) replaces_storage: bool,
    pub(crate) slots: HashMap<B256, U256>,
}

/// See the module's text. A run that lacked anything is not an answer: look at `missing` first.
#[derive(Debug)]
pub(crate) struct ViewDb {
    /// Nothing while an EVM that is kept waits for its next call: it must not hold on to a state, or to its chain.
    view: Option<Arc<View>>,
    pub(crate) overrides: Option<Overrides>,
    /// Shared with whoever runs it: a block executor that fails does not give its database back.
    pub(crate) missing: Rc<RefCell<MissingSet>>,
    /// How many keys a run may lack before it is stopped.
    pub(crate) max_missing: usize,
    pub(crate) meter: Meter,
    /// Blocks from here on have no hash yet for what is run.
    pub(crate) hashes_below: u64,
    /// Whether code that begins with 0xef0100 is a delegation (EIP-7702); before, it is code that fails.
    pub(crate) delegations: bool,
    pub(crate) guess: Guess,
    /// What all frames of a block's transaction have their memory in.
    pub(crate) memory: Option<FrameMemory>,
}

/// As revm has it.
pub(crate) type FrameMemory = Rc<RefCell<Vec<u8>>>;

impl ViewDb {
    pub(crate) fn new(view: Arc<View>, meter: Meter) -> Self {
        let hashes_below = view.number() + 1;
        Self { view: Some(view), hashes_below, meter, ..Self::idle() }
    }

    /// Of no state at all: everything is missing.
    pub(crate) fn idle() -> Self {
        Self {
            view: None,
            overrides: None,
            missing: Rc::default(),
            max_missing: usize::MAX,
            meter: Meter::unlimited(),
            hashes_below: 0,
            delegations: true,
            guess: Guess::Zero,
            memory: None,
        }
    }

    fn find<T>(&self, find: impl FnOnce(&View) -> Option<T>) -> Option<T> {
        self.view.as_deref().and_then(find)
    }

    fn lack(&mut self, key: Key) {
        self.meter.guess();
        let mut missing = self.missing.borrow_mut();
        if missing.len() < self.max_missing {
            missing.add(key);
        } else {
            self.meter.exhaust();
        }
    }

    /// Whether a run with other guesses may find more of what is missing.
    pub(crate) fn wants_another_run(&self) -> bool {
        (1..self.max_missing).contains(&self.missing.borrow().len())
    }

    fn stub(&self) -> Bytecode {
        if self.guess == Guess::Zero { ZERO_STUB.clone() } else { ONE_STUB.clone() }
    }

    fn find_account(&mut self, address: Address) -> Option<AccountInfo> {
        let Some(account) = self.find(|view| view.find_account(address)) else {
            self.lack(Key::Account(address));
            // Rich and callable, so that the run goes as far as it can.
            let guess = Account { nonce: 0, balance: U256::MAX >> 1, code_hash: STUB_HASH };
            return Some(guess.into());
        };
        account.map(AccountInfo::from)
    }
}

impl HasMeter for ViewDb {
    #[inline]
    fn meter(&mut self) -> &mut Meter {
        &mut self.meter
    }

    #[inline]
    fn is_native(&self, address: &Address) -> bool {
        self.view.as_deref().is_some_and(|view| view.spec().native_contracts.contains(address))
    }
}

impl Database for ViewDb {
    type Error = Infallible;

    fn basic(&mut self, address: Address) -> Result<Option<AccountInfo>, Infallible> {
        let found = self.find_account(address);
        let Some(over) = self.overrides.as_ref().and_then(|overrides| overrides.accounts.get(&address)) else {
            return Ok(found);
        };
        let mut info = found.unwrap_or_default();
        if let Some(balance) = over.balance {
            info.balance = balance;
        }
        if let Some(nonce) = over.nonce {
            info.nonce = nonce;
        }
        if let Some(hash) = over.code_hash {
            info.code_hash = hash;
            info.code = (hash == KECCAK256_EMPTY).then(Bytecode::default);
        }
        Ok(Some(info))
    }

    fn code_by_hash(&mut self, hash: B256) -> Result<Bytecode, Infallible> {
        if hash == STUB_HASH {
            return Ok(self.stub());
        }
        let over = self.overrides.as_ref().and_then(|overrides| overrides.codes.get(&hash)).cloned();
        if let Some(code) = over.or_else(|| self.find(|view| view.find_code(&hash))) {
            let plain = code.is_eip7702() && !self.delegations;
            return Ok(if plain { Bytecode::new_legacy(code.original_bytes()) } else { code });
        }
        self.lack(Key::Code(hash));
        Ok(self.stub())
    }

    fn storage(&mut self, address: Address, index: U256) -> Result<U256, Infallible> {
        let slot = B256::from(index);
        if let Some(over) = self.overrides.as_ref().and_then(|overrides| overrides.accounts.get(&address)) {
            if let Some(value) = over.slots.get(&slot) {
                return Ok(*value);
            }
            if over.replaces_storage {
                return Ok(U256::ZERO);
            }
        }
        Ok(self.find(|view| view.find_slot(address, slot)).unwrap_or_else(|| {
            self.lack(Key::Slot(address, slot));
            if self.guess == Guess::Zero { U256::ZERO } else { U256::ONE }
        }))
    }

    fn block_hash(&mut self, number: u64) -> Result<B256, Infallible> {
        if number >= self.hashes_below {
            return Ok(B256::ZERO);
        }
        Ok(self.find(|view| view.find_hash(number)).unwrap_or_else(|| {
            self.lack(Key::BlockHash(number));
            B256::ZERO
        }))
    }
}
