//! The simulator's chip. It enforces every rule, counts every operation, and stores a payload only
//! where a run needs it.

use alloc::{boxed::Box, collections::BTreeMap, vec, vec::Vec};

use crate::{
    BlockId, Clock, Condition, Energy, Flash, FlashError, Geometry, Kind, Oob, Ppn, ReadsFirst,
    Rules, SimulatedTime, Timing,
};

/// Operations of a chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Pages read, except those read to be copied.
    pub reads: u64,
    /// Out-of-band areas read without their pages.
    pub oob_reads: u64,
    /// Pages programmed for the host.
    pub programs: u64,
    /// Valid pages copied by the layer.
    pub copies: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Recomputations of a mean over all pages.
    pub hotness_scans: u64,
}

impl Counts {
    /// The operations after `earlier`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            reads: self.reads - earlier.reads,
            oob_reads: self.oob_reads - earlier.oob_reads,
            programs: self.programs - earlier.programs,
            copies: self.copies - earlier.copies,
            erases: self.erases - earlier.erases,
            hotness_scans: self.hotness_scans - earlier.hotness_scans,
        }
    }

    /// Total time of these operations one after another, in nanoseconds.
    #[inline]
    #[must_use]
    pub const fn time_ns(&self, t: &Timing) -> u64 {
        self.reads * t.read()
            + self.oob_reads * t.oob_read_ns
            + self.programs * t.program()
            + self.copies * t.copy_ns
            + self.erases * t.erase()
            + self.hotness_scans * t.hotness_scan_ns
    }

    /// Energy of these operations, in millijoules.
    #[must_use]
    pub fn energy_mj(&self, e: &Energy) -> f64 {
        ((self.reads + self.copies) as f64 * e.read_uj
            + (self.programs + self.copies) as f64 * e.program_uj
            + self.erases as f64 * e.erase_uj)
            / 1000.0
    }
}

/// A chip without payload.
///
/// Invariant where the medium demands order: exactly the data pages of block `b` before `next[b]`
/// are programmed. If `next[b]` is [`Ppn::NONE`], all are, or the block is bad. Where the medium
/// demands no order, `next` is [`Ppn::NONE`] everywhere, and exactly the pages whose bit is set are
/// programmed.
#[derive(Clone, Debug)]
pub struct CountingChip {
    geometry: Geometry,
    /// [`Geometry::page_bits`], cached because every program needs it.
    page_bits: u32,
    rules: Rules,
    /// The next page of each block that may be programmed. One comparison then checks a program.
    next: Vec<Ppn>,
    /// One bit per page, where pages may be programmed in any order.
    programmed: Vec<u64>,
    erases: Vec<u32>,
    bad: Vec<bool>,
    wears_out: bool,
    counts: Counts,
    timing: Timing,
    /// Total time of all operations one after another, in nanoseconds.
    busy_ns: u64,
    /// State that few runs need. All others pay one null check for it.
    extras: Option<Box<Extras>>,
}

#[derive(Clone, Debug, Default)]
struct Extras {
    /// Schedules each operation; absent where operations do not overlap, because their counts
    /// suffice.
    clock: Option<Clock>,
    /// Busy phases of programs of lower and upper pages, where they differ. Needs the clock.
    pairs: Option<[u64; 2]>,
    /// Stored payloads, if any are stored. A page without an entry holds zeros.
    payload: Option<BTreeMap<Ppn, Box<[u8]>>>,
}

impl Extras {
    /// Does an operation on the clock for each of consecutive pages of a block.
    #[inline(always)]
    fn schedule(
        &mut self,
        geometry: &Geometry,
        usual: &Timing,
        (to, count): (Ppn, u32),
        operation: impl Fn(&mut Clock, u32),
    ) {
        let Some(clock) = &mut self.clock else { return };
        let bank = geometry.bank_of(geometry.block_of(to));
        for page in to.0..to.0 + count {
            if let Some(pairs) = self.pairs {
                clock.take_pair(pairs, geometry.page_of(Ppn(page)), usual);
            }
            operation(clock, bank);
        }
    }
}

impl Clock {
    /// Takes the times of a page, lower or upper, for the next operation.
    #[cold]
    fn take_pair(&mut self, pairs: [u64; 2], page: u32, usual: &Timing) {
        let busy = pairs[page as usize % 2];
        self.set_programs(usual.program_setup_ns, busy);
        self.set_copies(usual.copy_ns.saturating_sub(usual.program_ns) + busy);
    }
}

impl CountingChip {
    /// An erased chip without bad blocks. It counts erases beyond its endurance but does not fail.
    #[must_use]
    pub fn new(geometry: Geometry, rules: Rules) -> Self {
        let blocks = geometry.blocks() as usize;
        let bits = if rules.in_order { 0 } else { blocks << geometry.page_bits() };
        let mut chip = Self {
            geometry,
            page_bits: geometry.page_bits(),
            rules,
            next: vec![Ppn::NONE; blocks],
            programmed: vec![0; bits.div_ceil(64)],
            erases: vec![0; blocks],
            bad: vec![false; blocks],
            wears_out: false,
            counts: Counts::default(),
            timing: Timing::default(),
            busy_ns: 0,
            extras: None,
        };
        for block in (0..geometry.blocks()).map(BlockId) {
            chip.next[block.index()] = chip.first_page(block);
        }
        chip
    }

    /// Adds up the times of all operations.
    #[must_use]
    pub const fn with_timing(mut self, timing: Timing) -> Self {
        self.timing = timing;
        self
    }

    /// Stores the payload of each page that is programmed with one. A run that concerns the
    /// contents of a few sectors stores only those.
    #[must_use]
    pub fn with_payload(mut self) -> Self {
        self.extras.get_or_insert_default().payload = Some(BTreeMap::new());
        self
    }

    /// Keeps the time of every channel and bank.
    #[must_use]
    pub fn with_clock(mut self, timing: Timing) -> Self {
        let clock = Clock::new(timing, self.geometry.banks, self.geometry.channels);
        self.extras.get_or_insert_default().clock = Some(clock);
        self
    }

    /// Keeps the time of every channel and bank, and serves reads first.
    #[must_use]
    pub fn with_reads_first(mut self, timing: Timing, rule: ReadsFirst) -> Self {
        let clock = Clock::new(timing, self.geometry.banks, self.geometry.channels);
        self.extras.get_or_insert_default().clock = Some(clock.with_reads_first(rule));
        self
    }

    /// Programs of lower and upper pages take different times, which the clock keeps.
    #[must_use]
    pub fn with_page_pairs(mut self, pairs: [u64; 2]) -> Self {
        self.extras.get_or_insert_default().pairs = Some(pairs);
        self
    }

    /// Does something with other times for programs.
    pub fn with_programs_of<T>(
        &mut self,
        (setup_ns, ns): (u64, u64),
        operation: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let usual = (self.timing.program_setup_ns, self.timing.program_ns);
        let pairs = self.extras.as_mut().and_then(|extras| extras.pairs.take());
        self.set_programs((setup_ns, ns));
        let done = operation(self);
        self.set_programs(usual);
        if let Some(extras) = &mut self.extras {
            extras.pairs = pairs;
        }
        done
    }

    fn set_programs(&mut self, (setup_ns, ns): (u64, u64)) {
        (self.timing.program_setup_ns, self.timing.program_ns) = (setup_ns, ns);
        if let Some(extras) = &mut self.extras
            && let Some(clock) = &mut extras.clock
        {
            clock.set_programs(setup_ns, ns);
        }
    }

    /// The clock of channels and banks, where one is kept.
    #[inline(always)]
    #[must_use]
    pub fn clock(&self) -> Option<&Clock> {
        self.extras.as_ref()?.clock.as_ref()
    }

    /// The clock, so that the caller can set when the host issues requests.
    #[inline(always)]
    pub fn clock_mut(&mut self) -> Option<&mut Clock> {
        self.extras.as_mut()?.clock.as_mut()
    }

    /// The default rules of a kind of medium: NAND demands order.
    #[must_use]
    pub const fn default_rules(kind: Kind) -> Rules {
        Rules { in_order: matches!(kind, Kind::Nand), endurance: 100_000, initial_bad_blocks: 0 }
    }

    /// Marks factory-bad blocks.
    #[must_use]
    pub fn with_bad_blocks(mut self, bad: &[BlockId]) -> Self {
        for block in bad {
            (self.bad[block.index()], self.next[block.index()]) = (true, Ppn::NONE);
        }
        self
    }

    /// Makes erases beyond the rated endurance fail, as on a real chip.
    #[must_use]
    pub fn that_wears_out(mut self) -> Self {
        self.wears_out = true;
        self
    }

    /// All operations so far.
    #[inline(always)]
    #[must_use]
    pub const fn counts(&self) -> &Counts {
        &self.counts
    }

    /// Total time of all operations one after another, in nanoseconds; 0
    /// [without](Self::with_timing) times.
    #[inline(always)]
    #[must_use]
    pub const fn busy_ns(&self) -> u64 {
        self.busy_ns
    }

    /// Erase counts of all blocks, in block order.
    #[must_use]
    pub fn erase_counts(&self) -> &[u32] {
        &self.erases
    }

    /// The rules this chip enforces.
    #[must_use]
    pub const fn rules(&self) -> &Rules {
        &self.rules
    }

    fn payload(&self) -> Option<&BTreeMap<Ppn, Box<[u8]>>> {
        self.extras.as_ref()?.payload.as_ref()
    }

    /// The first page that may be programmed in an erased block.
    const fn first_page(&self, block: BlockId) -> Ppn {
        if self.rules.in_order {
            self.geometry.ppn(block, self.geometry.header_pages)
        } else {
            Ppn::NONE
        }
    }

    /// Checks that `count` pages (at least one) from `to` on may be programmed, and records them.
    #[inline(always)]
    fn take_pages(&mut self, to: Ppn, count: u32) -> Result<(), FlashError> {
        let block = to.0 >> self.page_bits;
        if let Some(next) = self.next.get_mut(block as usize)
            && *next == to
        {
            // The next page is one of the block.
            let room = self.geometry.pages_per_block - (to.0 - (block << self.page_bits));
            if count <= room {
                *next = if count == room { Ppn::NONE } else { Ppn(to.0 + count) };
                return Ok(());
            }
        }
        (to.0..to.0 + count).try_for_each(|page| self.take_page(Ppn(page)))
    }

    /// Records a page that is not the next one of its block, or need not be.
    #[inline(never)]
    fn take_page(&mut self, to: Ppn) -> Result<(), FlashError> {
        let (block, page) = (self.geometry.block_of(to), self.geometry.page_of(to));
        let Some(&next) = self.next.get(block.index()) else {
            return Err(FlashError::OutOfRange);
        };
        if page >= self.geometry.pages_per_block {
            return Err(FlashError::OutOfRange);
        }
        if self.bad[block.index()] {
            return Err(FlashError::BadBlock(block));
        }
        if self.rules.in_order {
            let is_free = next != Ppn::NONE && next <= to;
            return Err(if is_free {
                FlashError::OutOfOrder(to)
            } else {
                FlashError::NotErased(to)
            });
        }
        let (word, bit) = (to.index() / 64, 1 << (to.index() % 64));
        if self.programmed[word] & bit != 0 {
            return Err(FlashError::NotErased(to));
        }
        self.programmed[word] |= bit;
        Ok(())
    }

    /// Records copies to consecutive pages in the optional state.
    #[inline(always)]
    fn keep_copies(&mut self, to: Ppn, count: u32, mut from: impl FnMut(u32) -> Ppn) {
        let Some(extras) = &mut self.extras else { return };
        extras.schedule(&self.geometry, &self.timing, (to, count), Clock::copy);
        if let Some(pages) = &mut extras.payload {
            for i in 0..count {
                if let Some(page) = pages.get(&from(i)).cloned() {
                    pages.insert(Ppn(to.0 + i), page);
                }
            }
        }
    }
}

impl Flash for CountingChip {
    #[inline(always)]
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    #[inline(always)]
    fn in_order(&self) -> bool {
        self.rules.in_order
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.bad[block.index()]
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError> {
        *self.bad.get_mut(block.index()).ok_or(FlashError::OutOfRange)? = true;
        self.next[block.index()] = Ppn::NONE;
        Ok(())
    }

    #[inline(always)]
    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        if self.geometry.block_of(from).0 >= self.geometry.blocks() {
            return Err(FlashError::OutOfRange);
        }
        if !into.is_empty() {
            match self.payload().and_then(|pages| pages.get(&from)) {
                Some(page) => into.copy_from_slice(page),
                None => into.fill(0),
            }
        }
        self.counts.reads += 1;
        self.busy_ns += self.timing.read();
        let bank = self.geometry.bank_of(self.geometry.block_of(from));
        if let Some(clock) = self.clock_mut() {
            clock.read(bank);
        }
        Ok(())
    }

    /// Counts the read. The chip stores no out-of-band areas.
    #[inline]
    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        let block = self.geometry.block_of(from);
        if block.0 >= self.geometry.blocks() {
            return Err(FlashError::OutOfRange);
        }
        self.counts.oob_reads += 1;
        self.busy_ns += self.timing.oob_read_ns;
        let bank = self.geometry.bank_of(block);
        if let Some(clock) = self.clock_mut() {
            clock.read_oob(bank);
        }
        Ok(None)
    }

    #[inline(always)]
    fn program(&mut self, to: Ppn, _oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        self.take_pages(to, 1)?;
        self.counts.programs += 1;
        self.busy_ns += self.timing.program();
        if let Some(extras) = &mut self.extras {
            extras.schedule(&self.geometry, &self.timing, (to, 1), Clock::program);
            if !data.is_empty()
                && let Some(pages) = &mut extras.payload
            {
                pages.insert(to, data.into());
            }
        }
        Ok(())
    }

    /// Checks the rules once a run.
    #[inline(always)]
    fn program_run(
        &mut self,
        to: Ppn,
        count: u32,
        _oob: impl FnMut(u32) -> Oob,
    ) -> Result<(), (u32, FlashError)> {
        self.take_pages(to, count).map_err(|e| (0, e))?;
        self.counts.programs += u64::from(count);
        self.busy_ns += u64::from(count) * self.timing.program();
        if let Some(extras) = &mut self.extras {
            extras.schedule(&self.geometry, &self.timing, (to, count), Clock::program);
        }
        Ok(())
    }

    #[inline(always)]
    fn copy(&mut self, from: Ppn, to: Ppn, _oob: Oob) -> Result<(), FlashError> {
        self.take_pages(to, 1)?;
        self.counts.copies += 1;
        self.busy_ns += self.timing.copy_ns;
        self.keep_copies(to, 1, |_| from);
        Ok(())
    }

    /// Checks the rules once a run.
    #[inline(always)]
    fn copy_run(
        &mut self,
        to: Ppn,
        count: u32,
        mut page: impl FnMut(u32) -> (Ppn, Oob),
    ) -> Result<(), (u32, FlashError)> {
        if let Err(e) = self.take_pages(to, count) {
            return Err((0, e));
        }
        self.counts.copies += u64::from(count);
        self.busy_ns += u64::from(count) * self.timing.copy_ns;
        self.keep_copies(to, count, |i| page(i).0);
        Ok(())
    }

    fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
        let Some(&bad) = self.bad.get(block.index()) else {
            return Err(FlashError::OutOfRange);
        };
        if bad {
            return Err(FlashError::BadBlock(block));
        }
        if self.wears_out && self.erases[block.index()] >= self.rules.endurance {
            (self.bad[block.index()], self.next[block.index()]) = (true, Ppn::NONE);
            return Err(FlashError::WornOut(block));
        }
        self.erases[block.index()] += 1;
        self.next[block.index()] = self.first_page(block);
        if let Some(Extras { payload: Some(pages), .. }) = self.extras.as_deref_mut() {
            let first = self.geometry.ppn(block, 0);
            let end = Ppn(first.0 + self.geometry.pages_per_block);
            while let Some((&page, _)) = pages.range(first..end).next() {
                pages.remove(&page);
            }
        }
        if !self.rules.in_order {
            let first = self.geometry.ppn(block, 0).index();
            for page in first..first + self.geometry.pages_per_block as usize {
                self.programmed[page / 64] &= !(1 << (page % 64));
            }
        }
        self.counts.erases += 1;
        self.busy_ns += self.timing.erase();
        let bank = self.geometry.bank_of(block);
        if let Some(clock) = self.clock_mut() {
            clock.erase(bank);
        }
        Ok(())
    }

    /// Does nothing: the chip holds nothing that a power loss could lose.
    fn sync(&mut self) -> Result<(), FlashError> {
        Ok(())
    }
}

impl Condition for CountingChip {
    fn erase_count(&self, block: BlockId) -> u32 {
        self.erases[block.index()]
    }

    /// Reads the page. The chip stores no out-of-band areas and counts no read of them.
    #[inline(always)]
    fn read_with_oob(&mut self, from: Ppn, into: &mut [u8]) -> Result<Option<Oob>, FlashError> {
        self.read(from, into).map(|()| None)
    }
}

impl SimulatedTime for CountingChip {
    fn is_idle(&self, bank: u32) -> bool {
        self.clock().is_none_or(|clock| clock.is_idle(bank))
    }

    fn wait_for_a_bank(&mut self) {
        if let Some(clock) = self.clock_mut() {
            clock.wait_for_a_bank();
        }
    }

    fn hotness_scan(&mut self) {
        self.counts.hotness_scans += 1;
        self.busy_ns += self.timing.hotness_scan_ns;
        if let Some(clock) = self.clock_mut() {
            clock.compute();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Lpn;

    const OOB: Oob = Oob { lpn: Lpn(0), stream: 0, sequence: 0, time: 0, note: 0 };

    fn chip(in_order: bool) -> CountingChip {
        let geometry = Geometry {
            banks: 1,
            channels: 1,
            blocks_per_bank: 4,
            pages_per_block: 5,
            page_size: 512,
            oob_size: 0,
            header_pages: 0,
            system_blocks: 0,
        };
        CountingChip::new(geometry, Rules { in_order, endurance: 2, initial_bad_blocks: 0 })
    }

    #[test]
    fn a_page_is_programmed_once_between_erases() {
        for in_order in [true, false] {
            let mut c = chip(in_order);
            let p = c.geometry.ppn(BlockId(1), 0);
            assert_eq!(c.program(p, OOB, &[]), Ok(()));
            assert_eq!(c.program(p, OOB, &[]), Err(FlashError::NotErased(p)));
            assert_eq!(c.erase(BlockId(1)), Ok(()));
            assert_eq!(c.copy(p, p, OOB), Ok(()));
        }
    }

    #[test]
    fn only_nand_demands_order() {
        let mut nand = chip(true);
        let p = nand.geometry.ppn(BlockId(0), 2);
        assert_eq!(nand.program(p, OOB, &[]), Err(FlashError::OutOfOrder(p)));
        assert_eq!(chip(false).program(p, OOB, &[]), Ok(()));
    }

    #[test]
    fn there_is_no_page_beyond_the_block_and_no_block_beyond_the_chip() {
        let mut c = chip(true);
        assert_eq!(c.program(c.geometry.ppn(BlockId(0), 6), OOB, &[]), Err(FlashError::OutOfRange));
        assert_eq!(c.program(c.geometry.ppn(BlockId(4), 0), OOB, &[]), Err(FlashError::OutOfRange));
        assert_eq!(c.erase(BlockId(4)), Err(FlashError::OutOfRange));
        assert_eq!(c.read(c.geometry.ppn(BlockId(4), 0), &mut []), Err(FlashError::OutOfRange));
    }

    #[test]
    fn bad_and_worn_blocks_refuse() {
        let mut c = chip(true).with_bad_blocks(&[BlockId(3)]).that_wears_out();
        let p = c.geometry.ppn(BlockId(3), 0);
        assert_eq!(c.program(p, OOB, &[]), Err(FlashError::BadBlock(BlockId(3))));
        assert_eq!(c.erase(BlockId(3)), Err(FlashError::BadBlock(BlockId(3))));
        assert_eq!((c.erase(BlockId(0)), c.erase(BlockId(0))), (Ok(()), Ok(())));
        assert_eq!(c.erase(BlockId(0)), Err(FlashError::WornOut(BlockId(0))));
        assert!(c.is_bad(BlockId(0)));
        assert_eq!(c.counts().erases, 2);
    }

    #[test]
    fn time_and_energy_follow_from_the_counts() {
        let counts =
            Counts { reads: 1, oob_reads: 5, programs: 2, copies: 3, erases: 4, hotness_scans: 0 };
        let t = Timing {
            read_ns: 1,
            oob_read_ns: 10_000,
            program_ns: 10,
            copy_ns: 100,
            erase_ns: 1000,
            ..Timing::default()
        };
        assert_eq!(counts.time_ns(&t), 1 + 50_000 + 20 + 300 + 4000);
        let e = Energy { read_uj: 1.0, program_uj: 10.0, erase_uj: 100.0 };
        assert_eq!(counts.energy_mj(&e), (4.0 + 50.0 + 400.0) / 1000.0);
    }
}
