//! Block headers.

use crate::base::error::{Error, malformed};
use alloy_consensus::Header;
use alloy_rlp::{Decodable, Header as RlpHeader};

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

/// Reads a header (RLP).
pub(crate) fn decode_header(mut bytes: &[u8]) -> Result<Header, Error> {
    Header::decode(&mut bytes).map_err(|why| malformed("block header", why))
}
