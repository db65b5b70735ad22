//! The index log: what lasts beside the data pages themselves.
//!
//! Problem. The areas beside the pages say where the newest copy of each page is, but not which pages
//! were trimmed since, and reading them all takes long. Idea. The last blocks of the chip hold a log
//! (the papers' index segment) of facts, each of which is true for ever: "these pages held no data when
//! so many pages had been programmed". Copies from before that are dead. Consequence. Facts need no
//! order and no atomicity: a mount takes all it finds, and a page that was cut off is one fact less. A
//! block of the log may be erased as soon as newer facts say as much, and the rule of the medium that an
//! erase lasts only together with all that was done before it does the rest.
//!
//! A *checkpoint* is such a set of newer facts (all absent pages), with the table of blocks and the map
//! beside it, written in small steps while the host goes on. The map only makes mounting quick.

use alloc::{boxed::Box, vec, vec::Vec};

use thermocline_flash::{BlockId, Geometry, Lpn};

mod checkpoint;
mod inspect;
mod log;
pub(super) mod record;
mod summary;
mod traces;
mod upkeep;

pub use super::lasting::number as program_number;
pub use inspect::{Entry, entries};
pub use record::{BlockEntry, Complete, Head, Header, Interval, Kind, Record};
pub use summary::{LEAST_PAGE, PAGE_MAPPED, Summary, VERSION, find_summary, system_blocks_for};
pub use traces::{Traces, find_traces};

pub(super) use log::{Log, Used};

use super::lasting::Lasting;

/// What a layer keeps to write the index log. Nobody has one in the simulator.
pub(super) struct Index {
    pub(super) summary: Summary,
    pub(super) log: Log,
    /// The newest complete checkpoint.
    pub(super) complete: Complete,
    /// Known sequence numbers of before this mount; the last of them may be this mount's own.
    pub(super) known: Vec<Interval>,
    /// The first sequence number since the last mount after a crash.
    pub(super) since: u64,
    /// Pages trimmed that the log does not tell of yet, as runs; some may hold data again.
    pending: Vec<(u32, u32)>,
    /// Room for that many runs.
    most_pending: usize,
    /// The checkpoint being written.
    writing: Option<checkpoint::Writing>,
    /// The number of the checkpoint begun last.
    pub(super) numbered: u32,
    /// What the areas of closed blocks say, as far as it was looked at since they were erased.
    pub(super) surveys: Vec<Option<BlockEntry>>,
    /// Whether the last thing the log says is that all is written.
    pub(super) asleep: bool,
    /// Whether the tables were made from the pages alone: the checkpoint that there is may be wrong.
    pub(super) is_rebuilt: bool,
    /// Blocks of each bank's free list, its first ones, whose erase lasts.
    pub(super) lasting: Vec<usize>,
    /// A page of the host is between two attempts to program it: no checkpoint is written on, which would
    /// not tell of the first.
    pub(super) quiet: bool,
    /// Pages of checkpoints owed, in parts of a data block.
    owed: u64,
    page: record::Page,
    /// The last time that was heard of.
    pub(super) time: u64,
    /// What is known to last, and who said so.
    pub(super) word: Lasting,
}

impl Index {
    pub(super) fn new(summary: Summary, log: Log, geometry: &Geometry) -> Self {
        let most_pending = record::most_runs(geometry.page_size);
        Self {
            summary,
            log,
            complete: Complete::NONE,
            known: Vec::new(),
            since: 0,
            pending: Vec::with_capacity(most_pending),
            most_pending,
            writing: None,
            numbered: 0,
            surveys: vec![None; geometry.data_blocks() as usize],
            asleep: false,
            is_rebuilt: false,
            lasting: Vec::new(),
            quiet: false,
            owed: 0,
            page: record::Page::new(geometry.page_size),
            time: 0,
            word: Lasting::default(),
        }
    }

    /// Bytes of it.
    pub(super) fn memory(&self) -> usize {
        size_of::<Self>()
            + self.surveys.capacity() * size_of::<Option<BlockEntry>>()
            + self.pending.capacity() * size_of::<(u32, u32)>()
            + self.summary.page_size as usize
    }

    /// A block was erased: nothing is known of it.
    pub(super) fn erased(&mut self, block: BlockId) {
        if let Some(survey) = self.surveys.get_mut(block.index()) {
            *survey = None;
        }
    }

    /// The program of that number failed: what is on the chip of it, if anything, is never known to be
    /// whole.
    pub(super) fn distrust(&mut self, number: u64) {
        self.known.retain(|&(from, _)| from != self.since);
        if self.since < number {
            self.known.push((self.since, number - 1));
        }
        self.since = number + 1;
        self.word.failed();
    }

    /// Notes a page that holds no data any more; false if the notes must be written first.
    fn note_trim(&mut self, lpn: Lpn) -> bool {
        if self.pending.len() == self.most_pending
            && self.pending.last().is_none_or(|(first, length)| first + length != lpn.0)
        {
            return false;
        }
        record::add_to_runs(&mut self.pending, lpn);
        true
    }

    /// The known intervals, with what this mount knows: all up to `sequence`.
    pub(super) fn known_up_to(&self, sequence: u64) -> Vec<Interval> {
        let mut known = self.known.clone();
        known.retain(|&(from, _)| from != self.since);
        // Always the last, be it empty: a clean mount goes on with it.
        known.push((self.since, sequence));
        // Of intervals that are forgotten the pages are looked at once more.
        let extra = known.len().saturating_sub(record::MOST_KNOWN);
        known.drain(..extra);
        known
    }
}

/// An index behind a pointer, for layers that have one.
pub(super) type Slot = Option<Box<Index>>;
