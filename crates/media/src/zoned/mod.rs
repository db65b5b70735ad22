//! A zoned device as a chip: a zone is an erase block, a program writes at its pointer, an erase resets it.
//!
//! A zone has no place beside a page, and none that is written in place. So what stands beside pages, its
//! record, is written twice, and never in between the pages:
//!
//! * **The record log**, in three zones of its own, conventional ones where there are. A sync writes the records of all pages that were programmed
//!   since the last one there, of whatever zone, in one block for up to 126 of them. Erases, bad marks and erase
//!   counts are facts in the same log. A log zone begins with all that is true then, so the one before can be
//!   reset. Whoever opens a device for writing begins a new one: nothing is appended to what a loss of power cut off.
//! * **The table** behind the pages of each full zone, with the records of all of them. Once that lasts, the log
//!   need not have them. One read of the table serves 126 pages.
//!
//! The rules by which the chip survives any loss of power:
//!
//! * A page below the pointer without a valid record is unreadable, and so is one whose checksum does not fit: a
//!   pointer proves nothing. Pages are appended behind such a page. One that the pointer is within is torn, and is
//!   filled with what makes it no page, for what is unreadable once must not turn up later.
//! * Programs are gathered in memory and written in runs, before every sync at the latest. The same sync covers
//!   them and their records.
//! * An erase is noted in memory. It is carried out once a sync that was begun after it is over.
//! * A zone that was partly written takes one of the device's places for active zones. Where another zone needs the
//!   place, the zone that was idle longest is *sealed*: it gets its table at the pointer, and is finished. A
//!   program behind that fails, as one of a worn block does, and the block is erased where that would be marked.
//! * After a sync that failed none succeeds.

mod abi;
mod areas;
mod block;
mod chip;
mod device;
mod entry;
mod file;
mod format;
mod log;
mod mount;
mod reading;
mod rules;
mod syncing;
pub mod tape;
mod writing;

use std::sync::Arc;

use thermocline_flash::{BlockId, FlashError, Geometry, Ppn};

pub(crate) use entry::ENTRY;

use crate::{Health, record::Record};
use areas::Tables;
use device::{Device, Shape};
use format::{Fact, Layout};
use log::Log;
use reading::Ahead;
use syncing::Flusher;
use writing::Run;

/// A chip on a zoned device.
#[derive(Debug)]
pub struct Zoned {
    device: Arc<dyn Device>,
    flusher: Arc<Flusher>,
    geometry: Geometry,
    layout: Layout,
    read_only: bool,
    blocks: Vec<Block>,
    log: Log,
    tables: Tables,
    runs: Vec<Run>,
    ahead: Ahead,
    /// Facts that the next sync writes to the log.
    facts: Vec<Fact>,
    /// Blocks with pages whose records are not in the log.
    unlogged: Vec<BlockId>,
    /// Blocks that were erased, and the sync after which that is carried out.
    waiting: Vec<(BlockId, u64)>,
    /// Blocks whose table was written, and the sync after which it lasts.
    tabled: Vec<(BlockId, u64)>,
    /// Syncs that were begun, and the last of those that are over.
    begun: u64,
    lasting: u64,
    /// The sync that covers all that was written.
    covered_by: u64,
    /// Counts programs: what was idle longest has the least.
    clock: u64,
    /// The system's number of the first write that failed. What was to be written is in memory alone.
    failed: Option<i32>,
    refused: Option<Ppn>,
    health: Health,
    /// Whether zones hold data without a record log: another program's.
    is_foreign: bool,
    /// Blocks of the log that hold nothing valid though they lie below its pointer.
    lost_log_blocks: u32,
    /// A page, for who wants none of it.
    page: Vec<u8>,
}

/// An erase block and its zone.
#[derive(Debug, Default)]
struct Block {
    /// Where the zone begins, in bytes.
    start: u64,
    /// Bytes that were written to it.
    pointer: u64,
    /// The page to be programmed next.
    next: u32,
    erases: u32,
    is_bad: bool,
    /// The zone can only be read: programs and erases fail.
    is_stuck: bool,
    /// It takes one of the device's places for active zones.
    is_active: bool,
    /// Its erase is noted and not carried out.
    is_waiting: bool,
    /// What stands beside its pages, as long as no table of it lasts. Zeros stand for nothing.
    areas: Option<Box<[Record]>>,
    /// How many of these the log has.
    logged: u32,
    /// Its table was written behind that many pages.
    table: Option<u32>,
    /// The pointer is within this page, which is torn for good.
    torn: Option<u32>,
    /// When it was programmed last.
    used: u64,
}

impl Zoned {
    /// The block and the page in it of a physical page.
    fn at(&self, page: Ppn) -> Result<(BlockId, u32), FlashError> {
        let (block, number) = (self.geometry.block_of(page), self.geometry.page_of(page));
        if block.0 >= self.geometry.blocks() || number >= self.geometry.pages_per_block {
            return Err(FlashError::OutOfRange);
        }
        Ok((block, number))
    }

    fn block(&self, block: BlockId) -> &Block {
        &self.blocks[block.index()]
    }

    fn block_mut(&mut self, block: BlockId) -> &mut Block {
        &mut self.blocks[block.index()]
    }

    /// Active zones that are used of those that the device may have at a time; 0 for any number. Where fewer may be
    /// open, the kernel's null device closes one for another only as long as one more could be active.
    fn most_active(&self) -> u32 {
        let Shape { most_open, most_active, .. } = self.device.shape();
        most_active - u32::from((1..most_active).contains(&most_open))
    }
}

/// The system's number of an error; "input/output error" for one that has none.
fn error_number(error: &std::io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

/// The system below failed.
fn medium(error: &std::io::Error) -> FlashError {
    FlashError::Medium(error_number(error))
}
