//! Syncs, and the erases that wait for them.
//!
//! Syncs are numbered in the order in which they begin. An operation done when `begun` syncs had begun is
//! covered by every sync with a greater number, once that has returned.

use std::{collections::VecDeque, sync::Arc};

use thermocline_flash::{BlockId, FlashError};

use super::{
    Copy, Image, ImageError, entry, record,
    store::{self, Store},
};
use crate::{Durable, Health, Medium, MediumError, Syncing};

/// Operations that wait for a sync.
#[derive(Debug)]
pub(super) struct Waiting {
    /// Erases in the order of their requests, each with the number of syncs begun before it.
    erases: VecDeque<(BlockId, u64)>,
    /// A bit a block: its erase waits.
    blocks: Vec<u64>,
    /// Syncs begun.
    begun: u64,
    /// Everything done before the sync of this number began is durable.
    lasting: u64,
    /// Syncs begun before the last write to the file. What was written before the file was opened
    /// need not last either.
    written: u64,
}

impl Waiting {
    pub(super) fn new(blocks: u32) -> Self {
        let blocks = vec![0; blocks.div_ceil(64) as usize];
        Self { erases: VecDeque::new(), blocks, begun: 0, lasting: 0, written: 0 }
    }

    /// Whether a block's erase waits to be carried out.
    #[inline]
    pub(super) fn has(&self, block: BlockId) -> bool {
        self.blocks[block.index() / 64] >> (block.0 % 64) & 1 != 0
    }

    /// Queues an erase. A waiting erase of the block covers it: nothing was programmed since.
    pub(super) fn note(&mut self, block: BlockId) {
        if !self.has(block) {
            self.blocks[block.index() / 64] |= 1 << (block.0 % 64);
            self.erases.push_back((block, self.begun));
        }
    }

    /// The file was written to.
    #[inline]
    pub(super) const fn wrote(&mut self) {
        self.written = self.begun;
    }

    /// The next erase that may be carried out.
    fn due(&self) -> Option<BlockId> {
        let &(block, noted) = self.erases.front()?;
        (noted < self.lasting).then_some(block)
    }

    fn done(&mut self, block: BlockId) {
        self.erases.pop_front();
        self.blocks[block.index() / 64] &= !(1 << (block.0 % 64));
    }

    /// Whether everything that was written lasts.
    const fn all_lasts(&self) -> bool {
        self.written < self.lasting
    }
}

impl Image {
    /// A sync, and what waited for it.
    pub(super) fn sync_once(&mut self) -> Result<(), FlashError> {
        let syncing = self.begin_sync()?;
        syncing.wait().map_err(medium)?;
        self.finish_sync(&syncing)
    }

    /// A sync after which nothing waits and everything lasts, erases and marks as well.
    pub(super) fn sync_all(&mut self) -> Result<(), FlashError> {
        if self.open.read_only {
            return Ok(());
        }
        self.sync_once()?;
        // Writes the changes that had to wait.
        if !self.waiting.all_lasts() {
            self.sync_once()?;
        }
        Ok(())
    }

    fn carry_out(&mut self, block: BlockId) -> std::io::Result<()> {
        let header = record::segment::erased(block, self.table.erases(block));
        self.waiting.wrote();
        self.areas.blank(block, &header, &self.runs, &*self.store)?;
        let is_nand = self.header.kind == thermocline_flash::Kind::Nand;
        if self.open.punch_erased && is_nand {
            self.store
                .punch(self.layout.payload_of(block, 0), self.header.geometry.block_size())?;
            if let Some(second) = self.layout.second_payload_of(block, 0) {
                self.store.punch(second, self.header.geometry.block_size())?;
            }
        }
        Ok(())
    }

    /// Writes what the block table does not say yet, as far as it may be written now.
    fn write_table(&mut self) -> Result<(), FlashError> {
        if !self.table.is_dirty() {
            return Ok(());
        }
        let Waiting { begun, lasting, .. } = self.waiting;
        self.waiting.wrote();
        self.table.write(&*self.store, &self.layout, begun, lasting).map_err(medium)
    }
}

/// The system below failed.
pub(super) fn medium(error: std::io::Error) -> FlashError {
    FlashError::Medium(store::error_number(&error))
}

impl Medium for Image {
    /// Costs no call of the system where nothing was written since the last sync.
    fn begin_sync(&mut self) -> Result<Syncing, FlashError> {
        if self.open.read_only {
            return Ok(Syncing::default());
        }
        self.write_again()?;
        // Everything programmed so far, or the sync would not cover it.
        self.write_out_all()?;
        // Bad marks go along, unless the slot they belong to is on its way itself.
        self.write_table()?;
        let target = (!self.waiting.all_lasts()).then(|| self.store.clone() as Arc<dyn Durable>);
        self.waiting.begun += 1;
        self.store.unsynced().sync_begun(self.waiting.begun);
        Ok(Syncing { generation: self.waiting.begun, target })
    }

    /// Fails if another sync has failed since this one was waited for.
    fn finish_sync(&mut self, done: &Syncing) -> Result<(), FlashError> {
        self.store.check().map_err(medium)?;
        self.waiting.lasting = self.waiting.lasting.max(done.generation);
        self.store.unsynced().lasts(self.waiting.lasting);
        while let Some(block) = self.waiting.due() {
            self.carry_out(block).map_err(medium)?;
            self.waiting.done(block);
        }
        self.write_table()
    }

    fn waits_for_disk(&self) -> bool {
        self.store.waits_for_disk()
    }

    fn publish(&mut self) -> Result<(), MediumError> {
        self.take_name()
            .map_err(|what| entry::refused(ImageError { path: self.path.clone(), what }))
    }

    fn remarks(&self) -> Vec<String> {
        self.remarks.clone()
    }

    fn ailments(&self) -> Vec<String> {
        let header = self.damaged_header.map(|copy| format!("{} is damaged", copy.name()));
        let table = (self.lost_groups > 0).then(|| {
            format!("{} groups of the block table are damaged, in both copies", self.lost_groups)
        });
        header.into_iter().chain(table).chain(self.areas.unread.words()).collect()
    }

    fn mend(&mut self) -> Result<Vec<String>, FlashError> {
        let mut mended = Vec::new();
        if let Some(copy) = self.damaged_header {
            let at = if copy == Copy::First { 0 } else { self.layout.second_header() };
            self.waiting.wrote();
            self.store.write_at(&self.header.encode(), at).map_err(medium)?;
            mended.push(format!("{} was damaged and is written anew from the other", copy.name()));
        }
        if let Some(at) = self.areas.unread.cut_at() {
            mended.push(format!(
                "the file was cut off at byte {at} and is as long as it was; what stood behind is lost"
            ));
        }
        for group in self.table.renew_unread() {
            mended.push(format!(
                "group {group} of the block table, at byte {}, could not be read whole and is written anew",
                self.layout.group(group, 0)
            ));
        }
        mended.extend(self.mend_copies()?);
        if !mended.is_empty() {
            self.sync_all()?;
            self.damaged_header = None;
        }
        Ok(mended)
    }

    fn health(&self) -> Health {
        Health {
            failed_reads: self.failed_reads,
            bad_blocks: self.table.bad_blocks(),
            syncs: self.store.syncs(),
            ..Health::default()
        }
    }
}
