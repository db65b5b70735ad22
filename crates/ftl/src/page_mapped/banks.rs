//! All banks, and their capacity.
//!
//! Invariant: `most_live` of a bank is the pages of its usable blocks less the reserve and
//! one block for each open one; `capacity` sums the banks without the latter deduction. Garbage in
//! open blocks cannot be collected: without a spare block for each it would use up the reserve, and
//! survivors would find no room.

use alloc::{boxed::Box, vec::Vec};
use core::ops::{Index, IndexMut};

use thermocline_flash::{BlockId, Chip, Lpn, Ppn};
use thermocline_policy::{
    Block,
    bank::BankAssignment,
    placement::{Place, Placement},
    victim::Victim,
};

use super::{bank::Bank, config::Config, tables::Tables};
use crate::{Counters, FtlError};

/// The capacity of a bank.
#[derive(Clone, Copy, Debug)]
struct Limit {
    /// Blocks that can be used: neither bad, nor the layer's own, nor kept for data that cannot be read.
    usable: u32,
    /// Most pages of current data.
    most_live: u32,
}

/// The banks of a device.
pub(super) struct Banks {
    banks: Vec<Bank>,
    limits: Vec<Limit>,
    /// Data pages in blocks that can be used, less the reserve.
    capacity: u32,
    /// The pages that all banks hold together, and how they are assigned.
    logical_pages: u32,
    assignment: BankAssignment,
    /// Blocks of each bank kept for survivors, and open at a time.
    reserve: u32,
    open: u32,
    /// Data pages in a block, and blocks in a bank.
    pages: u32,
    blocks_per_bank: u32,
}

impl Banks {
    /// The banks of an erased chip; `victim` builds the policy of each. Without `counts_bad`, bad blocks
    /// count as usable, so that a chip that lost more of them since it was formatted can still be read.
    pub(super) fn new<C: Chip>(
        chip: &C,
        streams: u8,
        mut victim: impl FnMut(u32) -> Box<dyn Victim>,
        config: &Config,
        counts_bad: bool,
    ) -> Result<Self, FtlError> {
        let geometry = *chip.geometry();
        let mut all = Self {
            banks: Vec::with_capacity(geometry.banks as usize),
            limits: Vec::with_capacity(geometry.banks as usize),
            capacity: 0,
            logical_pages: config.logical_pages,
            assignment: config.bank_assignment,
            reserve: config.watermarks.reserve,
            open: u32::from(streams) + u32::from(config.read_only_separation),
            pages: geometry.data_pages_per_block(),
            blocks_per_bank: geometry.blocks_per_bank,
        };
        let mut most = 0_u64;
        for number in 0..geometry.banks {
            let bank = Bank::new(chip, number, victim(number), streams);
            let usable = bank.free_blocks() as u32;
            let limit = all.limit(usable);
            // Blocks of the bank that are not the index log's, bad or not.
            let first = number * geometry.blocks_per_bank;
            let data = geometry.data_blocks().saturating_sub(first).min(geometry.blocks_per_bank);
            let bad = if counts_bad { 0 } else { data - usable };
            let room = limit.most_live + bad * all.pages;
            let share = all.assignment.share(all.logical_pages, number, geometry.banks);
            if all.reserve == 0 || room < share {
                return Err(FtlError::NoSpace);
            }
            most += u64::from(room);
            all.banks.push(bank);
            all.limits.push(limit);
        }
        if most < u64::from(config.logical_pages) {
            return Err(FtlError::NoSpace);
        }
        all.capacity = all.counted_capacity();
        Ok(all)
    }

    fn limit(&self, usable: u32) -> Limit {
        let data = usable.saturating_sub(self.reserve) * self.pages;
        Limit { usable, most_live: data.saturating_sub(self.open.saturating_mul(self.pages)) }
    }

    fn counted_capacity(&self) -> u32 {
        let usable = self.limits.iter().map(|limit| limit.usable);
        usable.map(|usable| usable.saturating_sub(self.reserve) * self.pages).sum()
    }

    /// Number of banks.
    #[inline(always)]
    pub(super) const fn len(&self) -> usize {
        self.banks.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Bank> {
        self.banks.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Bank> {
        self.banks.iter_mut()
    }

    /// The bank of a block.
    #[inline(always)]
    pub(super) const fn bank_of(&self, block: BlockId) -> usize {
        // Most devices have one, and a division is slow.
        if self.banks.len() == 1 { 0 } else { (block.0 / self.blocks_per_bank) as usize }
    }

    pub(super) fn block(&self, block: BlockId) -> &Block {
        self.banks[self.bank_of(block)].block(block)
    }

    pub(super) fn read_only_stream(&self) -> u8 {
        self.banks[0].read_only_stream()
    }

    /// Pages of free blocks that the reserve of a bank has.
    pub(super) const fn reserve_pages(&self) -> u64 {
        self.reserve as u64 * self.pages as u64
    }

    /// Blocks of the reserve of a bank.
    pub(super) const fn reserve(&self) -> usize {
        self.reserve as usize
    }

    /// Data pages in blocks that can be used, less the reserve.
    pub(super) const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// The most a victim of a bank has valid where that has the least of all, while `spare` blocks are free or
    /// open: the mean of the others, on a device full of data.
    pub(super) fn mean_valid(&self, bank: usize, spare: u32) -> u32 {
        let full = self.limits[bank].usable.saturating_sub(spare).max(1);
        (self.most_live(bank) / full).min(self.pages - 1)
    }

    /// Whether a bank of a full device has at least `blocks` blocks of spare space.
    pub(super) fn has_spare_blocks(&self, bank: usize, blocks: u32) -> bool {
        let room = u64::from(self.limits[bank].usable) * u64::from(self.pages);
        room >= u64::from(self.most_live(bank)) + u64::from(blocks) * u64::from(self.pages)
    }

    /// Logical pages that a bank of a device full of data may hold.
    fn most_live(&self, bank: usize) -> u32 {
        match self.assignment {
            BankAssignment::Static => {
                self.assignment.share(self.logical_pages, bank as u32, self.len() as u32)
            }
            BankAssignment::Dynamic => self.limits[bank].most_live.min(self.logical_pages),
        }
    }

    /// Data pages in a block.
    pub(super) const fn pages(&self) -> u32 {
        self.pages
    }

    /// Blocks of a bank that are open at a time, at most.
    pub(super) const fn open(&self) -> u32 {
        self.open
    }

    /// Blocks of a bank that can be used.
    pub(super) fn usable(&self, bank: usize) -> u32 {
        self.limits[bank].usable
    }

    /// Changes the number of usable blocks of a bank, and its capacity.
    pub(super) fn resize(&mut self, bank: usize, change: impl FnOnce(u32) -> u32) {
        self.limits[bank] = self.limit(change(self.limits[bank].usable));
        self.capacity = self.counted_capacity();
    }

    /// Pages by which each bank's limit exceeds its share of the logical pages, and the common limit
    /// all logical pages; negative if they do not fit.
    fn spare_pages(&self) -> impl Iterator<Item = i64> {
        let share = |n| self.assignment.share(self.logical_pages, n, self.banks.len() as u32);
        let of_banks = (0..)
            .zip(&self.limits)
            .map(move |(n, limit)| i64::from(limit.most_live) - i64::from(share(n)));
        let most: i64 = self.limits.iter().map(|limit| i64::from(limit.most_live)).sum();
        of_banks.chain([most - i64::from(self.logical_pages)])
    }

    /// Whether the logical pages find room, the reserve and the garbage of open blocks counted.
    pub(super) fn can_hold_all(&self) -> bool {
        self.spare_pages().all(|pages| pages >= 0)
    }

    /// Blocks that may fail, wherever they are, before the logical pages find no room any more.
    pub(super) fn spare_blocks(&self) -> u32 {
        let least = self.spare_pages().min().unwrap_or(0).max(0);
        (least / i64::from(self.pages)) as u32
    }

    /// The bank for a page of `stream` that the host writes (striping paper, §3.2).
    #[inline(always)]
    pub(super) fn assign<C: Chip, P: Placement>(
        &mut self,
        chip: &mut C,
        placement: &P,
        tables: &Tables,
        counters: &Counters,
        lpn: Lpn,
        stream: u8,
    ) -> usize {
        if self.banks.len() == 1 {
            return 0;
        }
        match self.assignment {
            BankAssignment::Static => lpn.index() % self.banks.len(),
            BankAssignment::Dynamic => {
                let hot = placement.is_hot_stream(stream);
                let bank = self.assign_dynamically(chip, tables, lpn, stream, hot);
                self.banks[bank].assigned(counters.host_writes + counters.fills);
                bank
            }
        }
    }

    /// Hot pages go to the bank erased least, cold ones to the bank with the least data, so that
    /// banks wear and fill alike; a bank that works is not waited for while another is idle.
    fn assign_dynamically<C: Chip>(
        &self,
        chip: &mut C,
        tables: &Tables,
        lpn: Lpn,
        stream: u8,
        hot: bool,
    ) -> usize {
        let fits = |n: usize| self.banks[n].live() < self.limits[n].most_live;
        let has_room = |n: usize| {
            let bank = &self.banks[n];
            !bank.open(usize::from(stream)).is_full() || bank.free_blocks() > self.reserve as usize
        };
        loop {
            let idle = self.best(hot, |n| fits(n) && has_room(n) && chip.is_idle(n as u32));
            if let Some(bank) = idle {
                return bank;
            }
            if !(0..self.banks.len()).any(|n| fits(n) && has_room(n)) {
                // Every bank must collect garbage first. If all are full of valid data, this write
                // replaces a copy in one of them.
                let old = tables.data(lpn);
                let holds = || {
                    if old == Ppn::NONE { 0 } else { self.bank_of(tables.shape().block_of(old)) }
                };
                return self.best(hot, fits).unwrap_or_else(holds);
            }
            chip.wait_for_a_bank();
        }
    }

    /// The least of the banks that `may` be taken: by erases or by data, then by the longest wait,
    /// then by number.
    fn best(&self, hot: bool, may: impl Fn(usize) -> bool) -> Option<usize> {
        let least = |&n: &usize| {
            let bank = &self.banks[n];
            (if hot { bank.erases() } else { u64::from(bank.live()) }, bank.last_assigned(), n)
        };
        (0..self.banks.len()).filter(|&n| may(n)).min_by_key(least)
    }

    /// The place of a page's newest data.
    #[inline(always)]
    pub(super) fn place(&self, tables: &Tables, lpn: Lpn) -> Option<Place> {
        let at = tables.data(lpn);
        if at == Ppn::NONE {
            return None;
        }
        let bank = self.bank_of(tables.shape().block_of(at));
        Some(self.banks[bank].place(at))
    }
}

impl Index<usize> for Banks {
    type Output = Bank;

    #[inline(always)]
    fn index(&self, bank: usize) -> &Bank {
        &self.banks[bank]
    }
}

impl IndexMut<usize> for Banks {
    #[inline(always)]
    fn index_mut(&mut self, bank: usize) -> &mut Bank {
        &mut self.banks[bank]
    }
}
