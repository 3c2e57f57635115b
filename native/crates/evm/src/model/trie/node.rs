//! A Merkle Patricia trie whose nodes never change once they are shared: a change makes the path to it anew.

use alloy_primitives::{B256, Bytes, keccak256};
use alloy_rlp::{EMPTY_STRING_CODE, Header};
use alloy_trie::nodes::{ExtensionNodeRef, LeafNodeRef, RlpNode};
use alloy_trie::{EMPTY_ROOT_HASH, Nibbles};
use std::sync::{Arc, OnceLock};

/// Bytes of the longest node: a branch of sixteen hashes.
const MAX_NODE_BYTES: usize = 532;

/// What a leaf holds.
pub(super) trait Leaf: Clone {
    /// As the trie commits to it.
    fn encode(&self) -> Vec<u8>;
}

/// All keys are hashes, so that no branch holds a value.
#[derive(Debug, Clone)]
enum Node<V> {
    Leaf { path: Nibbles, value: V },
    Extension { path: Nibbles, child: Link<V> },
    Branch(Box<[Option<Link<V>>; 16]>),
}

#[derive(Debug, Clone)]
struct Cell<V> {
    node: Node<V>,
    /// How the node above names it, once that was asked for.
    name: OnceLock<RlpNode>,
}

type Link<V> = Arc<Cell<V>>;

/// A trie; a copy of it shares its nodes.
#[derive(Debug, Clone)]
pub(super) struct Trie<V> {
    top: Option<Link<V>>,
}

impl<V> Default for Trie<V> {
    fn default() -> Self {
        Self { top: None }
    }
}

impl<V: Leaf> Trie<V> {
    pub(super) fn get(&self, key: &B256) -> Option<&V> {
        let path = Nibbles::unpack(key);
        let (mut at, mut link) = (0, self.top.as_ref()?);
        loop {
            match &link.node {
                Node::Leaf { path: rest, value } => return (path.slice(at..) == *rest).then_some(value),
                Node::Extension { path: shared, child } => {
                    if !path.slice(at..).starts_with(shared) {
                        return None;
                    }
                    at += shared.len();
                    link = child;
                }
                Node::Branch(children) => {
                    link = children[usize::from(path.get(at)?)].as_ref()?;
                    at += 1;
                }
            }
        }
    }

    /// The nodes from the root down to a key, or to where it would be. Nodes that their parents hold inside are not listed.
    pub(super) fn prove(&self, key: &B256) -> Vec<Bytes> {
        let path = Nibbles::unpack(key);
        let mut nodes = Vec::new();
        let (mut at, mut next) = (0, self.top.as_ref());
        while let Some(link) = next {
            let mut buffer = Vec::new();
            encode(&link.node, &mut buffer);
            if nodes.is_empty() || buffer.len() >= B256::len_bytes() {
                nodes.push(buffer.into());
            }
            next = match &link.node {
                Node::Leaf { .. } => None,
                Node::Extension { path: shared, child } => {
                    let goes_on = path.slice(at..).starts_with(shared);
                    at += shared.len();
                    goes_on.then_some(child)
                }
                Node::Branch(children) => {
                    let slot = path.get(at).map_or(0, usize::from);
                    at += 1;
                    children[slot].as_ref()
                }
            };
        }
        nodes
    }

    /// Sets a value; whether there was none before.
    pub(super) fn insert(&mut self, key: &B256, value: V) -> bool {
        let mut is_new = true;
        let path = Nibbles::unpack(key);
        self.top = Some(match self.top.take() {
            Some(top) => insert(top, path, value, &mut is_new),
            None => link(Node::Leaf { path, value }),
        });
        is_new
    }

    /// Takes a value away; whether there was one.
    pub(super) fn remove(&mut self, key: &B256) -> bool {
        // A path is made anew only where something goes.
        if self.get(key).is_none() {
            return false;
        }
        self.top = self.top.take().and_then(|top| remove(top, Nibbles::unpack(key)));
        true
    }

    pub(super) fn root(&self) -> B256 {
        let Some(top) = &self.top else {
            return EMPTY_ROOT_HASH;
        };
        let name = name(top);
        // A node that is shorter than a hash is named by itself, but for the topmost.
        name.as_hash().unwrap_or_else(|| keccak256(&**name))
    }
}

fn link<V>(node: Node<V>) -> Link<V> {
    Arc::new(Cell { node, name: OnceLock::new() })
}

fn node<V: Clone>(link: Link<V>) -> Node<V> {
    Arc::unwrap_or_clone(link).node
}

fn empty_branch<V>() -> Box<[Option<Link<V>>; 16]> {
    Box::new(std::array::from_fn(|_| None))
}

fn insert<V: Leaf>(at: Link<V>, path: Nibbles, value: V, is_new: &mut bool) -> Link<V> {
    match node(at) {
        Node::Branch(mut children) => {
            let (slot, rest) = step(&path);
            children[slot] = Some(match children[slot].take() {
                Some(child) => insert(child, rest, value, is_new),
                None => link(Node::Leaf { path: rest, value }),
            });
            link(Node::Branch(children))
        }
        Node::Leaf { path: own, .. } if own == path => {
            *is_new = false;
            link(Node::Leaf { path, value })
        }
        Node::Leaf { path: own, value: other } => {
            let shared = own.common_prefix_length(&path);
            let mut children = empty_branch();
            for (path, value) in [(own, other), (path, value)] {
                let (slot, rest) = step(&path.slice(shared..));
                children[slot] = Some(link(Node::Leaf { path: rest, value }));
            }
            below(path.slice(..shared), link(Node::Branch(children)))
        }
        Node::Extension { path: own, child } => {
            let shared = own.common_prefix_length(&path);
            if shared == own.len() {
                return link(Node::Extension {
                    path: own,
                    child: insert(child, path.slice(shared..), value, is_new),
                });
            }
            let mut children = empty_branch();
            let (slot, rest) = step(&own.slice(shared..));
            children[slot] = Some(below(rest, child));
            let (slot, rest) = step(&path.slice(shared..));
            children[slot] = Some(link(Node::Leaf { path: rest, value }));
            below(path.slice(..shared), link(Node::Branch(children)))
        }
    }
}

/// Takes away a key that is there.
fn remove<V: Leaf>(at: Link<V>, path: Nibbles) -> Option<Link<V>> {
    match node(at) {
        Node::Leaf { .. } => None,
        Node::Extension { path: own, child } => {
            let child = remove(child, path.slice(own.len()..))?;
            Some(below(own, child))
        }
        Node::Branch(mut children) => {
            let (slot, rest) = step(&path);
            children[slot] = children[slot].take().and_then(|child| remove(child, rest));
            if children.iter().flatten().count() > 1 {
                return Some(link(Node::Branch(children)));
            }
            let (slot, last) =
                children.iter_mut().enumerate().find_map(|(slot, child)| Some((slot, child.take()?)))?;
            Some(below(Nibbles::from_nibbles([slot as u8]), last))
        }
    }
}

/// A node with a path in front of it: two paths in a row become one.
fn below<V: Leaf>(path: Nibbles, child: Link<V>) -> Link<V> {
    if path.is_empty() {
        return child;
    }
    match &child.node {
        Node::Branch(_) => link(Node::Extension { path, child }),
        Node::Leaf { path: rest, value } => link(Node::Leaf { path: path.join(rest), value: value.clone() }),
        Node::Extension { path: rest, child } => {
            link(Node::Extension { path: path.join(rest), child: Arc::clone(child) })
        }
    }
}

/// The first nibble of a path, and the rest. Keys are of one length, so that no path ends at a branch.
fn step(path: &Nibbles) -> (usize, Nibbles) {
    (usize::from(path.first().unwrap_or_default()), path.slice(path.len().min(1)..))
}

fn name<V: Leaf>(link: &Link<V>) -> &RlpNode {
    link.name.get_or_init(|| encode(&link.node, &mut Vec::with_capacity(MAX_NODE_BYTES)))
}

/// Writes a node to an empty buffer; how the node above names it.
fn encode<V: Leaf>(node: &Node<V>, buffer: &mut Vec<u8>) -> RlpNode {
    match node {
        Node::Leaf { path, value } => LeafNodeRef::new(path, &value.encode()).rlp(buffer),
        Node::Extension { path, child } => ExtensionNodeRef::new(path, name(child)).rlp(buffer),
        Node::Branch(children) => {
            let names: [Option<&RlpNode>; 16] = std::array::from_fn(|slot| children[slot].as_ref().map(name));
            // The last byte is for the value that no branch has here.
            let payload_length = 1 + names.iter().map(|name| name.map_or(1, |name| name.len())).sum::<usize>();
            Header { list: true, payload_length }.encode(buffer);
            for name in names {
                match name {
                    Some(name) => buffer.extend_from_slice(name),
                    None => buffer.push(EMPTY_STRING_CODE),
                }
            }
            buffer.push(EMPTY_STRING_CODE);
            RlpNode::from_rlp(buffer)
        }
    }
}
