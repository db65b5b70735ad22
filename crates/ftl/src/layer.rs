//! The interfaces of a translation layer: page I/O ([`PageIo`]), background work ([`Upkeep`]), inspection
//! ([`Inspect`]). [`Layer`] joins them and the chip.
//!
//! A layer that wraps another implements I/O and passes on the inner layer's upkeep and inspection. Only I/O
//! and the chip are called by static dispatch: everything else is rare.
//!
//! Times are in the unit of the run's clock and never decrease.

use alloc::{string::String, vec::Vec};

use thermocline_flash::{BlockId, Lpn, Ppn, Timing};
use thermocline_policy::placement::Ahead;

use crate::{
    BufferCounters, CacheCounters, Counters, DeadDataCounters, EndOfLife, FtlError, TableCounters,
};

/// How far ahead the entry of a page that will be written is asked for, in pages.
pub const AHEAD: usize = 24;
/// The distance for state that depends on that entry.
pub const AHEAD_MORE: usize = 12;

/// The state of a logical page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// Data: a read returns them, or an error.
    Data,
    /// Nothing: the page was never written, or it was trimmed. It reads as zeros.
    Nothing,
    /// Data that are nowhere to be found: a read is an error until the page is written or trimmed.
    Lost,
}

/// What came of a step of cleaning in idle time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdleStep {
    /// There is nothing to do.
    Nothing,
    /// A part of the work on a block; the next step goes on with it.
    Part,
    /// The work on a block is done.
    Done,
}

impl IdleStep {
    /// What came of work on a whole block.
    #[must_use]
    pub const fn whole(done: bool) -> Self {
        if done { Self::Done } else { Self::Nothing }
    }
}

/// Logical pages, read and written.
pub trait PageIo {
    /// The number of logical pages; the first is 0.
    fn logical_pages(&self) -> u32;

    /// Writes a page before the run: data that were not updated yet. A layer may keep `read_only` data
    /// apart.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    fn fill(&mut self, lpn: Lpn, read_only: bool, now: u64) -> Result<(), FtlError>;

    /// The host writes a page: `data` is a page long, or empty where the content is not known.
    ///
    /// # Errors
    /// [`FtlError`]. Where the error is [`FtlError::Flash`], the page holds its old data or the new ones.
    fn write(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError>;

    /// The host writes a page that it will never update. A layer may keep such data apart.
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    fn write_read_only(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError> {
        self.write(lpn, data, now)
    }

    /// Writes a run of host pages back to back, without contents: as many of `count` as need a page program
    /// and nothing else, each `step` long, and perhaps one more, which took longer. The first begins at
    /// `now`. `page` gives the logical pages, counted from 0, and those after the run as far as they are
    /// known. Returns the number written: 0 if the layer prefers single writes.
    ///
    /// # Errors
    /// The number written before a page failed, and why it failed; those written took `step` each.
    #[inline(always)]
    fn write_run(
        &mut self,
        count: usize,
        page: impl Fn(usize) -> Option<Lpn>,
        now: u64,
        step: u64,
    ) -> Result<usize, (usize, FtlError)>
    where
        Self: Sized,
    {
        let _ = (count, page, now, step);
        Ok(0)
    }

    /// The host reads a page into `into`, which is a page long, or empty if the content is not needed.
    /// False if the page holds nothing, and then `into` is all zeros.
    ///
    /// # Errors
    /// [`FtlError::OutOfRange`]; [`FtlError::Flash`] if the data cannot be read; [`FtlError::Lost`] if there are
    /// none to be read any more.
    fn read(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError>;

    /// Reads consecutive pages that fill `into`, each as [`read`](Self::read) does; pages that are
    /// adjacent on the chip are read at once. Needs a chip that stores payloads.
    ///
    /// # Errors
    /// The first page that cannot be read, and why.
    fn read_run(
        &mut self,
        first: Lpn,
        into: &mut [u8],
        page: usize,
    ) -> Result<(), (Lpn, FtlError)> {
        for (lpn, into) in (first.0..).map(Lpn).zip(into.chunks_exact_mut(page)) {
            self.read(lpn, into).map_err(|e| (lpn, e))?;
        }
        Ok(())
    }

    /// The host no longer needs a page; false if it held nothing. The trim lasts after the next
    /// [`settle`](Upkeep::settle) and sync of the chip.
    ///
    /// # Errors
    /// [`FtlError`].
    fn trim(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError>;

    /// The host writes zeros to a page, which may be stored as nothing at all. Unlike a trim this is no sign that
    /// the host tells what it no longer needs: file systems zero their tables on disks that they never trim.
    ///
    /// # Errors
    /// [`FtlError`].
    fn zero(&mut self, lpn: Lpn, now: u64) -> Result<(), FtlError> {
        self.trim(lpn, now).map(drop)
    }

    /// Takes the coming writes of the host, if a policy uses them.
    fn ahead(&mut self) -> Option<&mut dyn Ahead> {
        None
    }

    /// Asks for the first cache lines that a write of `lpn` will need.
    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        let _ = lpn;
    }

    /// Asks for the cache lines whose addresses stand in those.
    #[inline(always)]
    fn prefetch_more(&self, lpn: Lpn) {
        let _ = lpn;
    }
}

/// Work beside the host's requests. The default of each method suits a layer without that work.
pub trait Upkeep {
    /// The fill is over: opens the blocks that the first writes of a run go to.
    ///
    /// # Errors
    /// [`FtlError`].
    fn filled(&mut self, now: u64) -> Result<(), FtlError> {
        let _ = now;
        Ok(())
    }

    /// Statistics begin: what single pages took before is of no account.
    fn begin_statistics(&mut self) {}

    /// The longest that one call of [`clean_in_idle_time`](Self::clean_in_idle_time) takes, in nanoseconds.
    fn idle_step_ns(&self, timing: &Timing) -> u64 {
        let _ = timing;
        0
    }

    /// Cleans a block in idle time, if the layer is set up to and that is worth it; false if there is
    /// nothing to do.
    ///
    /// # Errors
    /// [`FtlError`].
    fn clean_in_idle_time(&mut self, now: u64) -> Result<bool, FtlError> {
        let _ = now;
        Ok(false)
    }

    /// Does as little of that as can be done at a time, so that the host can be served in between. Steps up to
    /// the one that is done do what [`clean_in_idle_time`](Self::clean_in_idle_time) does in one.
    ///
    /// # Errors
    /// [`FtlError`].
    fn step_in_idle_time(&mut self, now: u64) -> Result<IdleStep, FtlError> {
        self.clean_in_idle_time(now).map(IdleStep::whole)
    }

    /// Lends an erased block that the layer can do without for now, if it has one. Whoever borrows it may program and
    /// erase it.
    fn lend(&mut self) -> Option<BlockId> {
        None
    }

    /// Takes back a block that it lent, erased.
    fn take_back(&mut self, block: BlockId) {
        let _ = block;
    }

    /// Whether it would have to clean soon unless it gets a block back, if it lent any.
    fn wants_back(&self) -> bool {
        false
    }

    /// One step in the background: moves the data of a block whose reads needed much correction, or of
    /// which a program failed, to other blocks. False if there is nothing to do, or nothing that can be
    /// done now.
    ///
    /// # Errors
    /// [`FtlError`].
    fn scrub(&mut self, now: u64) -> Result<bool, FtlError> {
        let _ = now;
        Ok(false)
    }

    /// Reads a page as the host does, to see whether it can be read; counts nothing. False if it holds nothing.
    ///
    /// # Errors
    /// Those of [`PageIo::read`].
    fn verify(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError> {
        let _ = (lpn, into);
        Ok(false)
    }

    /// Writes acknowledged changes that exist only in memory (trims) to the chip, so that a
    /// [sync](thermocline_flash::Flash::sync) makes them durable. Needed only before a sync.
    ///
    /// # Errors
    /// [`FtlError`].
    fn settle(&mut self, now: u64) -> Result<(), FtlError> {
        let _ = now;
        Ok(())
    }

    /// The sequence number of the last program: a sync that begins now covers it.
    fn last_program(&self) -> u64 {
        0
    }

    /// Whether a sync of the chip, begun now and waited for while the host goes on, would spare the host
    /// from waiting for one soon.
    fn wants_sync(&self) -> bool {
        false
    }

    /// A sync of the chip is over that was begun when [`last_program`](Self::last_program) had that value:
    /// all pages programmed up to it last. Called after every sync of the chip, so that the layer can
    /// record it for the next mount.
    fn synced(&mut self, last_program: u64) {
        let _ = last_program;
    }

    /// Settles, and writes what makes the next mount quick. Then the chip is synced, and the layer is not
    /// used any more.
    ///
    /// # Errors
    /// [`FtlError`].
    fn unmount(&mut self, now: u64) -> Result<(), FtlError> {
        self.settle(now)
    }
}

/// Flash operations of single pages that the host wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageWork {
    /// The most that one took since the statistics began: its program, and the copies and erases it waited for.
    pub worst: u64,
    /// The most that one may take: failures of the chip, swaps of worn blocks and the layer's own records come on
    /// top. Nothing where steps are set shorter than cleaning needs.
    pub bound: Option<u64>,
}

/// A bank as it is now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BankState {
    /// Erased blocks that nothing was written to.
    pub free_blocks: u32,
    /// Pages with current data.
    pub current_pages: u32,
    /// Blocks erased since the layer was built or mounted.
    pub erases: u64,
    /// Blocks of read-only data, where those are kept apart.
    pub read_only_blocks: u32,
    /// Pages with current data in them.
    pub read_only_pages: u32,
}

/// The use of a block, for display.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u8)]
pub enum BlockUse {
    /// Erased; nothing was written to it.
    Free = 0,
    /// Being filled.
    Open = 1,
    /// Full, or in use by a layer that does not say more.
    #[default]
    Full = 2,
    /// Not written any more, but holding data that are on their way out or cannot be read.
    Condemned = 3,
    /// Bad, or worn out.
    Bad = 4,
    /// Holding the layer's own records.
    Records = 5,
}

/// A block as people are shown it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockState {
    /// Its use.
    pub used: BlockUse,
    /// The stream it was opened for.
    pub stream: u8,
    /// Pages whose data are current.
    pub valid: u32,
    /// Times erased.
    pub erases: u32,
}

/// A page of a block as people are shown it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageState {
    /// Nothing was written to it since the erase.
    Free,
    /// It holds old data of this logical page.
    Garbage(Lpn),
    /// It holds the current data of this logical page.
    Valid(Lpn),
}

/// The state of a layer, for statistics, reports and tests. Nothing here changes anything.
pub trait Inspect {
    /// The counters so far.
    fn counters(&self) -> &Counters;

    /// Victims chosen by each rule of the victim policy, if it has several.
    fn choices(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// The placement's own report beside counts: names and values.
    fn report(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Erased blocks that nothing was written to, where the layer keeps such.
    fn free_blocks(&self) -> Option<u32> {
        None
    }

    /// Logical pages that hold data, where the layer counts them.
    fn mapped_pages(&self) -> Option<u32> {
        None
    }

    /// The banks, in order, where each cleans by itself.
    fn banks(&self) -> Vec<BankState> {
        Vec::new()
    }

    /// The work of single host pages, where it is bounded: with pacing.
    fn page_work(&self) -> Option<PageWork> {
        None
    }

    /// The counters of a write buffer in front of the layer.
    fn write_buffer(&self) -> Option<BufferCounters> {
        None
    }

    /// The counters of an SLC cache in front of the layer.
    fn slc_cache(&self) -> Option<CacheCounters> {
        None
    }

    /// The counters of the cached mapping table.
    fn mapping_table(&self) -> Option<TableCounters> {
        None
    }

    /// Blocks that may fail, in the worst places, before the layer takes no more writes; where that is
    /// known.
    fn spare_blocks(&self) -> Option<u32> {
        None
    }

    /// Why the layer is read-only, if it is.
    fn end_of_life(&self) -> Option<EndOfLife> {
        None
    }

    /// Whether the layer takes no more writes.
    fn is_read_only(&self) -> bool {
        self.end_of_life().is_some()
    }

    /// The place of a logical page's newest data, or [`Ppn::NONE`]. If the map is on the chip, only what is
    /// in memory; [`Layer::find`] reads the chip too.
    fn locate(&self, lpn: Lpn) -> Ppn;

    /// The state of a logical page; `Nothing` beyond the device. Only `Nothing` may be taken for zeros without a
    /// read.
    fn holds(&self, lpn: Lpn) -> Holds;

    /// The erase count of a block.
    fn erases(&self, block: BlockId) -> u32;

    /// The number of valid pages of a block.
    fn valid_pages(&self, block: BlockId) -> u32;

    /// The blocks from `first` on, as many as `into` has room for.
    fn block_states(&self, first: BlockId, into: &mut [BlockState]) {
        for (block, state) in (first.0..).map(BlockId).zip(into) {
            let (valid, erases) = (self.valid_pages(block), self.erases(block));
            *state = BlockState { valid, erases, ..BlockState::default() };
        }
    }

    /// The data pages of a block, in order; nothing where the layer does not keep them apart.
    fn page_states(&self, block: BlockId) -> Vec<PageState> {
        let _ = block;
        Vec::new()
    }

    /// Checks every invariant by counting again.
    ///
    /// # Errors
    /// The first invariant that does not hold, in words.
    fn check(&self) -> Result<(), String>;
}

/// Data that are inferred to be garbage, though the host did not trim them. The inference may be wrong.
pub trait DeadPages {
    /// A page is inferred to be garbage. It is not moved any more, but until its block is erased it can
    /// still be read and [revived](Self::revive). False if it held no data, or was marked before.
    ///
    /// # Errors
    /// [`FtlError::OutOfRange`].
    fn mark_dead(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError>;

    /// A page inferred to be garbage is not; false if it was not marked, or is gone already.
    ///
    /// # Errors
    /// [`FtlError::OutOfRange`].
    fn revive(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError>;
}

/// A translation layer over a chip.
pub trait Layer: PageIo {
    /// The chip below.
    type Chip;

    /// The chip below.
    fn chip(&self) -> &Self::Chip;

    /// The chip below: to set its clock, to sync it. Programs and erases are left to the layer.
    fn chip_mut(&mut self) -> &mut Self::Chip;

    /// Its background work.
    fn upkeep(&mut self) -> &mut dyn Upkeep;

    /// Its state.
    fn inspect(&self) -> &dyn Inspect;

    /// Where the newest data of a logical page are, or [`Ppn::NONE`].
    fn find(&mut self, lpn: Lpn) -> Ppn {
        self.inspect().locate(lpn)
    }

    /// Takes inferred garbage, if the layer uses it.
    fn dead_pages(&mut self) -> Option<&mut dyn DeadPages> {
        None
    }

    /// The counters of the detection of dead data.
    fn dead_data(&self) -> Option<DeadDataCounters> {
        None
    }
}
