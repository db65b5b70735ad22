//! A tournament tree over erase blocks: finds the best victim exactly without a scan of all blocks.
//!
//! Problem. A victim policy needs the block with the lowest `cost = weight(valid pages, erases) /
//! T(age)`. Valid counts change with every host write, ages with every tick. A scan of all blocks
//! at each cleaning makes a write slower on a larger device.
//!
//! Idea. Leaves are blocks in the order of the times from which their ages count, so the blocks
//! below a node have similar ages. A node stores its *champion* (the block with the least weight
//! below it, the lowest number among equals), the stamp of the oldest block of that weight, the
//! second least weight, and the oldest stamp of all. The lightest blocks cost at least `weight /
//! T(stamp)` and the others at least `second / T(oldest)`. A search skips every subtree where both
//! exceed the cost of the best block found. If the step between two weights outweighs the
//! difference between two ages, which it does below all but the highest nodes, the bound is the
//! exact cost, for any number of blocks.
//!
//! Consequence. Without ages the root's champion is the answer. Host writes only ever lower a
//! closed block's weight, so a host write compares once with the champion of the leaf's parent and
//! nearly always stops there. Subtrees are recomputed only when a block leaves, once per cleaned
//! block, and when a page inferred to be garbage turns out to be valid.
//!
//! Ties are exact. Costs that differ by no more than rounding are compared exactly as products
//! without a division, and the lowest block number wins among equals. The papers' degree of uneven
//! wearing depends on that. Bounds use a polynomial through the mantissa instead of a logarithm. It
//! is never too small and at most a millionth too large.
//!
//! Rejected alternative: lists by valid pages, sorted by age. A block enters its next list with an
//! old stamp, so each list needs an ordered structure of its own, and wear splits the lists further
//! by erase count. In the tree a host write touches one node, and memory is 64 bytes for sixteen
//! slots whatever the pages of a block.

use alloc::{vec, vec::Vec};
use core::{cmp::Ordering, ops::Range};

use thermocline_flash::prefetch;

/// Leaves of a lowest node: enough that a falling weight is seldom the least of them.
const FANOUT_BITS: u32 = 4;
pub(super) const FANOUT: usize = 1 << FANOUT_BITS;

/// Children of higher nodes: few, so that a search or a leaving block visits little on each level.
const BRANCH_BITS: u32 = 2;
const BRANCHES: usize = 1 << BRANCH_BITS;

/// Number of slots from which a lowest node's blocks are prefetched. Fewer blocks stay in the
/// caches.
const FAR: usize = 1 << 16;

/// No block.
pub(super) const NO_BLOCK: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Least weight below; infinite without a candidate.
    pub weight: f64,
    /// Lower bound of the weights of all heavier candidates.
    pub second: f64,
    /// A stamp at least as old as those of all lightest candidates below.
    pub stamp: u64,
    /// A stamp at least as old as those of all candidates below.
    pub oldest: u64,
    /// The block with the least weight, the lowest number among equals.
    pub champion: u32,
    /// Identifies the numerator and denominator of the weight, or [`MIXED`]: 6/12 and 3/6 weigh the
    /// same, but their costs at one age may round differently.
    pub terms: u32,
}

/// The lightest candidates of a node have different terms.
const MIXED: u32 = u32::MAX;

impl Node {
    const EMPTY: Self = Self {
        weight: f64::INFINITY,
        second: f64::INFINITY,
        stamp: u64::MAX,
        oldest: u64::MAX,
        champion: NO_BLOCK,
        terms: MIXED,
    };

    /// The node of one candidate.
    pub(super) const fn of(block: u32, weight: f64, stamp: u64, terms: u32) -> Self {
        Self { weight, second: f64::INFINITY, stamp, oldest: stamp, champion: block, terms }
    }

    #[inline(always)]
    fn admit(&mut self, other: &Self) {
        let oldest = self.oldest.min(other.oldest);
        if other.weight < self.weight {
            *self = Self { second: self.weight.min(other.second), ..*other };
        } else if other.weight == self.weight {
            self.champion = self.champion.min(other.champion);
            self.stamp = self.stamp.min(other.stamp);
            self.second = self.second.min(other.second);
            self.terms = if self.terms == other.terms { self.terms } else { MIXED };
        } else {
            self.second = self.second.min(other.weight);
        }
        self.oldest = oldest;
    }
}

/// Access to blocks as leaves of the tree.
pub(super) trait Leaves {
    /// The candidate at a leaf: weight, stamp, block.
    fn leaf(&self, slot: usize) -> Option<Node>;
}

/// Costs of blocks for a search; lower is better.
pub(super) trait Costs {
    /// The candidate at a leaf, and its weight.
    fn weight_at(&self, slot: usize) -> Option<(u32, f64)>;
    /// Prefetches the blocks of a lowest node's leaves.
    fn prefetch(&self, slots: Range<usize>);
    /// The time from which a block's age counts.
    fn stamp_of(&self, block: u32) -> u64;
    /// The age factor of a stamp; does not increase with the stamp.
    fn age(&self, stamp: u64) -> f64;
    /// An upper bound of the age factor: close to it and faster to compute.
    fn age_bound(&self, stamp: u64) -> f64;
    /// The rounded cost of a block with age factor `age`.
    fn cost(&self, block: u32, age: f64) -> f64;
    /// Compares the costs of two blocks with their age factors exactly.
    fn order(&self, a: (u32, f64), b: (u32, f64)) -> Ordering;
    /// The stamp of a block, if it is a candidate.
    fn stamp(&self, block: u32) -> Option<u64>;
}

/// Relative difference between costs that rounding can explain: a cost is rounded once, `weight /
/// age` twice.
pub(super) const SLACK: f64 = 1.0 - 1e-12;

#[derive(Clone, Debug)]
pub(super) struct Tree {
    /// `levels[0]` has a node for [`FANOUT`] slots, each level above one for [`BRANCHES`] nodes,
    /// the last level one node.
    levels: Vec<Vec<Node>>,
    slots: usize,
    /// Whether ages matter. Without them [`Node::second`] is unused and equals the least weight.
    aged: bool,
}

impl Tree {
    pub(super) fn new(slots: usize, aged: bool) -> Self {
        let mut levels = Vec::new();
        let mut nodes = slots.div_ceil(FANOUT).max(1);
        loop {
            levels.push(vec![Node::EMPTY; nodes]);
            if nodes == 1 {
                return Self { levels, slots, aged };
            }
            nodes = nodes.div_ceil(BRANCHES);
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

    /// Prefetches the node above a slot.
    #[inline(always)]
    pub(super) fn prefetch(&self, slot: usize) {
        prefetch(&self.levels[0], slot >> FANOUT_BITS);
    }

    /// A candidate at `slot` that is heavier than this can become lighter without any change to the
    /// tree.
    #[inline(always)]
    pub(super) fn heed(&self, slot: usize) -> f64 {
        self.levels[0][slot >> FANOUT_BITS].second
    }

    /// Updates the tree after the weight of the candidate at `slot` fell.
    #[inline(always)]
    pub(super) fn improve(
        &mut self,
        slot: usize,
        weight: f64,
        block: u32,
        terms: u32,
        stamp: impl Fn() -> u64,
    ) {
        let mut index = slot >> FANOUT_BITS;
        for level in &mut self.levels {
            let node = &mut level[index];
            index >>= BRANCH_BITS;
            if weight > node.second {
                return;
            }
            if weight < node.weight {
                // The lightest candidate may have been this block, or others too.
                node.second = if self.aged { node.weight } else { weight };
                (node.weight, node.champion, node.terms) = (weight, block, terms);
                node.stamp = stamp();
            } else if weight == node.weight {
                let stamp = stamp();
                if block >= node.champion && terms == node.terms && stamp >= node.stamp {
                    return;
                }
                node.champion = node.champion.min(block);
                node.stamp = node.stamp.min(stamp);
                node.terms = if node.terms == terms { terms } else { MIXED };
            } else if weight < node.second {
                node.second = weight;
            } else {
                return;
            }
        }
    }

    /// Inserts a candidate at `slot`.
    pub(super) fn insert(&mut self, slot: usize, candidate: &Node) {
        let mut index = slot >> FANOUT_BITS;
        for level in &mut self.levels {
            let node = &mut level[index];
            index >>= BRANCH_BITS;
            node.admit(candidate);
            if !self.aged {
                node.second = node.weight;
            }
        }
    }

    /// Updates the tree after the weight of the candidate at `slot` changed from `before`.
    #[inline]
    pub(super) fn reweigh(&mut self, slot: usize, before: f64, now: &Node, blocks: &impl Leaves) {
        if now.weight <= before {
            self.improve(slot, now.weight, now.champion, now.terms, || now.stamp);
        } else if before <= self.heed(slot) {
            self.refresh(slot, blocks);
        }
        // Otherwise it was neither the lightest nor the second of any node.
    }

    /// Updates the tree after the candidate at `slot` left or its weight rose.
    pub(super) fn refresh(&mut self, slot: usize, blocks: &impl Leaves) {
        let mut index = slot >> FANOUT_BITS;
        let mut node = self.fold_leaves(index, blocks);
        let mut height = 0;
        loop {
            let old = core::mem::replace(&mut self.levels[height][index], node);
            height += 1;
            if height == self.levels.len() || self.is_same(&old, &node) {
                return;
            }
            index >>= BRANCH_BITS;
            node = self.fold_nodes(height, index);
        }
    }

    /// Whether the parent of a node is unaffected by a change.
    fn is_same(&self, old: &Node, new: &Node) -> bool {
        let champions = old.weight == new.weight && old.champion == new.champion;
        let ages = (old.second, old.stamp, old.oldest) == (new.second, new.stamp, new.oldest);
        champions && (!self.aged || (ages && old.terms == new.terms))
    }

    /// Recomputes the tree above these lowest nodes.
    pub(super) fn refold(&mut self, nodes: Range<usize>, blocks: &impl Leaves) {
        let Range { mut start, mut end } = nodes;
        for index in start..end {
            self.levels[0][index] = self.fold_leaves(index, blocks);
        }
        for height in 1..self.levels.len() {
            start >>= BRANCH_BITS;
            end = ((end - 1) >> BRANCH_BITS) + 1;
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
        self.folded(node)
    }

    fn fold_nodes(&self, height: usize, index: usize) -> Node {
        let mut node = Node::EMPTY;
        for child in self.children(height, index) {
            node.admit(child);
        }
        self.folded(node)
    }

    fn folded(&self, node: Node) -> Node {
        Node { second: if self.aged { node.second } else { node.weight }, ..node }
    }

    /// The lightest candidate of the slots before `end`. Combines, at each level, the nodes left of
    /// `end` that are not below such a node of a higher level.
    pub(super) fn lightest_before(&self, end: usize, blocks: &impl Leaves) -> Node {
        let mut best = Node::EMPTY;
        let mut end = end.min(self.slots);
        for slot in end >> FANOUT_BITS << FANOUT_BITS..end {
            if let Some(candidate) = blocks.leaf(slot) {
                best.admit(&candidate);
            }
        }
        end >>= FANOUT_BITS;
        for level in &self.levels {
            for node in &level[end >> BRANCH_BITS << BRANCH_BITS..end] {
                best.admit(node);
            }
            end >>= BRANCH_BITS;
        }
        best
    }

    fn children(&self, height: usize, index: usize) -> &[Node] {
        let below = &self.levels[height - 1];
        let first = index << BRANCH_BITS;
        &below[first..(first + BRANCHES).min(below.len())]
    }

    /// The block with the lowest cost, the lowest number among equals. The search begins with
    /// `start`.
    pub(super) fn search(&self, costs: &impl Costs, start: Option<u32>) -> Best {
        let mut best = Best { cost: f64::INFINITY, age: 0.0, block: None, runner_up: None };
        if let Some(block) = start
            && let Some(stamp) = costs.stamp(block)
        {
            best.consider(block, costs.age(stamp), costs);
        }
        if self.root().champion != NO_BLOCK {
            let per_age = SLACK / costs.age_bound(self.root().oldest);
            self.descend(self.levels.len() - 1, 0, per_age, costs, &mut best);
        }
        best
    }

    /// Searches below a node. Every candidate there costs at least its weight times `per_age`.
    fn descend<C: Costs>(
        &self,
        height: usize,
        index: usize,
        per_age: f64,
        costs: &C,
        best: &mut Best,
    ) {
        if height == 0 {
            let first = index << FANOUT_BITS;
            for slot in first..(first + FANOUT).min(self.slots) {
                if let Some((block, weight)) = costs.weight_at(slot) {
                    // Negated, because with an age factor of 0 the product may be NaN.
                    let worse = weight * per_age > best.cost;
                    if weight < f64::INFINITY && !worse {
                        let stamp = costs.stamp_of(block);
                        debug_assert!(stamp >= self.levels[0][index].oldest, "a bound holds");
                        best.consider(block, costs.age(stamp), costs);
                    }
                }
            }
            return;
        }
        // Lowest floor first, the lowest number among equals, so that of a thousand blocks without
        // valid pages only one is visited. No child is older than its parent, so `per_age` excludes
        // most of them.
        let children = self.children(height, index);
        let mut floors = [Floor::NONE; BRANCHES];
        let mut left = 0_u32;
        for (at, child) in children.iter().enumerate() {
            let worse = child.weight * per_age > best.cost;
            if child.weight < f64::INFINITY && !worse {
                floors[at] = Floor::of(child, per_age, costs);
                left |= 1 << at;
            }
        }
        while left != 0 {
            let mut next = left.trailing_zeros() as usize;
            let mut others = left & (left - 1);
            while others != 0 {
                let at = others.trailing_zeros() as usize;
                others &= others - 1;
                let (floor, least) = (floors[at].cost, floors[next].cost);
                let lower = children[at].champion < children[next].champion;
                if floor < least || (floor == least && lower) {
                    next = at;
                }
            }
            left &= !(1 << next);
            let floor = &floors[next];
            if floor.cost > best.cost {
                break;
            }
            let child = &children[next];
            let at = (index << BRANCH_BITS) + next;
            if height == 1 && self.slots >= FAR {
                let first = at << FANOUT_BITS;
                costs.prefetch(first..(first + FANOUT).min(self.slots));
            }
            let per_age = floor.per_age.unwrap_or_else(|| SLACK / costs.age_bound(child.oldest));
            if best.may_improve(child, floor.lightest, per_age, costs) {
                self.descend(height - 1, at, per_age, costs, best);
            }
        }
    }
}

/// Lower bounds of the costs below a node.
#[derive(Clone, Copy)]
struct Floor {
    /// For all candidates.
    cost: f64,
    /// For the lightest candidates.
    lightest: f64,
    /// For each unit of weight, if computed.
    per_age: Option<f64>,
}

impl Floor {
    const NONE: Self = Self { cost: f64::INFINITY, lightest: f64::INFINITY, per_age: None };

    /// The bounds of a node below one with costs of at least `above` per weight.
    #[inline(always)]
    fn of(node: &Node, above: f64, costs: &impl Costs) -> Self {
        if node.weight == 0.0 {
            return Self { cost: 0.0, lightest: 0.0, per_age: None }; // whatever the age, which may be 0 too
        }
        let per_lightest = SLACK / costs.age_bound(node.stamp);
        let lightest = node.weight * per_lightest;
        let mut per_age = (node.oldest == node.stamp).then_some(per_lightest);
        if node.second * above >= lightest {
            return Self { cost: lightest, lightest, per_age };
        }
        let others = per_age.unwrap_or_else(|| SLACK / costs.age_bound(node.oldest));
        per_age = Some(others);
        Self { cost: lightest.min(node.second * others), lightest, per_age }
    }
}

/// Whether a block with this cost and age factor precedes the best one so far: it costs less, or
/// the same with a lower number.
#[inline(always)]
pub(super) fn is_better(
    costs: &impl Costs,
    (block, cost, age): (u32, f64, f64),
    best: Option<(u32, f64, f64)>,
) -> bool {
    let Some((best, least, best_age)) = best else { return true };
    // Neither condition holds for costs that are 0 or infinite, and those are exact.
    if cost < least * SLACK || cost * SLACK > least {
        return cost < least;
    }
    let order = if cost.is_normal() && least.is_normal() {
        costs.order((block, age), (best, best_age))
    } else {
        cost.total_cmp(&least)
    };
    order.is_lt() || order.is_eq() && block < best
}

/// The best candidate found so far.
pub(super) struct Best {
    cost: f64,
    /// Its age factor.
    age: f64,
    pub block: Option<u32>,
    /// The previous best candidate.
    pub runner_up: Option<u32>,
}

impl Best {
    /// Whether a better block may be below `node`, where the lightest blocks cost at least `floor`
    /// and the others at least their weight times `per_age`.
    fn may_improve(&self, node: &Node, floor: f64, per_age: f64, costs: &impl Costs) -> bool {
        let worse = node.second * per_age > self.cost;
        if !worse {
            return true;
        }
        if floor > self.cost {
            return false;
        }
        if floor < self.cost * 0.9 {
            return true;
        }
        // The comparison is close and only the lightest blocks matter. A block with the champion's
        // terms that costs as much as the oldest of them has no lower number than the champion. The
        // exceptions are a weight with several terms, and ages of 0, where every cost is infinite.
        let age = costs.age(node.stamp);
        let least = costs.cost(node.champion, age);
        if least == 0.0 || (node.terms != MIXED && least < f64::INFINITY) {
            let best = self.block.map(|best| (best, self.cost, self.age));
            return is_better(costs, (node.champion, least, age), best);
        }
        least * SLACK <= self.cost
    }

    #[inline(always)]
    fn consider(&mut self, block: u32, age: f64, costs: &impl Costs) {
        let cost = costs.cost(block, age);
        if is_better(costs, (block, cost, age), self.block.map(|best| (best, self.cost, self.age)))
        {
            *self = Self { cost, age, block: Some(block), runner_up: self.block };
        }
    }
}
