//! Signed transactions that somebody wants to send: what can be said of them before anybody else is asked.

use crate::base::error::Error;
use crate::model::transaction::StackTransaction;
use crate::rules::spec::{ChainSpec, Stack};
use alloy_consensus::{EthereumTxEnvelope, TxEip4844Variant, TxEnvelope};
use alloy_eips::eip2718::Decodable2718;
use alloy_primitives::{Address, B256};
use op_alloy_consensus::OpTxEnvelope;

/// The largest transaction that pools take; with blobs it is larger.
const MAX_BYTES: usize = 128 * 1024;
const MAX_BLOB_BYTES: usize = 1024 * 1024;
const BLOB: u8 = 3;

/// What a signed transaction says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RawTransaction {
    pub hash: B256,
    pub from: Address,
    pub nonce: u64,
}

/// Reads a transaction as `eth_sendRawTransaction` takes it. It is refused in the words of geth where it is too large, of a type
/// that the chain does not have, of another chain, or not signed by anybody.
pub fn read_raw_transaction(spec: &ChainSpec, bytes: &[u8]) -> Result<RawTransaction, Error> {
    let kind = bytes.first().copied().unwrap_or_default();
    let limit = if kind == BLOB { MAX_BLOB_BYTES } else { MAX_BYTES };
    if bytes.len() > limit {
        return Err(refused(format!("oversized data: transaction size {}, limit {limit}", bytes.len())));
    }
    if bytes.len() < 2 {
        return Err(refused("typed transaction too short"));
    }
    // Legacy ones are lists.
    if kind < 0xc0 && !types_of(spec.stack).contains(&kind) {
        return Err(refused("transaction type not supported"));
    }
    match spec.stack {
        Stack::Ethereum => {
            let tx = decode::<TxEnvelope>(bytes)?;
            if let EthereumTxEnvelope::Eip4844(signed) = &tx
                && matches!(signed.tx(), TxEip4844Variant::TxEip4844(_))
            {
                return Err(refused("missing sidecar in blob transaction"));
            }
            check(spec, &tx)
        }
        Stack::Op => check(spec, &decode::<OpTxEnvelope>(bytes)?),
    }
}

/// Types that can be sent; deposits come from L1 alone.
const fn types_of(stack: Stack) -> &'static [u8] {
    match stack {
        Stack::Ethereum => &[1, 2, BLOB, 4],
        Stack::Op => &[1, 2, 4],
    }
}

fn decode<T: Decodable2718>(bytes: &[u8]) -> Result<T, Error> {
    T::decode_2718_exact(bytes).map_err(|why| refused(format!("failed to decode signed transaction: {why}")))
}

fn check<T: StackTransaction>(spec: &ChainSpec, tx: &T) -> Result<RawTransaction, Error> {
    match tx.chain_id() {
        None => return Err(refused("only replay-protected (EIP-155) transactions allowed over RPC")),
        Some(id) if id != spec.chain_id => {
            let want = spec.chain_id;
            return Err(refused(format!("invalid sender: invalid chain id for signer: have {id} want {want}")));
        }
        Some(_) => {}
    }
    let from = tx.recover_signer().map_err(|_| refused("invalid sender: invalid transaction v, r, s values"))?;
    Ok(RawTransaction { hash: tx.trie_hash(), from, nonce: tx.nonce() })
}

fn refused(why: impl Into<String>) -> Error {
    Error::Malformed(why.into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::model::transaction::DEPOSIT;
    use alloy_primitives::{b256, hex};

    const LEGACY: &[u8] = &hex!(
        "f86c808401a213988261a894aa000000000000000000000000000000000000000a8255448718e5bb3abd109fa073fbe7ff7e74339e7cc61fb3cb3f7630cd3f1d5fef653d7297654b2d22894daea042a188d30f35f19408c73c803bc1e9e17ce129c457e31fd2a368b54507af2f4c"
    );

    fn spec(chain_id: u64) -> ChainSpec {
        ChainSpec::parse(&format!(r#"{{"chainId":{chain_id},"londonBlock":0}}"#)).unwrap()
    }

    fn words(chain_id: u64, bytes: &[u8]) -> String {
        read_raw_transaction(&spec(chain_id), bytes).unwrap_err().to_string()
    }

    #[test]
    fn it_is_read_on_its_own_chain_only() {
        let read = read_raw_transaction(&spec(3_503_995_874_084_926), LEGACY).unwrap();
        assert_eq!(read.hash, b256!("b55b6dfd4ba0bb2b00283b0e84cda496c90bc7c5ae9025e07edc3a7fbaf6a269"));
        assert_eq!(read.nonce, 0);
        let why = words(1, LEGACY);
        assert_eq!(why, "invalid sender: invalid chain id for signer: have 3503995874084926 want 1");
    }

    #[test]
    fn what_is_none_is_refused_in_words() {
        let chain = 3_503_995_874_084_926;
        assert_eq!(words(chain, &[]), "typed transaction too short");
        assert_eq!(words(chain, &[9, 1]), "transaction type not supported");
        let long = [LEGACY, &[0]].concat();
        assert!(words(chain, &long).starts_with("failed to decode signed transaction"));
        let large = vec![2; 131_073];
        assert_eq!(words(chain, &large), "oversized data: transaction size 131073, limit 131072");
        let mut unsigned = LEGACY.to_vec();
        // The last byte but 31 begins `s`: one in the upper half of the curve is nobody's.
        let at = unsigned.len() - 32;
        unsigned[at] = 0xf0;
        assert_eq!(words(chain, &unsigned), "invalid sender: invalid transaction v, r, s values");
    }

    #[test]
    fn deposits_are_not_sent() {
        let op = ChainSpec::parse(r#"{"chainId":10,"bedrockBlock":0}"#).unwrap();
        let why = read_raw_transaction(&op, &[DEPOSIT, 0xc0]).unwrap_err();
        assert_eq!(why.to_string(), "transaction type not supported");
    }
}
