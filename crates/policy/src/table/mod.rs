//! The table of erase blocks, with the index that finds victims.
//!
//! The translation layer owns the table, and only the layer changes it. Policies see a
//! [`BlockView`].
//!
//! Invariants: `valid` is the number of logical pages mapped into the block. The index holds
//! exactly the closed blocks. A block without garbage is not a candidate.

use alloc::vec;
use core::ops::Deref;

use thermocline_flash::BlockId;

use crate::{
    age::AgeSource,
    placement::{Choice, Entry, Streams},
    victim::{Factor, Victim},
};

mod columns;
mod costs;
mod lists;
mod order;
mod ranks;
mod search;
mod tree;
mod view;
mod writes;

pub use columns::{Block, Side, State};
pub use search::Search;
pub use view::BlockView;
pub use writes::Writes;

use columns::{Columns, SideLeaves};
use costs::{Costs, Factors};
use lists::Lists;
use order::Order;
use ranks::Ranks;
use tree::{Leaves, NO_BLOCK, Tree};
use view::Index;

/// All erase blocks of a bank. Read access is through the [view](BlockView), to which the table
/// dereferences.
#[derive(Clone, Debug)]
pub struct BlockTable {
    view: BlockView,
    /// The next unused slot, where ages count from a block's opening. Slots are assigned in that
    /// order.
    next_slot: usize,
    /// Assigns slots when blocks close, where stamps change until then.
    order: Option<Order>,
    /// Whether a block's slot is its number, which suffices without ages.
    by_number: bool,
    /// Whether the placement sets the factor of wear.
    takes_factor: bool,
    age_source: Option<AgeSource>,
    /// Whether a host write sets the time from which its block's age counts.
    stamps_writes: bool,
}

impl Deref for BlockTable {
    type Target = BlockView;

    #[inline(always)]
    fn deref(&self) -> &BlockView {
        &self.view
    }
}

impl BlockTable {
    /// A table of free blocks with the index that `victim` needs. `pages` is the number of data
    /// pages in a block.
    #[must_use]
    pub fn new(blocks: u32, pages: u32, victim: &(impl Victim + ?Sized)) -> Self {
        Self::of_bank(0, blocks, pages, victim)
    }

    /// A table for a bank whose first block is `first`.
    #[must_use]
    pub fn of_bank(first: u32, blocks: u32, pages: u32, victim: &(impl Victim + ?Sized)) -> Self {
        let age_source = victim.age_source();
        let count = blocks as usize;
        let (slots, index) = match age_source {
            Some(AgeSource::LastInvalidation) => (0, Index::Lists(Lists::new(count, pages))),
            None => (count, Index::Tree(Tree::new(count, false))),
            // Twice as many slots as blocks, so that slots are compacted at most once per `blocks`
            // openings.
            Some(AgeSource::Created) => {
                (2 * count.max(8), Index::Tree(Tree::new(2 * count.max(8), true)))
            }
            Some(AgeSource::Youngest | AgeSource::Closed) => {
                (Order::slots(count), Index::Tree(Tree::new(Order::slots(count), true)))
            }
        };
        let stamps_writes = matches!(age_source, Some(AgeSource::Youngest | AgeSource::Closed));
        let factor = match victim.factor(0) {
            Factor::None => Factors::None,
            Factor::Wear(_) | Factor::Placement => Factors::wear(count),
            Factor::HotPages => Factors::hot_pages(count),
        };
        let free = Block { valid: 0, erases: 0, slot: 0, stream: 0, state: State::Free };
        Self {
            view: BlockView {
                columns: Columns {
                    blocks: vec![free; count],
                    stamps: vec![0; count],
                    slots: vec![NO_BLOCK; slots],
                    pages,
                    costs: Costs::new(pages, |valid| victim.ratio(valid, pages), factor),
                },
                first,
                index,
                side: victim.side().map(|side| (side, Tree::new(count, false))),
                ranks: (victim.ranks() && age_source == Some(AgeSource::Created))
                    .then(|| Ranks::new(slots)),
            },
            next_slot: 0,
            order: stamps_writes.then(Order::new),
            by_number: age_source.is_none(),
            takes_factor: victim.factor(0) == Factor::Placement,
            age_source,
            stamps_writes,
        }
    }

    /// The block to clean: the placement's choice, or the victim policy's if the placement leaves
    /// the choice to it. First carries out the changes that the placement requests.
    pub fn choose(
        &mut self,
        bank: u32,
        placement: &mut dyn Streams,
        victim: &mut (impl Victim + ?Sized),
        now: u64,
    ) -> Option<BlockId> {
        let Some(own) = placement.own_victims() else { return victim.choose(self, now) };
        loop {
            match own.choose(bank, self, now) {
                Choice::Clean(block) => return Some(block),
                Choice::Readmit(block) => self.readmit(block),
                Choice::Weigh(block, factor) => self.set_factor(block, factor),
                Choice::Victim => break,
            }
        }
        victim.choose(self, now).or_else(|| own.fallback(bank, self))
    }

    /// Takes a block out of use permanently.
    pub fn retire(&mut self, block: BlockId) {
        self.block_mut(block).state = State::Unusable;
    }

    /// Sets a block's erase count, as read from the chip.
    pub fn set_erases(&mut self, block: BlockId, erases: u32) {
        self.block_mut(block).erases = erases;
    }

    /// Opens a free block for `stream`, with its age counting from `stamp`.
    pub fn open(&mut self, block: BlockId, stream: u8, stamp: u64) {
        let at = self.at(block);
        let slot = match self.view.index {
            Index::Tree(_) if self.order.is_none() => self.take_slot(at),
            _ => 0, // its slot or row is known when it closes
        };
        self.view.columns.stamps[at] =
            if self.age_source == Some(AgeSource::Youngest) { 0 } else { stamp };
        let b = &mut self.view.columns.blocks[at];
        debug_assert_eq!(b.state, State::Free, "{block:?} is opened");
        (b.valid, b.slot, b.stream, b.state) = (0, slot as u32, stream, State::Open);
    }

    /// Marks a free block that turned out to hold data as open, with this number of valid pages and
    /// an age that counts from `stamp`, whatever the age source. Called in the order in which the
    /// blocks were opened.
    pub fn recovered(&mut self, block: BlockId, stream: u8, valid: u32, stamp: u64) {
        self.open(block, stream, stamp);
        let at = self.at(block);
        self.view.columns.blocks[at].valid = valid;
        self.view.columns.stamps[at] = stamp;
    }

    /// Whether a block's age counts from the youngest data in it.
    #[inline(always)]
    #[must_use]
    pub fn ages_by_data(&self) -> bool {
        self.age_source == Some(AgeSource::Youngest)
    }

    /// Pages of an open block were filled with survivors. `youngest` is an upper bound of their
    /// last host writes. With no pages, `block` is ignored.
    pub fn copied(&mut self, block: BlockId, pages: u32, youngest: u64, now: u64) {
        if pages == 0 {
            return;
        }
        let at = self.at(block);
        let source = self.age_source;
        let Columns { blocks, stamps, .. } = &mut self.view.columns;
        blocks[at].valid += pages;
        match source {
            Some(AgeSource::Youngest) => stamps[at] = stamps[at].max(youngest),
            Some(AgeSource::Closed) => stamps[at] = now,
            _ => {}
        }
    }

    /// Pages of a block that is being emptied were copied elsewhere.
    #[inline(always)]
    pub fn moved_out(&mut self, block: BlockId, pages: u32, now: u64) {
        let at = self.at(block);
        let BlockView { columns: Columns { blocks, stamps, .. }, index, .. } = &mut self.view;
        debug_assert_eq!(blocks[at].state, State::Emptying, "{block:?} is emptied");
        blocks[at].valid -= pages;
        if matches!(index, Index::Lists(_)) {
            stamps[at] = now;
        }
    }

    /// Closes an open block that is full: sets its factor of wear and enters it into the index as
    /// its placement requests.
    pub fn close(&mut self, block: BlockId, victim: &(impl Victim + ?Sized), entry: Entry) {
        let at = self.at(block);
        let BlockView { columns, index, .. } = &mut self.view;
        if let (Some(order), Index::Tree(tree)) = (&mut self.order, index) {
            order.insert(at as u32, columns, tree);
        }
        let Columns { blocks, costs, .. } = columns;
        let b = &mut blocks[at];
        debug_assert_eq!(b.state, State::Open, "{block:?} is closed");
        if let Factors::Wear(wear) = &mut costs.factor {
            wear[at] = match entry {
                Entry::Weighed(factor) if self.takes_factor => factor,
                _ => match victim.factor(b.erases) {
                    Factor::Wear(factor) => factor,
                    _ => 1.0,
                },
            };
        }
        if entry == Entry::Aside {
            b.state = State::Aside;
        } else {
            b.state = State::Closed;
            self.enter(at);
        }
    }

    /// The cleaning of a full block was interrupted. The block is full as before, and enters the
    /// index again as its placement requests.
    pub fn reenter(&mut self, block: BlockId, entry: Entry) {
        match (self.block(block).state, entry) {
            (State::Closed, Entry::Aside) => self.set_aside(block),
            (State::Aside, Entry::Indexed | Entry::Weighed(_)) => self.readmit(block),
            (State::Emptying, Entry::Aside) => self.block_mut(block).state = State::Aside,
            (State::Emptying, Entry::Indexed | Entry::Weighed(_)) => {
                self.block_mut(block).state = State::Closed;
                let at = self.at(block);
                self.enter(at);
            }
            _ => {}
        }
        if let Entry::Weighed(factor) = entry {
            self.set_factor(block, factor);
        }
    }

    /// Takes a closed block out of the index, so that its placement chooses it, or it is cleaned
    /// with others.
    pub fn set_aside(&mut self, block: BlockId) {
        let at = self.at(block);
        debug_assert_eq!(self.block(block).state, State::Closed, "{block:?} is set aside");
        self.view.columns.blocks[at].state = State::Aside;
        self.leave(at);
    }

    /// Sets a free block aside: it is lent.
    pub fn lend(&mut self, block: BlockId) {
        debug_assert_eq!(self.block(block).state, State::Free, "{block:?} is lent");
        self.block_mut(block).state = State::Aside;
    }

    /// Takes back a lent block as free, with its present erase count.
    pub fn take_back(&mut self, block: BlockId, erases: u32) {
        debug_assert_eq!(self.block(block).state, State::Aside, "{block:?} comes back");
        let block = self.block_mut(block);
        (block.state, block.erases) = (State::Free, erases);
    }

    /// Puts a block that was set aside back into the index.
    pub fn readmit(&mut self, block: BlockId) {
        let at = self.at(block);
        debug_assert_eq!(self.block(block).state, State::Aside, "{block:?} is readmitted");
        self.view.columns.blocks[at].state = State::Closed;
        self.enter(at);
    }

    /// Sets the factor of a full block, for policies whose [factor](Victim::factor) is the
    /// placement's. Other policies keep their own. It may be set any number of times, except where ages count from the last invalidation.
    pub fn set_factor(&mut self, block: BlockId, factor: f64) {
        let at = self.at(block);
        let BlockView { columns, index, .. } = &mut self.view;
        let Block { valid, slot, state, .. } = columns.blocks[at];
        let before = columns.costs.weight(at as u32, valid);
        let Factors::Wear(wear) = &mut columns.costs.factor else { return };
        if !self.takes_factor {
            return;
        }
        wear[at] = factor;
        if state == State::Closed
            && let Index::Tree(tree) = index
        {
            tree.reweigh(slot as usize, before, &columns.node(at as u32), columns);
        }
    }

    /// Adds `by` to the number of hot pages of a block.
    pub fn warm(&mut self, block: BlockId, by: i32) {
        let at = self.at(block);
        let Factors::HotPages(hot) = &mut self.view.columns.costs.factor else { return };
        debug_assert!(
            hot[at].checked_add_signed(by).is_some(),
            "{block:?} has {} hot pages",
            hot[at]
        );
        hot[at] = hot[at].wrapping_add_signed(by);
        if by > 0 {
            self.refresh(at);
            return;
        }
        let BlockView { columns, index, .. } = &mut self.view;
        let Block { valid, slot, state, .. } = columns.blocks[at];
        if state == State::Closed
            && let Index::Tree(tree) = index
        {
            let (weight, terms) =
                (columns.costs.weight(at as u32, valid), columns.costs.terms(valid));
            tree.improve(slot as usize, weight, at as u32, terms, || columns.stamps[at]);
        }
    }

    /// Makes an [invalidated](Self::invalidate) page of `block` valid again. It was only inferred
    /// to be garbage, and its block was not erased since. An age since the last invalidation
    /// restarts, because the valid pages have changed again.
    pub fn revalidate(&mut self, block: BlockId, now: u64) {
        let at = self.at(block);
        let BlockView { columns, index, side, .. } = &mut self.view;
        let b = &mut columns.blocks[at];
        debug_assert!(
            !matches!(b.state, State::Free | State::Unusable) && b.valid < columns.pages,
            "{block:?} holds garbage"
        );
        b.valid += 1;
        let Block { valid, slot, state, .. } = *b;
        if let Index::Lists(_) = index {
            columns.stamps[at] = now;
        }
        if state != State::Closed {
            return;
        }
        match index {
            Index::Tree(tree) => tree.refresh(slot as usize, columns),
            Index::Lists(lists) => lists.rose(at as u32, slot, valid, &columns.stamps),
        }
        if let Some((side, tree)) = side {
            tree.refresh(at, &SideLeaves(columns, *side));
        }
    }

    /// Begins the cleaning of a full block in steps. It leaves the index, and is later
    /// [withdrawn](Self::withdraw) when its survivors have moved, or [re-entered](Self::reenter).
    pub fn begin_emptying(&mut self, block: BlockId) {
        let at = self.at(block);
        let state = core::mem::replace(&mut self.block_mut(block).state, State::Emptying);
        debug_assert!(matches!(state, State::Closed | State::Aside), "{block:?} is a victim");
        if state == State::Closed {
            self.leave(at);
        }
    }

    /// Takes a full block out of the index permanently. It is emptied by other means than cleaning,
    /// and then [withdrawn](Self::withdraw).
    pub fn condemn(&mut self, block: BlockId) {
        let at = self.at(block);
        let state = core::mem::replace(&mut self.block_mut(block).state, State::Condemned);
        debug_assert!(
            matches!(state, State::Closed | State::Aside | State::Emptying),
            "{block:?} is condemned"
        );
        if state == State::Closed {
            self.leave(at);
        }
    }

    /// Withdraws a full block whose pages have all been moved. It is no longer a candidate.
    pub fn withdraw(&mut self, block: BlockId) {
        let at = self.at(block);
        let state = core::mem::replace(&mut self.block_mut(block).state, State::Unusable);
        debug_assert!(
            matches!(state, State::Closed | State::Aside | State::Emptying | State::Condemned),
            "{block:?} is withdrawn"
        );
        if state == State::Closed {
            self.leave(at);
        }
        let BlockView { columns, index, .. } = &mut self.view;
        columns.blocks[at].valid = 0;
        if let Factors::HotPages(hot) = &mut columns.costs.factor {
            hot[at] = 0;
        }
        if let Index::Tree(_) = index {
            columns.slots[columns.blocks[at].slot as usize] = NO_BLOCK;
        }
    }

    /// Marks a withdrawn block as erased and free.
    pub fn erased(&mut self, block: BlockId) {
        let b = self.block_mut(block);
        debug_assert_eq!(b.state, State::Unusable, "{block:?} is freed");
        b.state = State::Free;
        b.erases += 1;
    }

    fn block_mut(&mut self, block: BlockId) -> &mut Block {
        let at = self.at(block);
        &mut self.view.columns.blocks[at]
    }

    /// Enters a closed block into the index.
    fn enter(&mut self, at: usize) {
        let BlockView { columns, index, side, ranks, .. } = &mut self.view;
        let Block { slot, erases, valid, .. } = columns.blocks[at];
        match index {
            Index::Tree(tree) => {
                tree.insert(slot as usize, &columns.node(at as u32));
                if let Some(ranks) = ranks {
                    ranks.insert(slot as usize);
                }
            }
            Index::Lists(lists) => {
                // Without wear all blocks share a row.
                let (erases, wear) = match columns.costs.factor.wear_of(at) {
                    Some(wear) => (erases, wear),
                    None => (0, 1.0),
                };
                let row = lists.enter_row(erases, wear, columns.costs.least_costly(wear));
                columns.blocks[at].slot = row;
                lists.insert(at as u32, row, valid, &columns.stamps);
            }
        }
        if let Some((side, tree)) = side {
            tree.insert(at, &columns.side_node(*side, at as u32));
        }
    }

    /// Takes a block out of the index. Its state has changed already, its valid count has not.
    fn leave(&mut self, at: usize) {
        let BlockView { columns, index, side, ranks, .. } = &mut self.view;
        let Block { slot, valid, .. } = columns.blocks[at];
        match index {
            Index::Tree(tree) => {
                tree.refresh(slot as usize, columns);
                if let Some(ranks) = ranks {
                    ranks.remove(slot as usize);
                }
            }
            Index::Lists(lists) => lists.withdraw(at as u32, slot, valid, &columns.stamps),
        }
        if let Some((side, tree)) = side {
            tree.refresh(at, &SideLeaves(columns, *side));
        }
    }

    /// Updates the index after the weight of a block rose, if it is in the index.
    fn refresh(&mut self, at: usize) {
        let BlockView { columns, index, .. } = &mut self.view;
        let Block { slot, state, .. } = columns.blocks[at];
        if state == State::Closed
            && let Index::Tree(tree) = index
        {
            tree.refresh(slot as usize, columns);
        }
    }

    fn take_slot(&mut self, at: usize) -> usize {
        let slot = if self.by_number {
            at
        } else {
            if self.next_slot == self.view.columns.slots.len() {
                self.close_up();
            }
            self.next_slot += 1;
            self.next_slot - 1
        };
        self.view.columns.slots[slot] = at as u32;
        slot
    }

    /// Compacts the slots in order; once per as many openings as there are blocks.
    fn close_up(&mut self) {
        let BlockView { columns, index, ranks, .. } = &mut self.view;
        let mut to = 0;
        for from in 0..columns.slots.len() {
            let block = columns.slots[from];
            if block != NO_BLOCK {
                columns.slots[to] = block;
                columns.blocks[block as usize].slot = to as u32;
                to += 1;
            }
        }
        columns.slots[to..].fill(NO_BLOCK);
        self.next_slot = to;
        let Index::Tree(tree) = index else { return };
        tree.clear();
        if let Some(ranks) = ranks {
            ranks.clear();
        }
        for slot in 0..to {
            if let Some(candidate) = columns.leaf(slot) {
                tree.insert(slot, &candidate);
                if let Some(ranks) = ranks {
                    ranks.insert(slot);
                }
            }
        }
    }
}
