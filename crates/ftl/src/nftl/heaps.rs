//! Heaps over virtual blocks, many of them in one array of links.
//!
//! Cost-benefit needs the oldest of the pairs with the same numbers of live and dead pages. A
//! written pair becomes the youngest; a pair whose pages the host frees keeps its time and moves
//! into the middle of another heap. A list sorted by time would be scanned for its place; in these
//! leftist heaps (Crane 1972) each operation takes logarithmic time, and nothing is allocated.

use alloc::{vec, vec::Vec};

/// No virtual block.
pub(super) const NOBODY: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Node {
    /// When it was written last.
    stamp: u64,
    left: u32,
    right: u32,
    parent: u32,
    /// Links from here to the nearest missing child.
    rank: u32,
}

/// Heaps of numbers by time, the lowest number first among those of one time.
#[derive(Clone, Debug)]
pub(super) struct Heaps {
    nodes: Vec<Node>,
    roots: Vec<u32>,
    /// A bit for each heap with anything in it.
    filled: Vec<u64>,
}

impl Heaps {
    /// `heaps` empty heaps for numbers less than `numbers`.
    pub(super) fn new(numbers: usize, heaps: usize) -> Self {
        let node = Node { stamp: 0, left: NOBODY, right: NOBODY, parent: NOBODY, rank: 1 };
        Self {
            nodes: vec![node; numbers],
            roots: vec![NOBODY; heaps],
            filled: vec![0; heaps.div_ceil(64)],
        }
    }

    /// The heaps that hold something: heap, its first number, and that number's time.
    pub(super) fn firsts(&self) -> impl Iterator<Item = (usize, u32, u64)> {
        let words = self.filled.iter().enumerate();
        words.flat_map(|(at, &word)| Bits(word).map(move |bit| at * 64 + bit)).map(|heap| {
            let first = self.roots[heap];
            (heap, first, self.node(first).stamp)
        })
    }

    pub(super) fn insert(&mut self, heap: usize, number: u32, stamp: u64) {
        *self.node_mut(number) =
            Node { stamp, left: NOBODY, right: NOBODY, parent: NOBODY, rank: 1 };
        let root = self.merge(self.roots[heap], number);
        self.node_mut(root).parent = NOBODY;
        self.roots[heap] = root;
        self.filled[heap / 64] |= 1 << (heap % 64);
    }

    /// Takes out a number that is in this heap.
    pub(super) fn remove(&mut self, heap: usize, number: u32) {
        let Node { left, right, parent, .. } = *self.node(number);
        let below = self.merge(left, right);
        if below != NOBODY {
            self.node_mut(below).parent = parent;
        }
        if parent == NOBODY {
            self.roots[heap] = below;
            if below == NOBODY {
                self.filled[heap / 64] &= !(1 << (heap % 64));
            }
            return;
        }
        let above = self.node_mut(parent);
        if above.left == number {
            above.left = below;
        } else {
            above.right = below;
        }
        self.lean_left(parent, true);
    }

    /// One heap of two; the caller gives its root a parent.
    fn merge(&mut self, a: u32, b: u32) -> u32 {
        if a == NOBODY || b == NOBODY {
            return a.min(b);
        }
        let (root, mut other) = if self.is_before(a, b) { (a, b) } else { (b, a) };
        self.node_mut(root).parent = NOBODY;
        // Down the right spines, which are short...
        let mut at = root;
        loop {
            let right = self.node(at).right;
            if right == NOBODY {
                self.hang_right(at, other);
                break;
            }
            if self.is_before(other, right) {
                self.hang_right(at, other);
                other = right;
            }
            at = self.node(at).right;
        }
        // ... and up again, to keep them so.
        self.lean_left(at, false);
        root
    }

    fn hang_right(&mut self, at: u32, below: u32) {
        self.node_mut(at).right = below;
        self.node_mut(below).parent = at;
    }

    /// Restores ranks from a node upwards: to the root, or until nothing changes.
    fn lean_left(&mut self, mut at: u32, may_stop: bool) {
        while at != NOBODY {
            let Node { left, right, rank: old, parent, .. } = *self.node(at);
            let (l, r) = (self.rank(left), self.rank(right));
            let node = self.node_mut(at);
            if l < r {
                (node.left, node.right) = (right, left);
            }
            node.rank = l.min(r) + 1;
            if may_stop && node.rank == old {
                return;
            }
            at = parent;
        }
    }

    fn rank(&self, number: u32) -> u32 {
        if number == NOBODY { 0 } else { self.node(number).rank }
    }

    fn is_before(&self, a: u32, b: u32) -> bool {
        (self.node(a).stamp, a) < (self.node(b).stamp, b)
    }

    fn node(&self, number: u32) -> &Node {
        &self.nodes[number as usize]
    }

    fn node_mut(&mut self, number: u32) -> &mut Node {
        &mut self.nodes[number as usize]
    }
}

/// The numbers of the bits that are set, the lowest first.
struct Bits(u64);

impl Iterator for Bits {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let bit = self.0.trailing_zeros();
        self.0 &= self.0.wrapping_sub(1);
        (bit < u64::BITS).then_some(bit as usize)
    }
}
