//! The root of a list that grows, of receipts or transactions: what came before is not hashed again.

use alloy_primitives::{B256, Bytes};
use alloy_trie::{EMPTY_ROOT_HASH, HashBuilder, Nibbles};

/// The keys of the trie are indexes in RLP, in the order of their bytes: zero, which is 0x80, comes after 127.
const AFTER_ZERO: usize = 128;

/// The roots of a block that is being built, which go on from piece to piece.
#[derive(Debug, Clone, Default)]
pub(crate) struct Roots {
    pub(crate) transactions: OrderedRoot,
    pub(crate) receipts: OrderedRoot,
}

/// A trie that is built from its left side on, kept open.
#[derive(Debug, Clone, Default)]
pub(crate) struct OrderedRoot {
    builder: HashBuilder,
    count: usize,
    /// The first item, until its turn comes.
    first: Option<Bytes>,
}

impl OrderedRoot {
    /// Adds an item at the end.
    pub(crate) fn push(&mut self, item: &Bytes) {
        if self.count == AFTER_ZERO
            && let Some(first) = self.first.take()
        {
            add(&mut self.builder, 0, &first);
        }
        match self.count {
            0 => self.first = Some(item.clone()),
            index => add(&mut self.builder, index, item),
        }
        self.count += 1;
    }

    /// The root of all items so far.
    pub(crate) fn root(&self) -> B256 {
        if self.count == 0 {
            return EMPTY_ROOT_HASH;
        }
        let mut builder = self.builder.clone();
        if let Some(first) = &self.first {
            add(&mut builder, 0, first);
        }
        builder.root()
    }
}

impl<'a> Extend<&'a Bytes> for OrderedRoot {
    fn extend<I: IntoIterator<Item = &'a Bytes>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.push(item));
    }
}

fn add(builder: &mut HashBuilder, index: usize, item: &[u8]) {
    builder.add_leaf(Nibbles::unpack(alloy_rlp::encode_fixed_size(&index)), item);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloy_trie::root::ordered_trie_root_encoded;

    #[test]
    fn is_the_root_of_the_whole_list_at_every_length() {
        let items: Vec<Bytes> = (0..700_usize).map(|index| vec![index as u8; 1 + index % 90].into()).collect();
        let mut grown = OrderedRoot::default();
        for count in 0..=items.len() {
            assert_eq!(grown.root(), ordered_trie_root_encoded(&items[..count]), "{count} items");
            grown.extend(items.get(count));
        }
    }
}
