//! Blocks of OP Sepolia with everything needed to execute them, and their parents' states from trie nodes.

use super::test_data;
use alloy_consensus::{Block, BlockBody, EMPTY_OMMER_ROOT_HASH, Header, proofs};
use alloy_eips::eip1559::{BaseFeeParams, calc_next_block_base_fee};
use alloy_eips::eip2718::Decodable2718;
use alloy_eips::eip4895::Withdrawals;
use alloy_primitives::map::HashMap;
use alloy_primitives::{Address, B64, B256, Bytes, U64, U256, keccak256};
use alloy_trie::{EMPTY_ROOT_HASH, TrieAccount};
use chain_query_evm::{Account, ChainSpec, Diff, Key};
use eth_trie::{EthTrie, MemoryDB, Trie, TrieError};
use flate2::read::GzDecoder;
use op_alloy_consensus::OpTxEnvelope;
use serde::Deserialize;
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Deserialize)]
pub struct Fixture {
    rollup_config: serde_json::Value,
    pub parent_header: Header,
    executing_payload: Payload,
    pub expected_block_hash: B256,
    preimages: HashMap<B256, Bytes>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Payload {
    timestamp: U64,
    prev_randao: B256,
    suggested_fee_recipient: Address,
    parent_beacon_block_root: B256,
    transactions: Vec<Bytes>,
    gas_limit: U64,
    eip1559_params: B64,
}

impl Fixture {
    /// All of them, by number.
    pub fn all() -> Vec<Self> {
        let folder = test_data("op-sepolia");
        let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
            .unwrap_or_else(|why| panic!("{}: {why}", folder.display()))
            .map(|entry| entry.unwrap().path())
            .filter(|file| file.extension().is_some_and(|extension| extension == "gz"))
            .collect();
        assert!(!files.is_empty(), "{} has no blocks", folder.display());
        files.sort();
        let open = |file| serde_json::from_reader(GzDecoder::new(File::open(file).unwrap())).unwrap();
        files.iter().map(open).collect()
    }

    /// The fork times of the rollup config, in the words of a genesis config.
    pub fn spec(&self) -> ChainSpec {
        let config = &self.rollup_config;
        let time = |name: &str| config.get(name).cloned().unwrap_or_default();
        let json = serde_json::json!({
            "chainId": config["l2_chain_id"],
            "homesteadBlock": 0, "eip150Block": 0, "eip155Block": 0, "eip158Block": 0, "byzantiumBlock": 0,
            "constantinopleBlock": 0, "petersburgBlock": 0, "istanbulBlock": 0, "muirGlacierBlock": 0,
            "berlinBlock": 0, "londonBlock": 0, "arrowGlacierBlock": 0, "grayGlacierBlock": 0,
            "mergeNetsplitBlock": 0, "terminalTotalDifficulty": 0, "optimism": {},
            "bedrockBlock": 0, "regolithTime": 0,
            "shanghaiTime": time("canyon_time"), "canyonTime": time("canyon_time"),
            "cancunTime": time("ecotone_time"), "ecotoneTime": time("ecotone_time"),
            "fjordTime": time("fjord_time"), "graniteTime": time("granite_time"),
            "holoceneTime": time("holocene_time"),
            "pragueTime": time("isthmus_time"), "isthmusTime": time("isthmus_time"),
        });
        ChainSpec::parse(&json.to_string()).unwrap()
    }

    /// The block the payload asks for, with what only executing it tells left empty.
    pub fn block(&self) -> Vec<u8> {
        let (parent, payload) = (&self.parent_header, &self.executing_payload);
        let transactions: Vec<OpTxEnvelope> =
            payload.transactions.iter().map(|raw| OpTxEnvelope::decode_2718(&mut raw.as_ref()).unwrap()).collect();
        // Holocene: the parent's extra data is a version byte, the denominator and the elasticity.
        let number = |bytes: &[u8]| u128::from(u32::from_be_bytes(bytes.try_into().unwrap()));
        let fees = BaseFeeParams::new(number(&parent.extra_data[1..5]), number(&parent.extra_data[5..9]));
        let header = Header {
            parent_hash: parent.hash_slow(),
            ommers_hash: EMPTY_OMMER_ROOT_HASH,
            beneficiary: payload.suggested_fee_recipient,
            transactions_root: proofs::calculate_transaction_root(&transactions),
            withdrawals_root: Some(EMPTY_ROOT_HASH),
            number: parent.number + 1,
            gas_limit: payload.gas_limit.to(),
            timestamp: payload.timestamp.to(),
            mix_hash: payload.prev_randao,
            base_fee_per_gas: Some(calc_next_block_base_fee(
                parent.gas_used,
                parent.gas_limit,
                parent.base_fee_per_gas.unwrap(),
                fees,
            )),
            blob_gas_used: Some(0),
            excess_blob_gas: Some(0),
            parent_beacon_block_root: Some(payload.parent_beacon_block_root),
            extra_data: [&[0], payload.eip1559_params.as_slice()].concat().into(),
            ..Default::default()
        };
        let body = BlockBody { transactions, ommers: Vec::new(), withdrawals: Some(Withdrawals::default()) };
        alloy_rlp::encode(Block { header, body })
    }
}

/// The parent's state as far as the block needs it: trie nodes and codes by hash.
pub struct Witness<'a> {
    fixture: &'a Fixture,
    nodes: Arc<MemoryDB>,
}

impl<'a> Witness<'a> {
    pub fn new(fixture: &'a Fixture) -> Self {
        let nodes = Arc::new(MemoryDB::new(false));
        for (hash, bytes) in &fixture.preimages {
            assert_eq!(keccak256(bytes), *hash, "a preimage is what it hashes to");
            eth_trie::DB::insert(&*nodes, hash.as_slice(), bytes.to_vec()).unwrap();
        }
        Self { fixture, nodes }
    }

    fn trie(&self, root: B256) -> EthTrie<MemoryDB> {
        if root == EMPTY_ROOT_HASH {
            return EthTrie::new(Arc::clone(&self.nodes));
        }
        EthTrie::from(Arc::clone(&self.nodes), root.0.into()).unwrap()
    }

    /// A leaf of one trie: outside `None` when the witness does not reach it, inside `None` when it is not there.
    fn leaf(&self, root: B256, key: &[u8]) -> Option<Option<Vec<u8>>> {
        match self.trie(root).get(keccak256(key).as_slice()) {
            Ok(leaf) => Some(leaf),
            Err(TrieError::MissingTrieNode { .. }) => None,
            Err(why) => panic!("{why}"),
        }
    }

    fn find_account(&self, address: &Address) -> Option<Option<TrieAccount>> {
        let leaf = self.leaf(self.fixture.parent_header.state_root, address.as_slice())?;
        Some(leaf.map(|leaf| alloy_rlp::decode_exact(&leaf).unwrap()))
    }

    /// An account that the block changed, so that the witness has it or its absence.
    fn account(&self, address: &Address) -> Option<TrieAccount> {
        self.find_account(address)
            .unwrap_or_else(|| panic!("the witness lacks {address}, which the block changed"))
    }

    /// One value in its stored form, if the witness reaches it.
    pub fn load(&self, key: &Key) -> Option<Vec<u8>> {
        match key {
            Key::Account(address) => Some(self.find_account(address)?.map_or_else(Vec::new, |account| {
                let TrieAccount { nonce, balance, code_hash, .. } = account;
                alloy_rlp::encode(Account { nonce, balance, code_hash })
            })),
            Key::Slot(address, slot) => {
                let Some(account) = self.find_account(address)? else {
                    return Some(Vec::new());
                };
                let leaf = self.leaf(account.storage_root, slot.as_slice())?;
                Some(leaf.map_or_else(Vec::new, |leaf| {
                    alloy_rlp::decode_exact::<U256>(&leaf).unwrap().to_be_bytes_trimmed_vec()
                }))
            }
            Key::Code(hash) => self.fixture.preimages.get(hash).map(|code| code.to_vec()),
            Key::BlockHash(number) => {
                panic!("these blocks ask for no block hash, and yet for {number}")
            }
        }
    }

    /// The state root after applying a diff to the parent's state.
    pub fn root_after(&self, diff: &Diff) -> B256 {
        let mut state = self.trie(self.fixture.parent_header.state_root);
        let mut storages: HashMap<Address, EthTrie<MemoryDB>> = HashMap::default();
        for (address, slot, value) in &diff.slots {
            let root = self.account(address).map_or(EMPTY_ROOT_HASH, |account| account.storage_root);
            let wiped = diff.wiped.contains(address);
            let trie =
                storages.entry(*address).or_insert_with(|| self.trie(if wiped { EMPTY_ROOT_HASH } else { root }));
            let key = keccak256(slot);
            if value.is_zero() {
                trie.remove(key.as_slice()).unwrap();
            } else {
                trie.insert(key.as_slice(), &alloy_rlp::encode(value)).unwrap();
            }
        }
        let changed: HashMap<Address, Option<Account>> = diff.accounts.iter().copied().collect();
        let touched = changed.keys().chain(storages.keys()).copied().collect::<std::collections::BTreeSet<_>>();
        for address in touched {
            let before = self.account(&address);
            let after = match changed.get(&address) {
                Some(account) => *account,
                None => before.map(|TrieAccount { nonce, balance, code_hash, .. }| Account {
                    nonce,
                    balance,
                    code_hash,
                }),
            };
            let key = keccak256(address);
            let Some(Account { nonce, balance, code_hash }) = after else {
                state.remove(key.as_slice()).unwrap();
                continue;
            };
            let storage_root = match storages.get_mut(&address) {
                Some(trie) => B256::from(trie.root_hash().unwrap().0),
                None => before.map_or(EMPTY_ROOT_HASH, |account| account.storage_root),
            };
            let leaf = TrieAccount { nonce, balance, storage_root, code_hash };
            state.insert(key.as_slice(), &alloy_rlp::encode(leaf)).unwrap();
        }
        B256::from(state.root_hash().unwrap().0)
    }
}
