//! A call as a transaction: what the EVM runs, and the bytes that it would have in a block.

use super::refusal::{Refusal, refuse};
use super::request::AskedCall;
use crate::evm::message::choose_type;
use alloy_consensus::{Header, Signed, TxEip1559, TxEip4844, TxEip4844Variant, TxEip7702, TxEnvelope, TxLegacy};
use alloy_eips::eip2718::Encodable2718;
use alloy_eips::eip4844::{DATA_GAS_PER_BLOB, VERSIONED_HASH_VERSION_KZG};
use alloy_primitives::{B256, Bytes, Signature, TxKind, U256, keccak256};
use alloy_rlp::Encodable;
use revm::context::TxEnv;
use revm::context_interface::either::Either;
use revm::primitives::hardfork::SpecId;
use revm::state::AccountInfo;

/// A call with all that it leaves open filled in.
pub(super) struct Filled<'a> {
    pub(super) asked: &'a AskedCall,
    pub(super) nonce: u64,
    pub(super) gas: u64,
    fee_cap: U256,
    tip: U256,
}

/// What the block says that a call is checked against.
pub(super) struct Rules {
    pub(super) chain_id: u64,
    pub(super) fork: SpecId,
    pub(super) validation: bool,
    pub(super) blob_base_fee: u128,
}

impl<'a> Filled<'a> {
    pub(super) fn new(asked: &'a AskedCall, nonce: u64, gas: u64, header: &Header) -> Self {
        let (fee_cap, tip) = match (asked.gas_price, header.base_fee_per_gas) {
            (Some(price), _) => (price, price),
            (None, Some(_)) => {
                (asked.max_fee_per_gas.unwrap_or_default(), asked.max_priority_fee_per_gas.unwrap_or_default())
            }
            (None, None) => (U256::ZERO, U256::ZERO),
        };
        Self { asked, nonce, gas, fee_cap, tip }
    }

    /// What is wrong with it, in geth's order and words.
    pub(super) fn check(&self, sender: &AccountInfo, header: &Header, rules: &Rules) -> Result<(), Refusal> {
        self.check_nonce(sender, rules)?;
        self.check_fees(header, rules)?;
        self.check_lists(rules)?;
        self.check_blob_fee(rules)?;
        let want = self.want();
        if want.is_none_or(|want| sender.balance < want) {
            let need = want.map_or_else(
                || "required balance exceeds 256 bits".to_owned(),
                |want| format!("have {} want {want}", sender.balance),
            );
            let text = format!("insufficient funds for gas * price + value: address {} {need}", self.from());
            return Err(self.refuse(-38014, &text));
        }
        Ok(())
    }

    fn check_nonce(&self, sender: &AccountInfo, rules: &Rules) -> Result<(), Refusal> {
        if !rules.validation {
            return Ok(());
        }
        let (from, nonce, state) = (self.from(), self.nonce, sender.nonce);
        let told = format!("address {from}, tx: {nonce} state: {state}");
        if state < nonce {
            return Err(self.refuse(-38011, &format!("nonce too high: {told}")));
        }
        if state > nonce {
            return Err(self.refuse(-38010, &format!("nonce too low: {told}")));
        }
        if nonce == u64::MAX {
            return Err(self.refuse(-32603, &format!("nonce has max value: address {from}, nonce: {nonce}")));
        }
        Ok(())
    }

    fn check_fees(&self, header: &Header, rules: &Rules) -> Result<(), Refusal> {
        let (fee_cap, tip, from) = (self.fee_cap, self.tip, self.from());
        let free = fee_cap.is_zero() && tip.is_zero();
        let Some(base_fee) = header.base_fee_per_gas.filter(|_| rules.validation || !free) else {
            return Ok(());
        };
        if fee_cap < tip {
            let text = format!(
                "max priority fee per gas higher than max fee per gas: address {from}, maxPriorityFeePerGas: {tip}, \
                 maxFeePerGas: {fee_cap}"
            );
            return Err(self.refuse(-32602, &text));
        }
        if fee_cap < U256::from(base_fee) {
            let text = format!(
                "max fee per gas less than block base fee: address {from}, maxFeePerGas: {fee_cap}, baseFee: {base_fee}"
            );
            return Err(self.refuse(-38012, &text));
        }
        Ok(())
    }

    fn check_lists(&self, rules: &Rules) -> Result<(), Refusal> {
        let fault = |text: &str| Err(self.refuse(-32603, text));
        if let Some(hashes) = &self.asked.blob_versioned_hashes {
            if self.asked.to.is_none() {
                return fault("blob transaction of type create");
            }
            if hashes.is_empty() {
                return fault("blob transaction missing blob hashes");
            }
            if rules.fork.is_enabled_in(SpecId::OSAKA) && hashes.len() > 6 {
                return fault("blob transaction has too many blobs");
            }
            if let Some(index) = hashes.iter().position(|hash| hash[0] != VERSIONED_HASH_VERSION_KZG) {
                return fault(&format!("blob {index} has invalid hash version"));
            }
        }
        if let Some(list) = &self.asked.authorization_list {
            if self.asked.to.is_none() {
                return fault(&format!(
                    "EIP-7702 transaction cannot be used to create contract (sender {})",
                    self.from()
                ));
            }
            if list.is_empty() {
                return fault(&format!("EIP-7702 transaction with empty auth list (sender {})", self.from()));
            }
        }
        Ok(())
    }

    fn check_blob_fee(&self, rules: &Rules) -> Result<(), Refusal> {
        let cap = self.asked.max_fee_per_blob_gas.unwrap_or_default();
        let skips = !rules.validation && cap.is_zero();
        if self.blobs() == 0 || skips || cap >= U256::from(rules.blob_base_fee) {
            return Ok(());
        }
        let text = format!(
            "max fee per blob gas less than block blob gas fee: address {} blobGasFeeCap: {cap}, blobBaseFee: {}",
            self.from(),
            rules.blob_base_fee
        );
        Err(self.refuse(-32603, &text))
    }

    /// What the sender must own; `None` when that does not fit into 256 bits.
    fn want(&self) -> Option<U256> {
        // Nobody has as much as the EVM has no numbers for.
        if self.gas > 0 {
            u128::try_from(self.fee_cap).ok()?;
        }
        let gas = U256::from(self.gas).checked_mul(self.fee_cap)?;
        let blob_cap = self.asked.max_fee_per_blob_gas.unwrap_or_default();
        let blobs = U256::from(self.blob_gas()).checked_mul(blob_cap)?;
        gas.checked_add(self.asked.value.unwrap_or_default())?.checked_add(blobs)
    }

    fn blobs(&self) -> usize {
        self.asked.blob_versioned_hashes.as_ref().map_or(0, Vec::len)
    }

    pub(super) fn blob_gas(&self) -> u64 {
        self.blobs() as u64 * DATA_GAS_PER_BLOB
    }

    fn from(&self) -> String {
        self.asked.from.to_checksum(None)
    }

    /// A refusal as geth words those of messages.
    pub(super) fn refuse(&self, code: i32, why: &str) -> Refusal {
        refuse(code, format!("err: {why} (supplied gas {})", self.gas))
    }

    /// The message that the EVM runs. What it pays was compared with what the sender has, so that it fits.
    pub(super) fn message(&self, header: &Header, rules: &Rules) -> TxEnv {
        let asked = self.asked;
        let free = self.fee_cap.is_zero() && self.tip.is_zero();
        let price = match header.base_fee_per_gas {
            Some(base_fee) if !free => self.fee_cap.min(self.tip.saturating_add(U256::from(base_fee))),
            _ => self.fee_cap,
        };
        let price: u128 = price.saturating_to();
        let authorizations = asked.authorization_list.clone().unwrap_or_default();
        let blob_cap: u128 = asked.max_fee_per_blob_gas.unwrap_or_default().saturating_to();
        let mut tx = TxEnv {
            tx_type: 0,
            caller: asked.from,
            gas_limit: self.gas,
            gas_price: price,
            kind: self.kind(),
            value: asked.value.unwrap_or_default(),
            data: asked.data.clone(),
            // It is not compared, and the EVM would refuse the last one there is.
            nonce: 0,
            chain_id: None,
            access_list: asked.access_list.clone().unwrap_or_default(),
            gas_priority_fee: Some(price),
            blob_hashes: asked.blob_versioned_hashes.clone().unwrap_or_default(),
            // One of zero was let pass.
            max_fee_per_blob_gas: blob_cap.max(if blob_cap == 0 { rules.blob_base_fee } else { 0 }),
            authorization_list: authorizations.into_iter().map(Either::Left).collect(),
        };
        choose_type(&mut tx, rules.fork);
        tx
    }

    fn kind(&self) -> TxKind {
        self.asked.to.map_or(TxKind::Create, TxKind::Call)
    }

    /// The transaction that it would be, without a signature.
    pub(super) fn transaction(&self, rules: &Rules, header: &Header) -> Transaction {
        let asked = self.asked;
        let (chain_id, nonce, gas_limit) = (rules.chain_id, self.nonce, self.gas);
        let (value, input) = (asked.value.unwrap_or_default(), asked.data.clone());
        let access_list = asked.access_list.clone().unwrap_or_default();
        let max_fee_per_gas = self.fee_cap.saturating_to();
        let max_priority_fee_per_gas = self.tip.saturating_to();
        let unsigned = Signature::new(U256::ZERO, U256::ZERO, false);
        if asked.gas_price.is_some() || header.base_fee_per_gas.is_none() {
            let tx = TxLegacy {
                chain_id: None,
                nonce,
                gas_price: max_fee_per_gas,
                gas_limit,
                to: self.kind(),
                value,
                input,
            };
            let bytes = legacy_bytes(&tx);
            let hash = keccak256(&bytes);
            return Transaction { envelope: Signed::new_unchecked(tx, unsigned, hash).into(), bytes, hash };
        }
        let envelope: TxEnvelope = match (&asked.authorization_list, &asked.blob_versioned_hashes, asked.to) {
            (Some(list), _, Some(to)) => {
                let authorization_list = list.clone();
                let tx = TxEip7702 {
                    chain_id,
                    nonce,
                    gas_limit,
                    max_fee_per_gas,
                    max_priority_fee_per_gas,
                    to,
                    value,
                    access_list,
                    authorization_list,
                    input,
                };
                Signed::new_unhashed(tx, unsigned).into()
            }
            (None, Some(hashes), Some(to)) => {
                let tx = TxEip4844 {
                    chain_id,
                    nonce,
                    gas_limit,
                    max_fee_per_gas,
                    max_priority_fee_per_gas,
                    to,
                    value,
                    access_list,
                    blob_versioned_hashes: hashes.clone(),
                    max_fee_per_blob_gas: asked.max_fee_per_blob_gas.unwrap_or_default().saturating_to(),
                    input,
                };
                TxEnvelope::Eip4844(Signed::new_unhashed(TxEip4844Variant::TxEip4844(tx), unsigned))
            }
            _ => {
                let tx = TxEip1559 {
                    chain_id,
                    nonce,
                    gas_limit,
                    max_fee_per_gas,
                    max_priority_fee_per_gas,
                    to: self.kind(),
                    value,
                    access_list,
                    input,
                };
                Signed::new_unhashed(tx, unsigned).into()
            }
        };
        let bytes: Bytes = envelope.encoded_2718().into();
        let hash = keccak256(&bytes);
        Transaction { envelope, bytes, hash }
    }
}

/// A simulated transaction.
pub(super) struct Transaction {
    pub(super) envelope: TxEnvelope,
    pub(super) bytes: Bytes,
    pub(super) hash: B256,
}

/// alloy writes a `v` of 27 where there is no signature, geth one of zero.
fn legacy_bytes(tx: &TxLegacy) -> Bytes {
    let zero = 0_u8;
    let fields: [&dyn Encodable; 9] =
        [&tx.nonce, &tx.gas_price, &tx.gas_limit, &tx.to, &tx.value, &tx.input, &zero, &zero, &zero];
    let payload_length = fields.iter().map(|field| field.length()).sum();
    let mut bytes = Vec::with_capacity(payload_length + 9);
    alloy_rlp::Header { list: true, payload_length }.encode(&mut bytes);
    for field in fields {
        field.encode(&mut bytes);
    }
    bytes.into()
}
