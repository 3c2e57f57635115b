//! Fork rules of a chain, from the config of its genesis file.

use crate::base::error::Error;
use crate::base::locks;
use crate::rules::native::NativeContracts;
use crate::rules::unknown::{self, UnknownFork};
use alloy_consensus::{BlockHeader, Header};
use alloy_eips::eip7840::BlobParams;
use alloy_eips::eip7892::BlobScheduleBlobParams;
use alloy_evm::EvmEnv;
use alloy_evm::eth::spec::EthExecutorSpec;
use alloy_genesis::ChainConfig;
use alloy_hardforks::{EthereumHardfork, EthereumHardforks, ForkCondition};
use alloy_op_hardforks::{OpHardfork, OpHardforks};
use alloy_primitives::Address;
use op_revm::OpSpecId;
use revm::context_interface::block::BlobExcessGasAndPrice;
use revm::primitives::hardfork::SpecId;
use serde::Deserialize;
use std::sync::{Arc, RwLock};

/// Which family of rules a chain follows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stack {
    Ethereum,
    Op,
}

/// When each fork of one chain begins, and the parameters that go with it.
#[derive(Debug, Clone)]
pub struct ChainSpec {
    pub chain_id: u64,
    pub stack: Stack,
    forks: Vec<(EthereumHardfork, ForkCondition)>,
    op_forks: Vec<(OpHardfork, ForkCondition)>,
    deposit_contract: Option<Address>,
    /// Behind a lock: chains change them on their own, without a new version of their clients.
    blobs: Arc<RwLock<BlobScheduleBlobParams>>,
    /// Whether this is Base or a chain like it: its Azul has the EIPs of Karst, and not what Karst changes beside them.
    is_base: bool,
    unknown: Vec<UnknownFork>,
    pub(crate) native_contracts: NativeContracts,
    /// Whether blocks are taken whose transactions root is not that of their transactions.
    pub(crate) odd_transactions_roots: bool,
    pub(crate) op_base_fee: OpBaseFee,
}

/// How the base fee of an OP-stack chain moved before its headers said it.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct OpBaseFee {
    eip1559_elasticity: u32,
    eip1559_denominator: u32,
    eip1559_denominator_canyon: u32,
}

impl Default for OpBaseFee {
    /// Those of OP Mainnet and most others.
    fn default() -> Self {
        Self { eip1559_elasticity: 6, eip1559_denominator: 50, eip1559_denominator_canyon: 250 }
    }
}

impl OpBaseFee {
    /// Elasticity and denominator.
    pub(crate) const fn at(&self, canyon: bool) -> (u32, u32) {
        let denominator = if canyon { self.eip1559_denominator_canyon } else { self.eip1559_denominator };
        (self.eip1559_elasticity, denominator)
    }
}

const OP_FORK_FIELDS: [(OpHardfork, &str); 10] = [
    (OpHardfork::Regolith, "regolithTime"),
    (OpHardfork::Canyon, "canyonTime"),
    (OpHardfork::Ecotone, "ecotoneTime"),
    (OpHardfork::Fjord, "fjordTime"),
    (OpHardfork::Granite, "graniteTime"),
    (OpHardfork::Holocene, "holoceneTime"),
    (OpHardfork::Isthmus, "isthmusTime"),
    (OpHardfork::Jovian, "jovianTime"),
    (OpHardfork::Karst, "karstTime"),
    (OpHardfork::Bedrock, "bedrockBlock"),
];

impl ChainSpec {
    /// Reads a chain from the `config` object of a genesis file.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let config: ChainConfig =
            serde_json::from_str(text).map_err(|why| Error::Malformed(format!("chain config: {why}")))?;
        Self::from_config(&config)
    }

    /// Translates geth's chain config. OP-stack chains are told by their extra fork fields.
    pub fn from_config(config: &ChainConfig) -> Result<Self, Error> {
        use EthereumHardfork as F;
        let paris = match (config.merge_netsplit_block, config.terminal_total_difficulty) {
            (Some(block), _) => ForkCondition::Block(block),
            (None, Some(ttd)) if ttd.is_zero() => ForkCondition::Block(0),
            (None, Some(_)) if config.shanghai_time.is_some() => {
                return Err(Error::Unsupported(
                    "the chain config has a terminal total difficulty but no mergeNetsplitBlock: \
                     set it to the first block after the merge"
                        .into(),
                ));
            }
            _ => ForkCondition::Never,
        };
        let block = |at: Option<u64>| at.map_or(ForkCondition::Never, ForkCondition::Block);
        let time = |at: Option<u64>| at.map_or(ForkCondition::Never, ForkCondition::Timestamp);
        let mut forks = vec![
            (F::Frontier, ForkCondition::Block(0)),
            (F::Homestead, block(config.homestead_block)),
            (F::Dao, if config.dao_fork_support { block(config.dao_fork_block) } else { ForkCondition::Never }),
            (F::Tangerine, block(config.eip150_block)),
            (F::SpuriousDragon, block(config.eip158_block.or(config.eip155_block))),
            (F::Byzantium, block(config.byzantium_block)),
            (F::Constantinople, block(config.constantinople_block)),
            (F::Petersburg, block(config.petersburg_block.or(config.constantinople_block))),
            (F::Istanbul, block(config.istanbul_block)),
            (F::MuirGlacier, block(config.muir_glacier_block)),
            (F::Berlin, block(config.berlin_block)),
            (F::London, block(config.london_block)),
            (F::ArrowGlacier, block(config.arrow_glacier_block)),
            (F::GrayGlacier, block(config.gray_glacier_block)),
            (F::Paris, paris),
            (F::Shanghai, time(config.shanghai_time)),
            (F::Cancun, time(config.cancun_time)),
            (F::Prague, time(config.prague_time)),
            (F::Osaka, time(config.osaka_time)),
            (F::Bpo1, time(config.bpo1_time)),
            (F::Bpo2, time(config.bpo2_time)),
            (F::Bpo3, time(config.bpo3_time)),
            (F::Bpo4, time(config.bpo4_time)),
            (F::Bpo5, time(config.bpo5_time)),
        ];
        let mut op_forks = Vec::new();
        for (fork, field) in OP_FORK_FIELDS {
            let at = match config.extra_fields.get_deserialized::<Option<u64>>(field) {
                None => None,
                Some(at) => at.map_err(|why| Error::Malformed(format!("chain config, {field}: {why}")))?,
            };
            let condition = if fork == OpHardfork::Bedrock { block(at) } else { time(at) };
            op_forks.push((fork, condition));
        }
        let base = unknown::base_forks(config)?;
        if let Some(azul) = base.get("azul") {
            set_fork(&mut op_forks, OpHardfork::Karst, ForkCondition::Timestamp(*azul));
            set_fork(&mut forks, F::Osaka, ForkCondition::Timestamp(*azul));
        }
        let is_op = config.extra_fields.contains_key("optimism")
            || op_forks.iter().any(|(_, at)| *at != ForkCondition::Never);
        Ok(Self {
            chain_id: config.chain_id,
            stack: if is_op { Stack::Op } else { Stack::Ethereum },
            forks,
            op_forks: if is_op { op_forks } else { Vec::new() },
            deposit_contract: config.deposit_contract_address,
            blobs: Arc::new(RwLock::new(config.blob_schedule_blob_params())),
            is_base: !base.is_empty(),
            unknown: unknown::unknown_forks(config, &base, &OP_FORK_FIELDS.map(|(_, field)| field))?,
            native_contracts: read_native_contracts(config)?,
            odd_transactions_roots: false,
            op_base_fee: match config.extra_fields.get_deserialized("optimism") {
                None => OpBaseFee::default(),
                Some(params) => {
                    params.map_err(|why| Error::Malformed(format!("chain config, optimism: {why}")))?
                }
            },
        })
    }

    /// Takes blocks whose transactions root does not fit, as development chains make them; nothing else proves their
    /// transactions.
    #[must_use]
    pub const fn with_odd_transactions_roots(mut self, accepted: bool) -> Self {
        self.odd_transactions_roots = accepted;
        self
    }

    /// Blob parameters in force at a time, if blobs exist there at all.
    pub fn blob_params_at(&self, timestamp: u64) -> Option<BlobParams> {
        if self.stack == Stack::Op || !self.is_cancun_active_at_timestamp(timestamp) {
            return None;
        }
        let blobs = locks::read(&self.blobs);
        let scheduled = blobs.active_scheduled_params_at_timestamp(timestamp).copied();
        Some(scheduled.unwrap_or_else(|| {
            if self.is_osaka_active_at_timestamp(timestamp) {
                blobs.osaka
            } else if self.is_prague_active_at_timestamp(timestamp) {
                blobs.prague
            } else {
                blobs.cancun
            }
        }))
    }

    /// Takes over the blob parameters of a config of the same chain, for all who share these rules. Nothing else of it counts.
    pub fn adopt_blobs(&self, config: &str) -> Result<(), Error> {
        let other = Self::parse(config)?;
        if other.chain_id != self.chain_id {
            return Err(Error::Malformed(format!(
                "the config is of chain {}, not {}",
                other.chain_id, self.chain_id
            )));
        }
        let blobs = locks::read(&other.blobs).clone();
        *locks::write(&self.blobs) = blobs;
        Ok(())
    }

    /// The environment of an Ethereum block.
    pub fn eth_env(&self, header: &Header) -> EvmEnv<SpecId> {
        self.env_under(self, header)
    }

    /// The environment a call pretends. As in geth, forks by time count only where the context is a merged one, and
    /// that only from London on: a pretended time or randomness does not move an old block across the merge.
    pub fn eth_call_env(&self, header: &Header, merged: bool) -> EvmEnv<SpecId> {
        let merged = merged && self.is_london_active_at_block(header.number);
        let mut env = self.env_under(&CallForks { spec: self, merged }, header);
        if env.cfg_env.spec.is_enabled_in(SpecId::CANCUN) && env.block_env.blob_excess_gas_and_price.is_none() {
            env.block_env.blob_excess_gas_and_price =
                Some(BlobExcessGasAndPrice { excess_blob_gas: 0, blob_gasprice: 1 });
        }
        env
    }

    fn env_under(&self, forks: &impl EthereumHardforks, header: &Header) -> EvmEnv<SpecId> {
        let blobs = self.blob_params_at(header.timestamp());
        let mut env = EvmEnv::for_eth_block(header, forks, self.chain_id, blobs);
        // alloy-evm knows no Constantinople and falls back to Byzantium. Petersburg is nearer: all of its opcodes,
        // without EIP-1283, which no chain kept.
        if env.cfg_env.spec == SpecId::BYZANTIUM && forks.is_constantinople_active_at_block(header.number) {
            env.cfg_env.set_spec_and_mainnet_gas_params(SpecId::PETERSBURG);
        }
        // Without this revm would price BLOBBASEFEE in system contracts by its own fork defaults.
        env.cfg_env.blob_base_fee_update_fraction =
            blobs.and_then(|params| u64::try_from(params.update_fraction).ok());
        env
    }

    /// The environment of an OP-stack block.
    pub fn op_env(&self, header: &Header) -> EvmEnv<OpSpecId> {
        alloy_op_evm::evm_env_for_op_block(header, self, self.chain_id)
    }

    /// Whether pairings take less input than the EVM of the fork allows (Karst on the OP stack; not Base's Azul).
    pub fn limits_pairings(&self, timestamp: u64) -> bool {
        self.stack == Stack::Op && !self.is_base && self.is_karst_active_at_timestamp(timestamp)
    }

    /// The forks that the config names and whose rules are not known, in words.
    pub fn unknown_forks(&self) -> Vec<String> {
        self.unknown.iter().map(ToString::to_string).collect()
    }

    /// Refuses a block of a fork whose rules are not known.
    pub fn expect_known(&self, header: &Header) -> Result<(), Error> {
        self.unknown.iter().try_for_each(|fork| fork.expect_before(header))
    }

    /// Whether the header's withdrawals root is a storage root (OP-stack from Isthmus on) and no list's.
    pub fn withdrawals_root_is_storage(&self, timestamp: u64) -> bool {
        self.stack == Stack::Op && self.is_isthmus_active_at_timestamp(timestamp)
    }

    /// Whether receipts of this block hold a state root instead of a status (before EIP-658).
    pub fn receipts_hold_roots(&self, number: u64) -> bool {
        !self.is_byzantium_active_at_block(number)
    }
}

/// Patterns of addresses, in a field of ours.
fn read_native_contracts(config: &ChainConfig) -> Result<NativeContracts, Error> {
    const FIELD: &str = "nativeContracts";
    match config.extra_fields.get_deserialized::<Vec<String>>(FIELD) {
        None => Ok(NativeContracts::default()),
        Some(patterns) => NativeContracts::parse(
            &patterns.map_err(|why| Error::Malformed(format!("chain config, {FIELD}: {why}")))?,
        ),
    }
}

fn set_fork<F: PartialEq>(forks: &mut [(F, ForkCondition)], fork: F, at: ForkCondition) {
    for (_, condition) in forks.iter_mut().filter(|(name, _)| *name == fork) {
        *condition = at;
    }
}

/// The forks a call sees, given whether its context is merged.
struct CallForks<'a> {
    spec: &'a ChainSpec,
    merged: bool,
}

impl EthereumHardforks for CallForks<'_> {
    fn ethereum_fork_activation(&self, fork: EthereumHardfork) -> ForkCondition {
        match self.spec.ethereum_fork_activation(fork) {
            _ if fork == EthereumHardfork::Paris && self.merged => ForkCondition::Block(0),
            _ if fork == EthereumHardfork::Paris => ForkCondition::Never,
            ForkCondition::Timestamp(_) if !self.merged => ForkCondition::Never,
            at => at,
        }
    }
}

impl EthereumHardforks for ChainSpec {
    fn ethereum_fork_activation(&self, fork: EthereumHardfork) -> ForkCondition {
        self.forks.iter().find(|(name, _)| *name == fork).map_or(ForkCondition::Never, |(_, at)| *at)
    }
}

impl OpHardforks for ChainSpec {
    fn op_fork_activation(&self, fork: OpHardfork) -> ForkCondition {
        self.op_forks.iter().find(|(name, _)| *name == fork).map_or(ForkCondition::Never, |(_, at)| *at)
    }
}

impl EthExecutorSpec for ChainSpec {
    fn deposit_contract_address(&self) -> Option<Address> {
        self.deposit_contract
    }
}
