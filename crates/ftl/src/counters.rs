//! Counters of the layers.

/// Counters of a layer. The fill is not included: statistics begin after it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Pages written by the host.
    pub host_writes: u64,
    /// Host writes that a write buffer took.
    pub buffered: u64,
    /// Pages that a write buffer passed on.
    pub drained: u64,
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
    /// Survivors that could not be read. Such a page stays where it is, and reading it is an error,
    /// until the host writes or trims it.
    pub pages_lost: u64,
    /// Reads and moves that found another page's data, or older ones, where a page's data should be.
    pub misplaced: u64,
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
    /// Map pages programmed, where the map is on the chip.
    pub map_programs: u64,
    /// Reads of the map from the chip: of an entry or of a page.
    pub map_reads: u64,
}

impl Counters {
    /// Pages of the host that were programmed for the first time: all that it wrote, unless a write buffer took them.
    #[must_use]
    pub const fn first_programs(&self) -> u64 {
        self.host_writes - self.buffered + self.drained
    }

    /// Pages programmed: those of the host, copies, and pages of the map.
    #[must_use]
    pub const fn programs(&self) -> u64 {
        self.first_programs() + self.copies + self.map_programs
    }

    /// The difference from `earlier`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            host_writes: self.host_writes - earlier.host_writes,
            buffered: self.buffered - earlier.buffered,
            drained: self.drained - earlier.drained,
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
            misplaced: self.misplaced - earlier.misplaced,
            scrubbed: self.scrubbed - earlier.scrubbed,
            folds: self.folds - earlier.folds,
            forced_folds: self.forced_folds - earlier.forced_folds,
            dead_left: self.dead_left - earlier.dead_left,
            reclaimed: self.reclaimed - earlier.reclaimed,
            index_programs: self.index_programs - earlier.index_programs,
            map_programs: self.map_programs - earlier.map_programs,
            map_reads: self.map_reads - earlier.map_reads,
        }
    }
}

/// Counters of a write buffer in front of a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferCounters {
    /// Pages that the host wrote to it.
    pub writes: u64,
    /// Host writes that replaced a page still in the buffer.
    pub coalesced: u64,
    /// Pages that it passed on because it was full.
    pub evictions: u64,
    /// Pages that it passed on because the host flushed.
    pub flushed: u64,
    /// Pages that it dropped because the host trimmed them.
    pub trimmed: u64,
    /// Reads that it answered.
    pub read_hits: u64,
    /// Pages that it holds now.
    pub left: u64,
}

impl BufferCounters {
    /// The difference from `earlier`; the pages left are today's.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            writes: self.writes - earlier.writes,
            coalesced: self.coalesced - earlier.coalesced,
            evictions: self.evictions - earlier.evictions,
            flushed: self.flushed - earlier.flushed,
            trimmed: self.trimmed - earlier.trimmed,
            read_hits: self.read_hits - earlier.read_hits,
            left: self.left,
        }
    }
}

/// Counters of the cached mapping table, where the map is on the chip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TableCounters {
    /// Entries of the map that the host's pages needed.
    pub lookups: u64,
    /// Lookups that the table answered.
    pub hits: u64,
    /// Entries that left it for others.
    pub evictions: u64,
    /// Evicted entries that had changed, so that a map page was written.
    pub dirty_evictions: u64,
    /// Map pages that garbage collection wrote because their entries were not in the table.
    pub gc_programs: u64,
}

impl TableCounters {
    /// The difference from `earlier`.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            lookups: self.lookups - earlier.lookups,
            hits: self.hits - earlier.hits,
            evictions: self.evictions - earlier.evictions,
            dirty_evictions: self.dirty_evictions - earlier.dirty_evictions,
            gc_programs: self.gc_programs - earlier.gc_programs,
        }
    }
}

/// Counters of an SLC cache in front of a layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheCounters {
    /// Pages programmed in it.
    pub writes: u64,
    /// Pages that went to the log, because it had no block for them.
    pub bypassed: u64,
    /// Pages moved from it to the log.
    pub folded: u64,
    /// Pages that the host trimmed in it.
    pub trimmed: u64,
    /// Its blocks that were erased.
    pub erases: u64,
    /// Current pages in it now.
    pub left: u64,
    /// Blocks that it has now, beside erased ones.
    pub blocks: u64,
    /// The most blocks that it had.
    pub most_blocks: u64,
}

impl CacheCounters {
    /// The difference from `earlier`; the fill and the highest fill are not differences.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            writes: self.writes - earlier.writes,
            bypassed: self.bypassed - earlier.bypassed,
            folded: self.folded - earlier.folded,
            trimmed: self.trimmed - earlier.trimmed,
            erases: self.erases - earlier.erases,
            ..*self
        }
    }
}

/// Counters of the detection of dead data (FSAF, §4 of the thesis).
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
    /// The difference from `earlier`; file systems and memory are not differences.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        Self {
            extra_reads: self.extra_reads - earlier.extra_reads,
            sectors_marked: self.sectors_marked - earlier.sectors_marked,
            sectors_revived: self.sectors_revived - earlier.sectors_revived,
            // File systems recognised during the fill are still there.
            armed: self.armed,
            disarmed: self.disarmed,
            memory_bytes: self.memory_bytes,
        }
    }
}
