//! What every translation layer can do, counts and fears.

use core::fmt;

use thermocline_flash::{BlockId, FlashError, Lpn, Ppn, Timing};

/// What a layer did. Fills are counted apart: statistics begin after them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Pages written by the host.
    pub host_writes: u64,
    /// Pages read by the host that hold data.
    pub host_reads: u64,
    /// Pages trimmed that held data.
    pub trims: u64,
    /// Pages written before the run.
    pub fills: u64,
    /// Valid pages moved to make room.
    pub copies: u64,
    /// Blocks erased.
    pub erases: u64,
    /// Times cleaning was begun; each cleans one block or more.
    pub cleaning_runs: u64,
    /// Blocks cleaned.
    pub victims: u64,
    /// Valid pages of all victims, when they were chosen.
    pub victims_valid: u64,
    /// Survivors that went to another stream than their own for want of a free block.
    pub spills: u64,
    /// Blocks cleaned in idle time; part of `victims`.
    pub idle_victims: u64,
    /// Blocks erased to swap the most and the least erased; part of `erases`.
    pub swap_erases: u64,
    /// Pages moved by those swaps; part of `copies`.
    pub swap_copies: u64,
    /// Blocks that were retired: they wore out, or a program or an erase of theirs failed.
    pub retired: u64,
    /// Pages that the chip could not program; each went elsewhere, if the layer found room for it.
    pub programs_failed: u64,
    /// Blocks that the chip could not erase, be it that they were worn out.
    pub erases_failed: u64,
    /// Times a page was found that was to be moved and could not be read. It stays where it is, and
    /// reading it is an error, until the host writes or trims it.
    pub pages_lost: u64,
    /// Blocks whose data were moved because reading them needed much correction.
    pub scrubbed: u64,
    /// Primary and replacement blocks folded into one, for whatever reason (NFTL).
    pub folds: u64,
    /// Those that a write to a full replacement block forced; part of `folds`.
    pub forced_folds: u64,
    /// Pages that were not moved because their data were known to be dead.
    pub dead_left: u64,
    /// Blocks of nothing but dead data, erased without a fold.
    pub reclaimed: u64,
    /// Pages of the index log that were programmed; no data, and in no other figure.
    pub index_programs: u64,
}

impl Counters {
    /// What was done after `earlier`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            host_writes: self.host_writes - earlier.host_writes,
            host_reads: self.host_reads - earlier.host_reads,
            trims: self.trims - earlier.trims,
            fills: self.fills - earlier.fills,
            copies: self.copies - earlier.copies,
            erases: self.erases - earlier.erases,
            cleaning_runs: self.cleaning_runs - earlier.cleaning_runs,
            victims: self.victims - earlier.victims,
            victims_valid: self.victims_valid - earlier.victims_valid,
            spills: self.spills - earlier.spills,
            idle_victims: self.idle_victims - earlier.idle_victims,
            swap_erases: self.swap_erases - earlier.swap_erases,
            swap_copies: self.swap_copies - earlier.swap_copies,
            retired: self.retired - earlier.retired,
            programs_failed: self.programs_failed - earlier.programs_failed,
            erases_failed: self.erases_failed - earlier.erases_failed,
            pages_lost: self.pages_lost - earlier.pages_lost,
            scrubbed: self.scrubbed - earlier.scrubbed,
            folds: self.folds - earlier.folds,
            forced_folds: self.forced_folds - earlier.forced_folds,
            dead_left: self.dead_left - earlier.dead_left,
            reclaimed: self.reclaimed - earlier.reclaimed,
            index_programs: self.index_programs - earlier.index_programs,
        }
    }
}

/// What the detection of dead data did, where there is one (FSAF, §4 of the thesis).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeadDataCounters {
    /// Pages read to see what a write changes.
    pub extra_reads: u64,
    /// Sectors found dead.
    pub sectors_marked: u64,
    /// Sectors of those found alive again before anything was lost.
    pub sectors_revived: u64,
    /// Times a file system was recognised.
    pub armed: u64,
    /// Times its writer did what no such file system does, and it was let go.
    pub disarmed: u64,
    /// Memory of the tables, in bytes, now.
    pub memory_bytes: u64,
}

impl DeadDataCounters {
    /// What was done after `earlier`; file systems and memory are those of all time, and now.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            extra_reads: self.extra_reads - earlier.extra_reads,
            sectors_marked: self.sectors_marked - earlier.sectors_marked,
            sectors_revived: self.sectors_revived - earlier.sectors_revived,
            // What was recognised while the device was filled is still there.
            armed: self.armed,
            disarmed: self.disarmed,
            memory_bytes: self.memory_bytes,
        }
    }
}

/// Why a layer takes no more writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndOfLife {
    /// Too few blocks are left for the data.
    Blocks,
    /// The index log has no block left: neither trims nor checkpoints can be written.
    IndexLog,
}

impl fmt::Display for EndOfLife {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocks => "too few blocks are left that can be written",
            Self::IndexLog => "the blocks of the index log are used up",
        })
    }
}

/// Why a layer could not do what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FtlError {
    /// Every page holds current data: nothing can be cleaned.
    NoSpace,
    /// The logical page lies beyond the device.
    OutOfRange(Lpn),
    /// The chip refused: the medium failed, or one of its rules was broken, which is a bug of the layer.
    Flash(FlashError),
    /// Too many blocks are bad for another write.
    ReadOnly,
}

impl fmt::Display for FtlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoSpace => f.write_str("no space: every page holds current data"),
            Self::OutOfRange(lpn) => write!(f, "logical page {lpn} lies beyond the device"),
            Self::Flash(
                e @ (FlashError::NoPower
                | FlashError::Medium(_)
                | FlashError::Unreadable(_)
                | FlashError::ProgramFailed(_)
                | FlashError::EraseFailed(_)),
            ) => write!(f, "{e}"),
            Self::Flash(e) => write!(f, "the layer broke a rule of the chip: {e}"),
            Self::ReadOnly => f.write_str("the chip is worn out: it takes no more writes"),
        }
    }
}

impl core::error::Error for FtlError {}

impl From<FlashError> for FtlError {
    fn from(e: FlashError) -> Self {
        Self::Flash(e)
    }
}

/// A translation layer over a chip. Times are in the unit of the run's clock and never fall.
pub trait Layer {
    /// The chip below.
    type Chip;

    /// The chip below.
    fn chip(&self) -> &Self::Chip;

    /// The chip below, to tell it the time.
    fn chip_mut(&mut self) -> &mut Self::Chip;

    /// What was done so far.
    fn counters(&self) -> &Counters;

    /// Number of logical pages.
    fn logical_pages(&self) -> u32;

    /// Writes a page before the run: data that nobody updated yet. `read_only` data may be kept
    /// apart.
    ///
    /// # Errors
    /// [`FtlError`].
    fn fill(&mut self, lpn: Lpn, read_only: bool, now: u64) -> Result<(), FtlError>;

    /// The fill is over.
    ///
    /// # Errors
    /// [`FtlError`].
    fn filled(&mut self, now: u64) -> Result<(), FtlError>;

    /// The host writes a page: `data` is a page long, or empty where nobody knows the content.
    ///
    /// # Errors
    /// [`FtlError`].
    fn write(&mut self, lpn: Lpn, data: &[u8], now: u64) -> Result<(), FtlError>;

    /// The host reads a page into `into` (a page long, or empty where nobody wants the content);
    /// false if it holds no data, and then `into` is all zeros.
    ///
    /// # Errors
    /// [`FtlError`].
    fn read(&mut self, lpn: Lpn, into: &mut [u8]) -> Result<bool, FtlError>;

    /// The host no longer needs a page; false if it held no data.
    ///
    /// # Errors
    /// [`FtlError`].
    fn trim(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError>;

    /// Somebody infers that a page is garbage, though the host did not say so. It is not moved any
    /// more, but until its block is erased it can still be read and [revived](Self::revive). False if
    /// it held no data, or if the layer has no use for the news.
    ///
    /// # Errors
    /// [`FtlError`].
    fn mark_dead(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        let _ = (lpn, now);
        Ok(false)
    }

    /// A page inferred to be garbage is not; false if it was not marked, or is gone already.
    ///
    /// # Errors
    /// [`FtlError`].
    fn revive(&mut self, lpn: Lpn, now: u64) -> Result<bool, FtlError> {
        let _ = (lpn, now);
        Ok(false)
    }

    /// What the detection of dead data did, where there is one.
    fn dead_data(&self) -> Option<DeadDataCounters> {
        None
    }

    /// The longest that [`clean_in_idle_time`](Self::clean_in_idle_time) takes at a time, in
    /// nanoseconds.
    fn idle_step_ns(&self, timing: &Timing) -> u64 {
        let _ = timing;
        0
    }

    /// Cleans a block in idle time, if it is set so and that is worth it; false if there is nothing
    /// to do.
    ///
    /// # Errors
    /// [`FtlError`].
    fn clean_in_idle_time(&mut self, now: u64) -> Result<bool, FtlError> {
        let _ = now;
        Ok(false)
    }

    /// One step of upkeep in the background: moves the data of a block whose reads needed much correction,
    /// or of which a program failed, to other blocks. False if there is nothing to do, or nothing that
    /// can be done now.
    ///
    /// # Errors
    /// [`FtlError`].
    fn scrub(&mut self, now: u64) -> Result<bool, FtlError> {
        let _ = now;
        Ok(false)
    }

    /// How many blocks each rule of the victim policy chose, where it has several.
    fn choices(&self) -> alloc::vec::Vec<(&'static str, u64)> {
        alloc::vec::Vec::new()
    }

    /// Brings onto the chip what only memory knows of what the host was answered (trims), so that a
    /// [sync](thermocline_flash::Flash::sync) of the chip makes all of it last. Not called by whoever
    /// never syncs.
    ///
    /// # Errors
    /// [`FtlError`].
    fn settle(&mut self, now: u64) -> Result<(), FtlError> {
        let _ = now;
        Ok(())
    }

    /// The number of the page programmed last: what a sync of the chip that is begun now covers.
    fn last_program(&self) -> u64 {
        0
    }

    /// A sync of the chip is over that was begun when [`last_program`](Self::last_program) was that: all
    /// that was programmed up to it lasts. Whoever syncs the chip himself tells the layer, so that it can
    /// tell the next mount.
    fn synced(&mut self, last_program: u64) {
        let _ = last_program;
    }

    /// Settles, and leaves behind what makes the next mount quick. The caller syncs the chip then,
    /// and asks for nothing else.
    ///
    /// # Errors
    /// [`FtlError`].
    fn unmount(&mut self, now: u64) -> Result<(), FtlError> {
        self.settle(now)
    }

    /// Erased blocks that nothing was written to, where the layer keeps such.
    fn free_blocks(&self) -> Option<u32> {
        None
    }

    /// Whether the chip is worn out: it takes no more writes, and what it holds can be read.
    fn is_read_only(&self) -> bool {
        self.end_of_life().is_some()
    }

    /// Why it takes no more writes, if that is so.
    fn end_of_life(&self) -> Option<EndOfLife> {
        None
    }

    /// Blocks that may fail, in the worst places, before it takes no more writes; where that is known.
    fn spare_blocks(&self) -> Option<u32> {
        None
    }

    /// Where a logical page is, or [`Ppn::NONE`].
    fn locate(&self, lpn: Lpn) -> Ppn;

    /// Times a block was erased.
    fn erases(&self, block: BlockId) -> u32;

    /// Pages of a block whose data are current.
    fn valid_pages(&self, block: BlockId) -> u32;

    /// Asks for the first cache lines that a write of `lpn` will need.
    #[inline(always)]
    fn prefetch(&self, lpn: Lpn) {
        let _ = lpn;
    }

    /// Asks for the lines that depend on those.
    #[inline(always)]
    fn prefetch_more(&self, lpn: Lpn) {
        let _ = lpn;
    }

    /// Checks every invariant by counting again; the first violation in words.
    ///
    /// # Errors
    /// What does not hold.
    fn check(&self) -> Result<(), alloc::string::String>;
}
