//! The read-only view of a bank's erase blocks for policies.

use thermocline_flash::{BlockId, prefetch};

use crate::age::Ages;

use super::{
    columns::{Block, Columns, Side, State},
    lists::Lists,
    ranks::Ranks,
    tree::{NO_BLOCK, Tree},
};

/// The erase blocks of a bank and the candidates for cleaning among them, to be read only: a policy
/// looks and decides, and the translation layer, which owns the [table](crate::BlockTable), acts.
///
/// ```
/// use thermocline_flash::BlockId;
/// use thermocline_policy::{BlockView, victim::Victim};
///
/// struct Lightest;
///
/// impl Victim for Lightest {
///     fn choose(&mut self, blocks: &BlockView, _now: u64) -> Option<BlockId> {
///         let block = blocks.lightest()?;
///         Some(block)
///     }
///     fn ratio(&self, valid: u32, _pages: u32) -> (f64, f64) {
///         (f64::from(valid), 1.0)
///     }
/// }
/// ```
///
/// A policy that changes the table does not compile:
///
/// ```compile_fail,E0599
/// use thermocline_flash::BlockId;
/// use thermocline_policy::{BlockView, victim::Victim};
///
/// struct Lightest;
///
/// impl Victim for Lightest {
///     fn choose(&mut self, blocks: &BlockView, _now: u64) -> Option<BlockId> {
///         let block = blocks.lightest()?;
///         blocks.withdraw(block); // a method of the table
///         Some(block)
///     }
///     fn ratio(&self, valid: u32, _pages: u32) -> (f64, f64) {
///         (f64::from(valid), 1.0)
///     }
/// }
/// ```
///
/// Nor does one that asks for more than it is shown:
///
/// ```compile_fail,E0053
/// use thermocline_flash::BlockId;
/// use thermocline_policy::{BlockTable, victim::Victim};
///
/// struct Lightest;
///
/// impl Victim for Lightest {
///     fn choose(&mut self, blocks: &mut BlockTable, _now: u64) -> Option<BlockId> {
///         let block = blocks.lightest()?;
///         blocks.withdraw(block);
///         Some(block)
///     }
///     fn ratio(&self, valid: u32, _pages: u32) -> (f64, f64) {
///         (f64::from(valid), 1.0)
///     }
/// }
/// ```
#[derive(Clone, Debug)]
pub struct BlockView {
    pub(super) columns: Columns,
    /// Number of the bank's first block. Internally, blocks are counted from it.
    pub(super) first: u32,
    pub(super) index: Index,
    /// A second index, for policies with a second rule.
    pub(super) side: Option<(Side, Tree)>,
    /// The closed blocks by slot, for policies that ask for the n oldest.
    pub(super) ranks: Option<Ranks>,
}

/// The victim index.
#[derive(Clone, Debug)]
pub(super) enum Index {
    /// For ages that a host write changes at most while a block is open.
    Tree(Tree),
    /// For ages counted from the last invalidation.
    Lists(Lists),
}

impl BlockView {
    #[inline(always)]
    pub(super) fn at(&self, block: BlockId) -> usize {
        (block.0 - self.first) as usize
    }

    /// Block number `n` of this bank, counted from 0.
    #[must_use]
    pub fn nth(&self, n: u32) -> BlockId {
        debug_assert!(n < self.len(), "there is no block {n}");
        BlockId(self.first + n)
    }

    /// Number of blocks.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.columns.blocks.len() as u32
    }

    /// Whether there are no blocks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.columns.blocks.is_empty()
    }

    /// Data pages in a block.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.columns.pages
    }

    /// A block.
    #[inline(always)]
    #[must_use]
    pub fn block(&self, block: BlockId) -> &Block {
        &self.columns.blocks[self.at(block)]
    }

    /// Prefetches a block.
    #[inline(always)]
    pub fn prefetch(&self, block: BlockId) {
        prefetch(&self.columns.blocks, self.at(block));
    }

    /// Prefetches what setting a block's factor needs.
    #[inline(always)]
    pub(crate) fn prefetch_factor(&self, block: BlockId) {
        let at = self.at(block);
        self.prefetch(block);
        self.columns.costs.prefetch(at);
        if let Index::Tree(tree) = &self.index {
            tree.prefetch(at);
        }
    }

    /// All blocks, in block order.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.columns.blocks
    }

    /// The time from which a block's age counts, by the policy's age source; 0 without one.
    #[must_use]
    pub fn stamp(&self, block: BlockId) -> u64 {
        self.columns.stamps[self.at(block)]
    }

    /// The stamps of all blocks, in block order.
    #[must_use]
    pub fn stamps(&self) -> &[u64] {
        &self.columns.stamps
    }

    /// Hot pages of a block, if the policy counts them.
    #[must_use]
    pub fn hot(&self, block: BlockId) -> Option<u32> {
        self.columns.costs.factor.hot_pages_of(self.at(block))
    }

    /// Whether a block is in the index and may be cleaned: closed, with garbage.
    #[must_use]
    pub fn is_candidate(&self, block: BlockId) -> bool {
        let b = self.block(block);
        b.state == State::Closed && b.valid < self.pages()
    }

    /// Whether a block may be cleaned, in the index or set aside.
    #[must_use]
    pub fn has_garbage(&self, block: BlockId) -> bool {
        let b = self.block(block);
        matches!(b.state, State::Closed | State::Aside) && b.valid < self.pages()
    }

    /// The cost of a candidate, `ratio · factor / age(now − stamp)`, as computed by
    /// [`Search`](crate::Search); `None` if the block is not a candidate.
    #[must_use]
    pub fn cost(&self, block: BlockId, now: u64, ages: &(impl Ages + ?Sized)) -> Option<f64> {
        let (at, columns) = (self.at(block), &self.columns);
        let age = ages.factor(now.saturating_sub(columns.stamps[at]));
        self.is_candidate(block)
            .then(|| columns.costs.cost(at as u32, columns.blocks[at].valid, age))
    }

    /// The candidate with the least weight, the lowest number among equals. Takes no search, except
    /// where ages count from the last invalidation: then all blocks of that weight are visited.
    #[must_use]
    pub fn lightest(&self) -> Option<BlockId> {
        match &self.index {
            Index::Tree(tree) => self.champion(tree),
            Index::Lists(lists) => {
                let costs = &self.columns.costs;
                let block = lists.lightest(|valid, wear| costs.weight_by_wear(valid, wear));
                (block != NO_BLOCK).then(|| self.nth(block))
            }
        }
    }

    /// The candidate with the least weight, the lowest number among equals, of the first `window`
    /// closed blocks in the order of opening. `None` if none of them has garbage, and for policies
    /// without [`Victim::ranks`](crate::victim::Victim::ranks). Visits a node and its siblings on
    /// each level of the index.
    #[must_use]
    pub fn lightest_of_oldest(&self, window: u32) -> Option<BlockId> {
        let (Index::Tree(tree), Some(ranks)) = (&self.index, &self.ranks) else { return None };
        let best = tree.lightest_before(ranks.end_of_first(window), &self.columns);
        (best.weight < f64::INFINITY).then(|| self.nth(best.champion))
    }

    /// The first candidate of the second index, the lowest number among equals; `None` for policies
    /// without one.
    #[must_use]
    pub fn by_side(&self) -> Option<BlockId> {
        self.side.as_ref().and_then(|(_, tree)| self.champion(tree))
    }

    fn champion(&self, tree: &Tree) -> Option<BlockId> {
        let root = tree.root();
        (root.weight < f64::INFINITY).then(|| self.nth(root.champion))
    }
}
