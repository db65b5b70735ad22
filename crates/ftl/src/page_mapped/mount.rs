//! Coming back: the tables are made again from what the chip holds.
//!
//! The newest copy of a page is the one with the greatest sequence number. A copy from before the log
//! says that the page held no data is dead. What was programmed after the last moment that is proved to
//! have been synced may have been cut off, so it is read before it is believed; where it cannot be read,
//! the copy before it is the newest.
//!
//! Where the log ends with the word that all is written, the checkpoint is the table and nothing is
//! read. Else the blocks that are as full as they were in the checkpoint need only one look each, for a
//! block that was written again begins with a greater number than the checkpoint's. What the checkpoint
//! says of pages in other blocks is forgotten, and those blocks are read, area by area.
//!
//! Nothing is written. Pages that were cut off stay where they are, and blocks half erased are closed
//! blocks without data, which cleaning takes when it needs them.

use alloc::{boxed::Box, vec, vec::Vec};
use core::fmt;

use thermocline_flash::{BlockId, Chip, FlashError, Geometry, Lpn, Ppn};
use thermocline_policy::{placement::Placement, victim::Victim};

use super::{
    Config, Format, PageMapped,
    index::{Index, PAGE_MAPPED, Summary, Traces, VERSION, find_summary, find_traces},
    lasting::Lasting,
};
use crate::FtlError;

mod log;
mod pages;
mod tables;

use log::FoundLog;
use pages::Pages;

/// After a crash sequence numbers go on from the next multiple of this, so that nothing that was not
/// seen can be newer than what is written next.
pub(super) const EPOCH: u64 = 1 << 32;

/// How to mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mount {
    /// By the newest checkpoint and what came after it.
    #[default]
    Quick,
    /// By all pages: what a checkpoint says of where pages are is not believed.
    FromPages,
}

/// What a mount found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recovery {
    /// The layer was unmounted before; power did not just fail.
    pub clean: bool,
    /// A checkpoint told where pages are.
    pub used_checkpoint: bool,
    /// Pages of the index log that were read.
    pub log_pages_read: u64,
    /// Out-of-band areas of data pages that were read.
    pub areas_read: u64,
    /// Data pages that were read to see whether they had been cut off.
    pub pages_verified: u64,
    /// Logical pages that hold data.
    pub pages_found: u32,
    /// Data pages that could not be read: cut off, in a block half erased, or lost.
    pub unreadable_pages: u64,
    /// Logical pages of which a newer copy was found than the one taken, in ascending order: it cannot be
    /// read, and nothing says that it was ever whole. It was being written when power failed, or has
    /// been damaged since.
    pub rolled_back: Vec<Lpn>,
    /// Blocks of which every page was looked at.
    pub blocks_scanned: u32,
    /// The newest time that was found: the clock of the layer must not go on before it.
    pub newest_time: u64,
}

/// Why a chip could not be formatted or mounted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MountError {
    /// There is no summary, and nothing that a layer wrote.
    NotFormatted,
    /// There is no summary, but there are pages of a layer: all heads of the index log are damaged.
    Headless(Traces),
    /// The format is of another version.
    Version(u16),
    /// Another kind of layer formatted it.
    Layer(u8),
    /// The chip has another shape: what differs, as formatted and as it is.
    Shape(&'static str, u32, u32),
    /// The device has another number of logical pages.
    LogicalPages {
        /// As formatted.
        formatted: u32,
        /// As asked for.
        asked: u32,
    },
    /// The chip has too few blocks for the index log.
    SystemBlocks {
        /// How many it takes.
        needed: u32,
        /// How many there are.
        there: u32,
    },
    /// Pages or blocks are too small for the index log.
    TooSmall,
    /// The logical pages, the reserve and an open block for each stream of the policies do not fit.
    NoSpace {
        /// Logical pages.
        logical_pages: u32,
        /// Data pages of the chip.
        data_pages: u64,
    },
    /// The layer failed.
    Layered(FtlError),
}

impl MountError {
    pub(super) fn no_space(geometry: &Geometry, config: &Config) -> Self {
        let pages = u64::from(geometry.data_pages_per_block());
        Self::NoSpace {
            logical_pages: config.logical_pages,
            data_pages: u64::from(geometry.data_blocks()) * pages,
        }
    }
}

impl From<FlashError> for MountError {
    fn from(e: FlashError) -> Self {
        Self::Layered(e.into())
    }
}

impl From<FtlError> for MountError {
    fn from(e: FtlError) -> Self {
        Self::Layered(e)
    }
}

impl fmt::Display for MountError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFormatted => f.write_str("the chip is not formatted; format it first"),
            Self::Headless(traces) => write!(
                f,
                "no head of the index log can be read, but the chip holds {} pages of data and {} of \
                 the log; do not format it: salvage it from its pages",
                traces.data_pages, traces.log_pages
            ),
            Self::Version(found) => write!(
                f,
                "the chip has format version {found}, and this program knows {VERSION}; take the \
                 program that formatted it, or format it anew"
            ),
            Self::Layer(kind) => write!(
                f,
                "the chip was formatted by another kind of layer ({kind}); format it anew"
            ),
            Self::Shape(what, formatted, chip) => write!(
                f,
                "the chip was formatted with {what} = {formatted}, but has {chip}; open it with the \
                 shape it was formatted with"
            ),
            Self::LogicalPages { formatted, asked } => write!(
                f,
                "the chip is formatted for {formatted} logical pages, not {asked}; mount it with \
                 {formatted}"
            ),
            Self::SystemBlocks { needed, there } => write!(
                f,
                "the index log needs {needed} system blocks and the chip has {there}; give it more"
            ),
            Self::TooSmall => f.write_str(
                "the index log needs pages of at least 256 bytes and blocks of at least 2; take a \
                 chip with larger ones",
            ),
            Self::NoSpace { logical_pages, data_pages } => write!(
                f,
                "{logical_pages} logical pages, the reserve and an open block for each stream do not \
                 fit on {data_pages} data pages; take fewer logical pages or a policy with fewer streams"
            ),
            Self::Layered(e) => write!(f, "{e}"),
        }
    }
}

impl core::error::Error for MountError {}

impl<C: Chip, P: Placement> PageMapped<C, P> {
    /// Mounts a formatted chip. Policies may be others than before. Only reads; the first change writes
    /// that the chip is in use.
    ///
    /// # Errors
    /// [`MountError`].
    pub fn mount(
        mut chip: C,
        placement: P,
        victim: impl FnMut(u32) -> Box<dyn Victim>,
        config: Config,
        how: Mount,
    ) -> Result<(Self, Recovery), MountError> {
        let Some(summary) = find_summary(&mut chip)? else {
            return Err(match find_traces(&mut chip)? {
                Some(traces) => MountError::Headless(traces),
                None => MountError::NotFormatted,
            });
        };
        Self::mount_as(chip, placement, victim, config, summary, how)
    }

    /// Mounts a chip of which no head of the index log can be read, from its pages alone. The next
    /// unmount writes heads again. Trims of which the log told in a part that is lost are forgotten.
    ///
    /// # Errors
    /// [`MountError`].
    pub fn salvage(
        chip: C,
        placement: P,
        victim: impl FnMut(u32) -> Box<dyn Victim>,
        config: Config,
        format: Format,
    ) -> Result<(Self, Recovery), MountError> {
        let Format { id, created } = format;
        let summary = Summary::of(chip.geometry(), config.logical_pages, created, id);
        Self::mount_as(chip, placement, victim, config, summary, Mount::FromPages)
    }

    fn mount_as(
        mut chip: C,
        placement: P,
        victim: impl FnMut(u32) -> Box<dyn Victim>,
        config: Config,
        summary: Summary,
        how: Mount,
    ) -> Result<(Self, Recovery), MountError> {
        let geometry = *chip.geometry();
        if summary.version != VERSION {
            return Err(MountError::Version(summary.version));
        }
        if summary.layer != PAGE_MAPPED {
            return Err(MountError::Layer(summary.layer));
        }
        if let Some((what, formatted, chip)) = summary.difference(&geometry) {
            return Err(MountError::Shape(what, formatted, chip));
        }
        if summary.logical_pages != config.logical_pages {
            let (formatted, asked) = (summary.logical_pages, config.logical_pages);
            return Err(MountError::LogicalPages { formatted, asked });
        }
        let mut found = FoundLog::find(&mut chip, &summary)?;
        let mut recovery = Recovery::default();
        let mut pages = Pages::find(&mut chip, &mut found, how, &mut recovery)?;
        let mut layer = Self::built(chip, placement, victim, config, false)
            .map_err(|_| MountError::no_space(&geometry, &config))?;
        recovery.clean = found.clean.is_some();
        layer.programs = found.sequence;
        if !recovery.clean {
            layer.programs = (found.sequence / EPOCH + 1) * EPOCH;
        }
        let mut index = Index::new(summary, found.log(&layer.chip), &geometry);
        index.complete = found.complete;
        index.numbered = found.numbered;
        index.since = found.since.filter(|_| recovery.clean).unwrap_or(layer.programs);
        index.known = found.known;
        index.asleep = recovery.clean;
        index.is_rebuilt = how == Mount::FromPages;
        index.word = Lasting::owing(pages.heard);
        let is_used_up = index.log.free.is_empty();
        let closed_early = layer.take_tables(&mut pages, &mut index, &mut recovery);
        index.lasting = layer.banks.iter().map(|bank| bank.free.len()).collect();
        layer.index = Some(Box::new(index));
        if is_used_up {
            layer.log_is_used_up();
        }
        // A crash in a cleaning costs room, and so does another in the first one after it, and blocks
        // that are closed before they are full: the room there is has to be used as after failures of
        // the chip.
        layer.after_mount(!recovery.clean || closed_early);
        layer.follows_up = layer.wants_follow_up();
        Ok((layer, recovery))
    }
}

/// A list as long as there are logical pages.
fn for_each_page<T: Clone>(logical_pages: u32, value: T) -> Vec<T> {
    vec![value; logical_pages as usize]
}

/// All data pages of a block with their numbers in it.
fn data_pages(geometry: &Geometry, block: BlockId) -> impl Iterator<Item = (u32, Ppn)> + use<> {
    let (geometry, pages) = (*geometry, geometry.data_pages_per_block());
    (0..pages).map(move |page| (page, geometry.ppn(block, geometry.header_pages + page)))
}

/// Whether a page of the log, or of data, stands beside an area.
const fn is_log(lpn: Lpn) -> bool {
    lpn.0 == Lpn::NONE.0
}
