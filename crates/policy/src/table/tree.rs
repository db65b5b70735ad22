//! A tournament over erase blocks: finds the best victim exactly without looking at all blocks.
//!
//! Problem. A victim policy wants the block of least `cost = weight(valid pages, erases) / T(age)`.
//! Valid pages change with every host write, ages with every tick; scanning all blocks at each
//! cleaning makes the cost of a write grow with the device.
//!
//! Idea. Leaves are blocks in the order they were opened, so the blocks below a node are of similar
//! age. A node knows its *champion*, the least weight below it (lowest block number among equals),
//! and the oldest time stamp below it. `weight(champion) / T(oldest)` can only be better than
//! the truth, so a search may skip every subtree whose bound is worse than the best block found.
//!
//! Consequence. Where age plays no part the root's champion is the answer. By what the host writes a
//! closed block's weight only ever falls, so a host write compares once with the champion of the
//! leaf's parent and, nearly always, stops there. Subtrees are looked into again only when a block
//! leaves, once per cleaned block, and when a page inferred to be garbage turns out not to be.

use alloc::{vec, vec::Vec};
use core::ops::Range;

/// Children of a node: few enough that looking at all of them costs a few cache lines.
const FANOUT_BITS: u32 = 4;
pub(super) const FANOUT: usize = 1 << FANOUT_BITS;

/// No block.
pub(super) const NO_BLOCK: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Least weight below; infinite where there is no candidate.
    pub weight: f64,
    /// A stamp at least as old as every candidate's below.
    pub oldest: u64,
    /// The block of that weight, the lowest number among equals.
    pub champion: u32,
    /// The terms that weight is made of, or [`MIXED`]: 6/12 and 3/6 weigh the same, but their costs
    /// at one age may differ by a rounding.
    pub terms: u32,
}

/// Not all of a node's lightest candidates have the same terms.
const MIXED: u32 = u32::MAX;

impl Node {
    const EMPTY: Self =
        Self { weight: f64::INFINITY, oldest: u64::MAX, champion: NO_BLOCK, terms: MIXED };

    #[inline(always)]
    fn admit(&mut self, other: &Self) {
        if other.weight < self.weight {
            (self.weight, self.champion, self.terms) = (other.weight, other.champion, other.terms);
        } else if other.weight == self.weight {
            self.champion = self.champion.min(other.champion);
            self.terms = if self.terms == other.terms { self.terms } else { MIXED };
        }
        self.oldest = self.oldest.min(other.oldest);
    }
}

/// What the tree needs to know of blocks.
pub(super) trait Leaves {
    /// The candidate at a leaf: weight, stamp, block.
    fn leaf(&self, slot: usize) -> Option<Node>;
}

/// What a search needs to know of them; costs are compared, smaller is better.
pub(super) trait Costs: Leaves {
    /// The age factor of a stamp; does not grow as the stamp does.
    fn age(&self, stamp: u64) -> f64;
    /// A value little greater than the age factor, and quicker to tell.
    fn age_bound(&self, stamp: u64) -> f64;
    /// The exact cost of a block if its age factor were `age`.
    fn cost(&self, block: u32, age: f64) -> f64;
    /// The stamp of a block, if it is a candidate.
    fn stamp(&self, block: u32) -> Option<u64>;
}

/// A cost is one rounding of what `weight / age` is two roundings of.
pub(super) const SLACK: f64 = 1.0 - 1e-12;

#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// `levels[0]` has one node per [`FANOUT`] slots; the last level has one node.
    levels: Vec<Vec<Node>>,
    slots: usize,
}

impl Tree {
    pub(super) fn new(slots: usize) -> Self {
        let mut levels = Vec::new();
        let mut nodes = slots;
        loop {
            nodes = nodes.div_ceil(FANOUT).max(1);
            levels.push(vec![Node::EMPTY; nodes]);
            if nodes == 1 {
                return Self { levels, slots };
            }
        }
    }

    pub(super) fn clear(&mut self) {
        for level in &mut self.levels {
            level.fill(Node::EMPTY);
        }
    }

    pub(super) fn root(&self) -> &Node {
        &self.levels[self.levels.len() - 1][0]
    }

    /// The weight of the candidate at `slot` fell.
    #[inline(always)]
    pub(super) fn improve(&mut self, slot: usize, weight: f64, block: u32, terms: u32) {
        let mut index = slot;
        for level in &mut self.levels {
            index >>= FANOUT_BITS;
            let node = &mut level[index];
            if weight < node.weight {
                (node.weight, node.champion, node.terms) = (weight, block, terms);
            } else if weight == node.weight && (block < node.champion || terms != node.terms) {
                node.champion = node.champion.min(block);
                node.terms = if node.terms == terms { terms } else { MIXED };
            } else {
                return;
            }
        }
    }

    /// A candidate appeared at `slot`.
    pub(super) fn insert(&mut self, slot: usize, candidate: &Node) {
        let mut index = slot;
        for level in &mut self.levels {
            index >>= FANOUT_BITS;
            level[index].admit(candidate);
        }
    }

    /// The candidate at `slot` went, or its weight rose.
    pub(super) fn refresh(&mut self, slot: usize, blocks: &impl Leaves) {
        let index = slot >> FANOUT_BITS;
        self.refold(index..index + 1, blocks);
    }

    /// Candidates below these lowest nodes changed.
    pub(super) fn refold(&mut self, nodes: Range<usize>, blocks: &impl Leaves) {
        let Range { mut start, mut end } = nodes;
        for index in start..end {
            self.levels[0][index] = self.fold_leaves(index, blocks);
        }
        for height in 1..self.levels.len() {
            start >>= FANOUT_BITS;
            end = ((end - 1) >> FANOUT_BITS) + 1;
            for index in start..end {
                self.levels[height][index] = self.fold_nodes(height, index);
            }
        }
    }

    fn fold_leaves(&self, index: usize, blocks: &impl Leaves) -> Node {
        let first = index << FANOUT_BITS;
        let mut node = Node::EMPTY;
        for slot in first..(first + FANOUT).min(self.slots) {
            if let Some(candidate) = blocks.leaf(slot) {
                node.admit(&candidate);
            }
        }
        node
    }

    fn fold_nodes(&self, height: usize, index: usize) -> Node {
        let mut node = Node::EMPTY;
        for child in self.children(height, index) {
            node.admit(child);
        }
        node
    }

    /// The lightest candidate of the slots before `end`: what is left of it at each level, and not
    /// below a node left of it on the next.
    pub(super) fn lightest_before(&self, end: usize, blocks: &impl Leaves) -> Node {
        let mut best = Node::EMPTY;
        let mut end = end.min(self.slots);
        for slot in end >> FANOUT_BITS << FANOUT_BITS..end {
            if let Some(candidate) = blocks.leaf(slot) {
                best.admit(&candidate);
            }
        }
        for level in &self.levels {
            end >>= FANOUT_BITS;
            for node in &level[end >> FANOUT_BITS << FANOUT_BITS..end] {
                best.admit(node);
            }
        }
        best
    }

    fn children(&self, height: usize, index: usize) -> &[Node] {
        let below = &self.levels[height - 1];
        let first = index << FANOUT_BITS;
        &below[first..(first + FANOUT).min(below.len())]
    }

    /// The block of least cost, the lowest number among equals; the search begins with `start`.
    pub(super) fn search(&self, costs: &impl Costs, start: Option<u32>) -> Best {
        let mut best = Best { cost: f64::INFINITY, block: None, runner_up: None };
        if let Some(block) = start
            && let Some(stamp) = costs.stamp(block)
        {
            best.consider(costs.cost(block, costs.age(stamp)), block);
        }
        if self.root().champion != NO_BLOCK {
            let age = costs.age_bound(self.root().oldest);
            self.descend(self.levels.len() - 1, 0, age, costs, &mut best);
        }
        best
    }

    /// Looks below a node; no candidate there has an age factor greater than `age`.
    fn descend<C: Costs>(&self, height: usize, index: usize, age: f64, costs: &C, best: &mut Best) {
        let per_age = SLACK / age;
        let first = index << FANOUT_BITS;
        if height == 0 {
            for slot in first..(first + FANOUT).min(self.slots) {
                if let Some(leaf) = costs.leaf(slot) {
                    debug_assert!(leaf.oldest >= self.levels[0][index].oldest, "a bound holds");
                    // "Not worse": an age factor of 0 makes an idle product not a number.
                    let worse = leaf.weight * per_age > best.cost;
                    if leaf.weight < f64::INFINITY && !worse {
                        let cost = costs.cost(leaf.champion, costs.age(leaf.oldest));
                        best.consider(cost, leaf.champion);
                    }
                }
            }
            return;
        }
        // Least weight first, the lowest number among equals: of a thousand blocks without valid
        // pages only one is looked at. No child is older than its parent, so `age` rules most of
        // them out.
        let mut looked = 0_u32;
        loop {
            let children = self.children(height, index);
            let (mut weight, mut champion, mut i) = (f64::INFINITY, NO_BLOCK, 0);
            for (at, child) in children.iter().enumerate() {
                // Without branches: which child is the least is anybody's guess.
                let lower = (child.weight == weight) & (child.champion < champion);
                let take = (looked >> at & 1 == 0) & ((child.weight < weight) | lower);
                weight = if take { child.weight } else { weight };
                champion = if take { child.champion } else { champion };
                i = if take { at } else { i };
            }
            let next = children[i];
            if weight == f64::INFINITY || weight * per_age > best.cost {
                break;
            }
            looked |= 1 << i;
            let bound = costs.age_bound(next.oldest);
            if best.may_improve(&next, bound, costs) {
                self.descend(height - 1, first + i, bound, costs, best);
            }
        }
    }
}

/// The best candidate found so far.
pub(super) struct Best {
    cost: f64,
    pub block: Option<u32>,
    /// The best before it.
    pub runner_up: Option<u32>,
}

impl Best {
    /// Whether a better block may stand below `node`, where no age factor exceeds `age`.
    fn may_improve(&self, node: &Node, age: f64, costs: &impl Costs) -> bool {
        let floor = node.weight * (SLACK / age);
        if floor > self.cost {
            return false;
        }
        if floor < self.cost * 0.9 {
            return true;
        }
        // Close. Whoever costs as much as the oldest below would with the champion's weight, has
        // that weight, hence no lower a number; unless that weight comes about in several ways, or
        // ages are 0 and every cost is infinite.
        let least = costs.cost(node.champion, costs.age(node.oldest));
        if least == self.cost && (least == 0.0 || (node.terms != MIXED && least < f64::INFINITY)) {
            return self.precedes(node.champion);
        }
        least * SLACK <= self.cost
    }

    fn consider(&mut self, cost: f64, block: u32) {
        if cost < self.cost || (cost == self.cost && self.precedes(block)) {
            *self = Self { cost, block: Some(block), runner_up: self.block };
        }
    }

    /// Whether a block of the same cost is to be taken instead.
    fn precedes(&self, block: u32) -> bool {
        self.block.is_none_or(|best| block < best)
    }
}
