//! The lookup table: what is known of every erase block, and the index that finds victims.
//!
//! What always holds: `valid` is the number of logical pages mapped into the block; exactly the
//! closed blocks stand in the index; a block of which no page is garbage is no candidate.

use alloc::{vec, vec::Vec};

use thermocline_flash::{BlockId, prefetch};

use crate::{
    age::{AgeSource, Ages},
    lists::{Lists, Weights},
    ranks::Ranks,
    tree::{Blocks, Costs, NOBODY, Node, Tree},
    victim::Victim,
};

/// What a block is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum State {
    /// Erased, on the free list.
    Free,
    /// Being filled.
    Open,
    /// Full: a candidate as soon as a page of it is garbage.
    Closed,
    /// Full, but set aside: not in the index, for a placement keeps a queue of its own.
    Aside,
    /// Not to be written any more, but holding data that are on their way out, or cannot be read: never
    /// a candidate.
    Condemned,
    /// Not to be used: bad, or holding the layer's own records.
    Unusable,
}

/// What a policy may know of an erase block.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    /// Pages whose data are current.
    pub valid: u32,
    /// Times erased.
    pub erases: u32,
    /// Its leaf in the tree, or its row of lists.
    slot: u32,
    /// The stream it was opened for.
    pub stream: u8,
    /// What it is used for.
    pub state: State,
}

/// All erase blocks of a bank, and the candidates for cleaning among them.
#[derive(Clone, Debug)]
pub struct Candidates {
    table: Table,
    /// Number of the bank's first block; inside, blocks are counted from it.
    first: u32,
    index: Index,
    /// A second index, for policies that sometimes choose otherwise.
    side: Option<(Side, Tree)>,
    /// The closed blocks by slot, for policies that ask for the oldest by number.
    ranks: Option<Ranks>,
    /// The first slot never used; slots are given in the order blocks are opened.
    next_slot: usize,
    /// Whether a block's slot is its number: where ages play no part, order does not matter.
    by_number: bool,
    /// Whether the factor of wear is the placement's to set.
    takes_factor: bool,
    age_source: Option<AgeSource>,
}

/// What finds victims.
#[derive(Clone, Debug)]
enum Index {
    /// For ages that a host write does not change, or changes only while a block is open.
    Tree(Tree),
    /// For ages counted from the last invalidation.
    Lists(Lists),
}

#[derive(Clone, Debug)]
struct Table {
    blocks: Vec<Block>,
    /// The time a block's age counts from, by the policy's age source.
    stamps: Vec<u64>,
    /// Block at each slot, or [`NOBODY`].
    slots: Vec<u32>,
    pages: u32,
    /// Numerator, denominator and quotient of the weight, by number of valid pages.
    ratios: Vec<Ratio>,
    /// The wear factor of each block, or its hot pages; empty where the policy has neither.
    wear: Vec<f64>,
    /// `wear` holds hot pages, which add to the numerator.
    hot: bool,
}

#[derive(Clone, Copy, Debug)]
struct Ratio {
    num: f64,
    den: f64,
    quotient: f64,
    /// The least number of valid pages with this numerator and denominator.
    terms: u32,
}

impl Ratio {
    #[inline(always)]
    fn weight(&self, wear: f64) -> f64 {
        self.num * wear / self.den
    }
}

impl Table {
    #[inline(always)]
    fn weight(&self, block: u32, valid: u32) -> f64 {
        let ratio = &self.ratios[valid as usize];
        // One rounding only, so that equal fractions are equal numbers and ties are ties.
        match self.wear.get(block as usize) {
            None => ratio.quotient,
            Some(&wear) if !self.hot => ratio.weight(wear),
            Some(&hot) => (ratio.num + hot) / ratio.den,
        }
    }

    fn candidate(&self, block: u32) -> Node {
        let valid = self.blocks[block as usize].valid;
        Node {
            weight: self.weight(block, valid),
            oldest: self.stamps[block as usize],
            champion: block,
            terms: self.ratios[valid as usize].terms,
        }
    }

    /// Blocks of a factor of wear with fewer valid pages than this have nothing to pay.
    fn paid_from(&self, wear: f64) -> u32 {
        let ratios = &self.ratios[..self.pages as usize];
        ratios.partition_point(|ratio| ratio.num * wear == 0.0) as u32
    }

    fn cost(&self, block: u32, age: f64) -> f64 {
        let ratio = &self.ratios[self.blocks[block as usize].valid as usize];
        let num = ratio.num * self.wear.get(block as usize).copied().unwrap_or(1.0);
        if num == 0.0 {
            return 0.0; // nothing to copy, or never worn: never mind the age, which may be 0 too
        }
        num / (ratio.den * age)
    }
}

/// What a second index puts first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The least valid pages.
    LeastValid,
    /// The fewest erases.
    LeastErased,
}

impl Table {
    /// The candidate `block` as a second index sees it: no ages, slots in block order.
    fn side_candidate(&self, side: Side, block: u32) -> Node {
        let b = &self.blocks[block as usize];
        let weight = match side {
            _ if b.valid == self.pages => f64::INFINITY,
            Side::LeastValid => f64::from(b.valid),
            Side::LeastErased => f64::from(b.erases),
        };
        Node { weight, oldest: 0, champion: block, terms: 0 }
    }
}

/// The table as a second index sees it.
struct SideView<'a>(&'a Table, Side);

impl Blocks for SideView<'_> {
    fn leaf(&self, slot: usize) -> Option<Node> {
        let closed = self.0.blocks[slot].state == State::Closed;
        closed.then(|| self.0.side_candidate(self.1, slot as u32))
    }
}

impl Blocks for Table {
    fn leaf(&self, slot: usize) -> Option<Node> {
        let block = self.slots[slot];
        let closed = block != NOBODY && self.blocks[block as usize].state == State::Closed;
        closed.then(|| self.candidate(block))
    }
}

/// Costs at a point in time, for searching the index.
struct Aged<'a, T> {
    table: &'a Table,
    ages: &'a T,
    now: u64,
}

impl<T> Blocks for Aged<'_, T> {
    fn leaf(&self, slot: usize) -> Option<Node> {
        self.table.leaf(slot)
    }
}

impl<T: Ages> Costs for Aged<'_, T> {
    fn age(&self, stamp: u64) -> f64 {
        self.ages.factor(self.now.saturating_sub(stamp))
    }
    fn age_bound(&self, stamp: u64) -> f64 {
        self.ages.bound(self.now.saturating_sub(stamp))
    }
    fn cost(&self, block: u32, age: f64) -> f64 {
        self.table.cost(block, age)
    }
    fn stamp(&self, block: u32) -> Option<u64> {
        let b = &self.table.blocks[block as usize];
        let candidate = b.state == State::Closed && b.valid < self.table.pages;
        candidate.then(|| self.table.stamps[block as usize])
    }
}

impl<T: Ages> Weights for Aged<'_, T> {
    fn weight(&self, valid: u32, wear: f64) -> f64 {
        self.table.ratios[valid as usize].weight(wear)
    }
}

impl Candidates {
    /// A table of free blocks with the index that `victim` wants; `pages` data pages a block.
    #[must_use]
    pub fn new(blocks: u32, pages: u32, victim: &(impl Victim + ?Sized)) -> Self {
        Self::of_bank(0, blocks, pages, victim)
    }

    /// The same for a bank whose blocks are numbered from `first`.
    #[must_use]
    pub fn of_bank(first: u32, blocks: u32, pages: u32, victim: &(impl Victim + ?Sized)) -> Self {
        let age_source = victim.age_source();
        let by_number = age_source.is_none();
        let count = blocks as usize;
        let (slots, index) = match age_source {
            Some(AgeSource::LastInvalidation) => (0, Index::Lists(Lists::new(count, pages))),
            None => (count, Index::Tree(Tree::new(count))),
            // Twice as many slots as blocks: closing up happens once per `blocks` openings at most.
            Some(_) => (2 * count.max(8), Index::Tree(Tree::new(2 * count.max(8)))),
        };
        let mut ratios: Vec<Ratio> = Vec::with_capacity(pages as usize + 1);
        for valid in 0..=pages {
            // A block without garbage is no candidate, whatever the policy says of it.
            let (num, den) = if valid == pages { (1.0, 0.0) } else { victim.ratio(valid, pages) };
            let same = ratios.last().filter(|before| (before.num, before.den) == (num, den));
            let terms = same.map_or(valid, |before| before.terms);
            ratios.push(Ratio { num, den, quotient: num / den, terms });
        }
        Self {
            table: Table {
                blocks: vec![
                    Block { valid: 0, erases: 0, slot: 0, stream: 0, state: State::Free };
                    count
                ],
                stamps: vec![0; count],
                slots: vec![NOBODY; slots],
                pages,
                ratios,
                wear: match (victim.weighs_hot(), victim.wear(0)) {
                    (true, _) => vec![0.0; count],
                    (false, Some(_)) => vec![1.0; count],
                    (false, None) => Vec::new(),
                },
                hot: victim.weighs_hot(),
            },
            first,
            index,
            side: victim.side().map(|side| (side, Tree::new(count))),
            ranks: (victim.ranks() && slots > 0).then(|| Ranks::new(slots)),
            next_slot: 0,
            by_number,
            takes_factor: victim.takes_factor(),
            age_source,
        }
    }

    #[inline(always)]
    fn at(&self, block: BlockId) -> usize {
        (block.0 - self.first) as usize
    }

    fn found(&self, block: u32) -> Option<BlockId> {
        (block != NOBODY).then(|| BlockId(self.first + block))
    }

    /// The block number `n` of this bank, counted from 0.
    #[must_use]
    pub fn nth(&self, n: u32) -> BlockId {
        debug_assert!(n < self.len(), "there is no block {n}");
        BlockId(self.first + n)
    }

    /// Number of blocks.
    #[must_use]
    pub fn len(&self) -> u32 {
        self.table.blocks.len() as u32
    }

    /// Whether there are no blocks.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.table.blocks.is_empty()
    }

    /// Data pages in a block.
    #[must_use]
    pub fn pages(&self) -> u32 {
        self.table.pages
    }

    /// A block.
    #[inline(always)]
    #[must_use]
    pub fn block(&self, block: BlockId) -> &Block {
        &self.table.blocks[self.at(block)]
    }

    /// All blocks, in block order.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.table.blocks
    }

    /// The time a block's age counts from, by the policy's age source; 0 where it has none.
    #[must_use]
    pub fn stamp(&self, block: BlockId) -> u64 {
        self.table.stamps[self.at(block)]
    }

    /// Whether a block stands in the index and may be cleaned: closed, and with garbage in it.
    #[must_use]
    pub fn is_candidate(&self, block: BlockId) -> bool {
        let b = self.block(block);
        b.state == State::Closed && b.valid < self.table.pages
    }

    /// Whether a block may be cleaned, be it in the index or set aside.
    #[must_use]
    pub fn has_garbage(&self, block: BlockId) -> bool {
        let b = self.block(block);
        matches!(b.state, State::Closed | State::Aside) && b.valid < self.table.pages
    }

    /// The candidate of least weight, the lowest number among equals. Takes no search, except where
    /// ages count from the last invalidation: then all blocks of that weight are looked at.
    #[must_use]
    pub fn lightest(&self) -> Option<BlockId> {
        let block = match &self.index {
            Index::Tree(tree) if tree.root().weight < f64::INFINITY => tree.root().champion,
            Index::Tree(_) => NOBODY,
            Index::Lists(lists) => {
                lists.lightest(|valid, wear| self.table.ratios[valid as usize].weight(wear))
            }
        };
        self.found(block)
    }

    /// The candidate of least weight, the lowest number among equals, of the first `window` closed
    /// blocks in the order of opening; `None` if none of them has garbage, and for policies without
    /// [`Victim::ranks`]. Looks at a node and its siblings on each level of the index.
    #[must_use]
    pub fn lightest_of_oldest(&self, window: u32) -> Option<BlockId> {
        let (Index::Tree(tree), Some(ranks)) = (&self.index, &self.ranks) else { return None };
        let best = tree.lightest_before(ranks.end_of_first(window), &self.table);
        if best.weight < f64::INFINITY { self.found(best.champion) } else { None }
    }

    /// The candidate that the second index puts first, the lowest number among equals; `None` for
    /// policies without one.
    #[must_use]
    pub fn by_side(&self) -> Option<BlockId> {
        let (_, tree) = self.side.as_ref()?;
        if tree.root().weight < f64::INFINITY { self.found(tree.root().champion) } else { None }
    }

    /// The candidate of least `ratio · wear / age(now − stamp)`, the lowest number among equals.
    pub fn cheapest(&mut self, now: u64, ages: &impl Ages) -> Option<BlockId> {
        let costs = Aged { table: &self.table, ages, now };
        let block = match &mut self.index {
            Index::Tree(tree) => tree.search(&costs),
            Index::Lists(lists) => lists.search(&costs, &self.table.stamps),
        };
        self.found(block)
    }

    /// Takes a closed block out of the index: the placement will name it itself when its turn
    /// comes.
    pub fn set_aside(&mut self, block: BlockId) {
        let at = self.at(block);
        debug_assert_eq!(self.table.blocks[at].state, State::Closed, "{block:?} is set aside");
        self.table.blocks[at].state = State::Aside;
        self.leave(at);
    }

    /// Puts a block that was set aside back into the index.
    pub fn readmit(&mut self, block: BlockId) {
        let at = self.at(block);
        debug_assert_eq!(self.table.blocks[at].state, State::Aside, "{block:?} is readmitted");
        self.table.blocks[at].state = State::Closed;
        self.enter(block);
    }

    /// Sets the factor of wear of a block that is being closed, or closed, for policies whose
    /// [`Victim::wear`] is a factor of another kind; the others keep [theirs](Victim::takes_factor).
    /// It may be set anew as often as it changes, where ages do not count from the last
    /// invalidation.
    pub fn set_factor(&mut self, block: BlockId, factor: f64) {
        let at = self.at(block);
        if !self.takes_factor {
            return;
        }
        let Some(own) = self.table.wear.get_mut(at) else { return };
        *own = factor;
        let b = &self.table.blocks[at];
        if b.state == State::Closed
            && let Index::Tree(tree) = &mut self.index
        {
            tree.refresh(b.slot as usize, &self.table);
        }
    }

    /// Hot pages of a block, where the policy weighs them.
    #[must_use]
    pub fn hot(&self, block: BlockId) -> Option<u32> {
        self.table.hot.then(|| self.table.wear[self.at(block)] as u32)
    }

    /// `by` more pages of a block are hot, or fewer.
    pub fn warm(&mut self, block: BlockId, by: i32) {
        if !self.table.hot {
            return;
        }
        let at = self.at(block);
        self.table.wear[at] += f64::from(by);
        let Block { valid, slot, state, .. } = self.table.blocks[at];
        if state == State::Closed
            && let Index::Tree(tree) = &mut self.index
        {
            if by < 0 {
                let weight = self.table.weight(at as u32, valid);
                let terms = self.table.ratios[valid as usize].terms;
                tree.improve(slot as usize, weight, at as u32, terms);
            } else {
                tree.refresh(slot as usize, &self.table);
            }
        }
    }

    /// Asks for the cache lines that invalidating a page of `block` will need.
    #[inline(always)]
    pub fn prefetch(&self, block: BlockId) {
        prefetch(&self.table.blocks, self.at(block));
    }

    // What follows is for the translation layer; policies see a shared reference.

    /// Takes a block out of use for good.
    pub fn retire(&mut self, block: BlockId) {
        let at = self.at(block);
        self.table.blocks[at].state = State::Unusable;
    }

    /// Sets a block's erase count, as read from the chip.
    pub fn set_erases(&mut self, block: BlockId, erases: u32) {
        let at = self.at(block);
        self.table.blocks[at].erases = erases;
    }

    /// A free block is opened for `stream`; its age counts from `stamp`.
    pub fn open(&mut self, block: BlockId, stream: u8, stamp: u64) {
        let at = self.at(block);
        let slot = match self.index {
            Index::Tree(_) => self.take_slot(at),
            Index::Lists(_) => 0, // its row is told when it closes
        };
        self.table.stamps[at] =
            if self.age_source == Some(AgeSource::Youngest) { 0 } else { stamp };
        let b = &mut self.table.blocks[at];
        debug_assert_eq!(b.state, State::Free, "{block:?} is opened");
        (b.valid, b.slot, b.stream, b.state) = (0, slot as u32, stream, State::Open);
    }

    /// A free block turns out to hold data: it is open, with so many valid pages, and its age counts
    /// from `stamp`, whatever ages count from. Blocks are told in the order in which they were opened.
    pub fn recovered(&mut self, block: BlockId, stream: u8, valid: u32, stamp: u64) {
        self.open(block, stream, stamp);
        let at = self.at(block);
        self.table.blocks[at].valid = valid;
        self.table.stamps[at] = stamp;
    }

    /// A page of an open block was programmed by the host.
    #[inline(always)]
    pub fn wrote(&mut self, block: BlockId, now: u64) {
        let at = self.at(block);
        self.table.blocks[at].valid += 1;
        if matches!(self.age_source, Some(AgeSource::Youngest | AgeSource::Closed)) {
            self.table.stamps[at] = now;
        }
    }

    /// Pages of an open block were filled with survivors of `victim`. No pages: no block needed.
    pub fn copied(&mut self, block: BlockId, pages: u32, victim: BlockId, now: u64) {
        if pages == 0 {
            return;
        }
        let at = self.at(block);
        self.table.blocks[at].valid += pages;
        match self.age_source {
            Some(AgeSource::Youngest) => {
                let stamp = self.table.stamps[self.at(victim)];
                let own = &mut self.table.stamps[at];
                *own = stamp.max(*own);
            }
            Some(AgeSource::Closed) => self.table.stamps[at] = now,
            _ => {}
        }
    }

    /// An open block is full: its factor of wear is set, and its placement may set it otherwise
    /// before it [enters](Self::closed) the index.
    pub fn close(&mut self, block: BlockId, victim: &(impl Victim + ?Sized)) {
        self.closing(block, victim);
        self.closed(block);
    }

    /// The first half of [`close`](Self::close).
    pub fn closing(&mut self, block: BlockId, victim: &(impl Victim + ?Sized)) {
        let at = self.at(block);
        let erases = self.table.blocks[at].erases;
        if self.table.hot {
            return;
        }
        if let Some(factor) = self.table.wear.get_mut(at) {
            *factor = victim.wear(erases).unwrap_or(1.0);
        }
    }

    /// The second half of [`close`](Self::close).
    pub fn closed(&mut self, block: BlockId) {
        let at = self.at(block);
        debug_assert_eq!(self.table.blocks[at].state, State::Open, "{block:?} is closed");
        self.table.blocks[at].state = State::Closed;
        self.enter(block);
    }

    /// A closed block enters the index.
    fn enter(&mut self, block: BlockId) {
        let at = self.at(block);
        let (slot, erases) = (self.table.blocks[at].slot as usize, self.table.blocks[at].erases);
        match &mut self.index {
            Index::Tree(tree) => {
                tree.insert(slot, &self.table.candidate(at as u32));
                if let Some(ranks) = &mut self.ranks {
                    ranks.insert(slot);
                }
            }
            Index::Lists(lists) => {
                let wear = self.table.wear.get(at).copied();
                let row = lists.enter_row(
                    wear.map_or(0, |_| erases),
                    wear.unwrap_or(1.0),
                    self.table.paid_from(wear.unwrap_or(1.0)),
                );
                let b = &mut self.table.blocks[at];
                b.slot = row;
                lists.insert(at as u32, row, b.valid, &self.table.stamps);
            }
        }
        if let Some((side, tree)) = &mut self.side {
            tree.insert(at, &self.table.side_candidate(*side, at as u32));
        }
    }

    /// A block leaves the index; its state has changed already, its valid count has not.
    fn leave(&mut self, at: usize) {
        let (slot, valid) = (self.table.blocks[at].slot as usize, self.table.blocks[at].valid);
        match &mut self.index {
            Index::Tree(tree) => {
                tree.refresh(slot, &self.table);
                if let Some(ranks) = &mut self.ranks {
                    ranks.remove(slot);
                }
            }
            Index::Lists(lists) => {
                lists.withdraw(at as u32, slot as u32, valid, &self.table.stamps);
            }
        }
        if let Some((side, tree)) = &mut self.side {
            tree.refresh(at, &SideView(&self.table, *side));
        }
    }

    /// A page of `block` is no longer current.
    #[inline(always)]
    pub fn invalidate(&mut self, block: BlockId, now: u64) {
        let at = self.at(block);
        let b = &mut self.table.blocks[at];
        b.valid -= 1;
        let (valid, slot, state) = (b.valid, b.slot as usize, b.state);
        match &mut self.index {
            Index::Tree(tree) => {
                if state == State::Closed {
                    let weight = self.table.weight(at as u32, valid);
                    let terms = self.table.ratios[valid as usize].terms;
                    tree.improve(slot, weight, at as u32, terms);
                }
            }
            Index::Lists(lists) => {
                self.table.stamps[at] = now;
                if state == State::Closed {
                    lists.fell(at as u32, slot as u32, valid, &self.table.stamps);
                }
            }
        }
        if let Some((side, tree)) = &mut self.side
            && state == State::Closed
        {
            let node = self.table.side_candidate(*side, at as u32);
            tree.improve(at, node.weight, at as u32, node.terms);
        }
    }

    /// A page of `block` that was [invalidated](Self::invalidate) is current after all: it was garbage
    /// by inference only, and its block was not erased since. A block's age since its last
    /// invalidation begins anew, for what is valid in it has changed again.
    pub fn revalidate(&mut self, block: BlockId, now: u64) {
        let at = self.at(block);
        let b = &mut self.table.blocks[at];
        debug_assert!(
            !matches!(b.state, State::Free | State::Unusable) && b.valid < self.table.pages,
            "{block:?} holds garbage"
        );
        b.valid += 1;
        let Block { valid, slot, state, .. } = *b;
        if let Index::Lists(_) = self.index {
            self.table.stamps[at] = now;
        }
        if state != State::Closed {
            return;
        }
        match &mut self.index {
            Index::Tree(tree) => tree.refresh(slot as usize, &self.table),
            Index::Lists(lists) => lists.rose(at as u32, slot, valid, &self.table.stamps),
        }
        if let Some((side, tree)) = &mut self.side {
            tree.refresh(at, &SideView(&self.table, *side));
        }
    }

    /// A full block leaves the index for good: it is not cleaned, but emptied by other means, and
    /// [withdrawn](Self::withdraw) then.
    pub fn condemn(&mut self, block: BlockId) {
        let at = self.at(block);
        let state = core::mem::replace(&mut self.table.blocks[at].state, State::Condemned);
        debug_assert!(matches!(state, State::Closed | State::Aside), "{block:?} is condemned");
        if state == State::Closed {
            self.leave(at);
        }
    }

    /// A closed block's pages have all been moved: it is no candidate any more.
    pub fn withdraw(&mut self, block: BlockId) {
        let at = self.at(block);
        let state = core::mem::replace(&mut self.table.blocks[at].state, State::Unusable);
        debug_assert!(
            matches!(state, State::Closed | State::Aside | State::Condemned),
            "{block:?} is withdrawn"
        );
        if state == State::Closed {
            self.leave(at);
        }
        self.table.blocks[at].valid = 0;
        if self.table.hot {
            self.table.wear[at] = 0.0;
        }
        if let Index::Tree(_) = self.index {
            self.table.slots[self.table.blocks[at].slot as usize] = NOBODY;
        }
    }

    /// A withdrawn block was erased and is free.
    pub fn erased(&mut self, block: BlockId) {
        let at = self.at(block);
        let b = &mut self.table.blocks[at];
        debug_assert_eq!(b.state, State::Unusable, "{block:?} is freed");
        b.state = State::Free;
        b.erases += 1;
    }

    fn take_slot(&mut self, at: usize) -> usize {
        let slot = if self.by_number {
            at
        } else {
            if self.next_slot == self.table.slots.len() {
                self.close_up();
            }
            self.next_slot += 1;
            self.next_slot - 1
        };
        self.table.slots[slot] = at as u32;
        slot
    }

    /// Moves all blocks to the front slots in order; once per as many openings as there are blocks.
    fn close_up(&mut self) {
        let mut to = 0;
        for from in 0..self.table.slots.len() {
            let block = self.table.slots[from];
            if block != NOBODY {
                self.table.slots[to] = block;
                self.table.blocks[block as usize].slot = to as u32;
                to += 1;
            }
        }
        self.table.slots[to..].fill(NOBODY);
        self.next_slot = to;
        let Index::Tree(tree) = &mut self.index else { return };
        tree.clear();
        if let Some(ranks) = &mut self.ranks {
            ranks.clear();
        }
        for slot in 0..to {
            if let Some(candidate) = self.table.leaf(slot) {
                tree.insert(slot, &candidate);
                if let Some(ranks) = &mut self.ranks {
                    ranks.insert(slot);
                }
            }
        }
    }
}
