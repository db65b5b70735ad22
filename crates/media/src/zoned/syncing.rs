//! Syncs: what they cover, and what waits for them.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicI32, AtomicU64, Ordering},
    },
};

use thermocline_flash::{BlockId, FlashError};

use super::{Zoned, device::Device, error_number, format::Fact, medium};
use crate::{Durable, Health, Medium, Syncing};

/// The device as a sync needs it. One sync runs at a time, and after one that failed none succeeds.
#[derive(Debug)]
pub(super) struct Flusher {
    device: Arc<dyn Device>,
    turn: Mutex<()>,
    syncs: AtomicU64,
    /// The system's number of the error of the first sync that failed, or 0.
    failed: AtomicI32,
}

impl Flusher {
    pub(super) fn new(device: Arc<dyn Device>) -> Arc<Self> {
        let (syncs, failed) = (AtomicU64::new(0), AtomicI32::new(0));
        Arc::new(Self { device, turn: Mutex::new(()), syncs, failed })
    }

    fn check(&self) -> io::Result<()> {
        match self.failed.load(Ordering::Acquire) {
            0 => Ok(()),
            failed => Err(io::Error::from_raw_os_error(failed)),
        }
    }
}

impl Durable for Flusher {
    fn sync(&self) -> io::Result<()> {
        let _turn = self.turn.lock().unwrap_or_else(PoisonError::into_inner);
        self.check()?;
        self.syncs.fetch_add(1, Ordering::Relaxed);
        let done = self.device.sync();
        if let Err(error) = &done {
            self.failed.store(error_number(error), Ordering::Release);
        }
        done
    }
}

impl Zoned {
    /// One sync: erases are carried out at its end, and last after the next.
    pub(super) fn sync_once(&mut self) -> Result<(), FlashError> {
        let syncing = self.begin_sync()?;
        syncing.wait().map_err(|error| medium(&error))?;
        self.finish_sync(&syncing)
    }

    /// Everything, erases as well.
    pub(super) fn sync_all(&mut self) -> Result<(), FlashError> {
        self.sync_once()?;
        // Erases that were carried out just now are new to the log.
        if self.covered_by > self.lasting || self.must_log() { self.sync_once() } else { Ok(()) }
    }

    /// Whether a fact waits that is not only of use.
    fn must_log(&self) -> bool {
        self.facts.iter().any(|fact| !matches!(fact, Fact::Tabled(..)))
    }

    pub(super) fn has_unlogged(&self) -> bool {
        self.unlogged.iter().any(|&block| !self.to_be_logged(block).is_empty())
    }

    /// Waits for the device at once.
    pub(super) fn flush_now(&mut self) -> Result<(), FlashError> {
        self.flusher.sync().map_err(|error| medium(&error))
    }

    /// Nothing that a block holds counts any more once the next sync is over, whether it is erased by then or not.
    pub(super) fn make_void(&mut self, block: BlockId) {
        self.tabled.retain(|(tabled, _)| *tabled != block);
        let is = self.block_mut(block);
        (is.areas, is.table, is.logged) = (None, None, is.next);
        is.erases = is.erases.saturating_add(1);
        let erases = is.erases;
        self.facts.push(Fact::Erased(block, erases));
    }

    /// An erase is due: nothing that was done before it can be lost any more.
    fn carry_out(&mut self, block: BlockId) {
        let start = self.block(block).start;
        if self.block(block).pointer == 0 {
            let is = self.block_mut(block);
            (is.is_waiting, is.is_active, is.next, is.logged, is.areas) =
                (false, false, 0, 0, None);
            return;
        }
        if self.device.reset(start).is_err() {
            // The layer finds that it cannot be programmed.
            let is = self.block_mut(block);
            (is.is_stuck, is.is_waiting) = (true, false);
            self.health.failed_erases += 1;
            return;
        }
        let tables = self.layout.table(self.layout.data);
        self.tables.forget(block, tables);
        self.tabled.retain(|(tabled, _)| *tabled != block);
        self.unlogged.retain(|unlogged| *unlogged != block);
        self.wrote();
        let is = self.block_mut(block);
        *is = super::Block {
            start,
            erases: is.erases.saturating_add(1),
            is_bad: is.is_bad,
            ..super::Block::default()
        };
        let erases = is.erases;
        self.facts.push(Fact::Erased(block, erases));
    }
}

impl Medium for Zoned {
    /// Costs no call of the system where nothing was written since the last sync.
    fn begin_sync(&mut self) -> Result<Syncing, FlashError> {
        if self.read_only {
            return Ok(Syncing::default());
        }
        if let Some(number) = self.failed {
            return Err(FlashError::Medium(number));
        }
        self.flusher.check().map_err(|error| medium(&error))?;
        self.write_out_all()?;
        if self.has_unlogged() || self.must_log() {
            self.write_log()?;
        }
        self.begun += 1;
        let target =
            (self.covered_by > self.lasting).then(|| self.flusher.clone() as Arc<dyn Durable>);
        Ok(Syncing { generation: self.begun, target })
    }

    /// Fails if another sync has failed since this one was waited for.
    fn finish_sync(&mut self, done: &Syncing) -> Result<(), FlashError> {
        self.flusher.check().map_err(|error| medium(&error))?;
        self.lasting = self.lasting.max(done.generation);
        let lasting = self.lasting;
        for (block, _) in
            self.tabled.extract_if(.., |(_, sync)| *sync <= lasting).collect::<Vec<_>>()
        {
            let is = self.block_mut(block);
            is.areas = None;
            if let Some(pages) = is.table {
                self.facts.push(Fact::Tabled(block, pages));
            }
        }
        for (block, _) in
            self.waiting.extract_if(.., |(_, sync)| *sync <= lasting).collect::<Vec<_>>()
        {
            self.carry_out(block);
        }
        self.reset_superseded(lasting)
    }

    fn waits_for_disk(&self) -> bool {
        self.device.waits_for_disk()
    }

    fn ailments(&self) -> Vec<String> {
        let lost = self.lost_log_blocks;
        let lost = (lost > 0).then(|| {
            format!("{lost} blocks of the record log hold nothing that can be read: pages that were programmed then may be lost")
        });
        lost.into_iter().collect()
    }

    /// A log that is begun anew holds all that is known.
    fn mend(&mut self) -> Result<Vec<String>, FlashError> {
        if self.lost_log_blocks == 0 {
            return Ok(Vec::new());
        }
        if self.log.current.is_none() {
            // The first fact begins it.
            self.facts.push(Fact::Whole(0));
        }
        self.sync_all()?;
        self.lost_log_blocks = 0;
        Ok(vec!["the record log is written anew, with all that is known".into()])
    }

    fn is_foreign(&self) -> bool {
        self.is_foreign
    }

    /// Of the active zones one is the log's, two while it begins another zone, unless it is in conventional ones; and
    /// one is that of a head of the layer's log while it is written.
    fn most_open_blocks(&self) -> Option<(u32, u32)> {
        let most = self.most_active();
        let taken = if self.log.is_conventional() { 1 } else { 3 };
        (most > 0).then(|| (self.device.shape().most_active, most.saturating_sub(taken)))
    }

    fn health(&self) -> Health {
        let bad_blocks = self.blocks.iter().filter(|block| block.is_bad).count() as u32;
        let syncs = self.flusher.syncs.load(Ordering::Relaxed);
        Health { bad_blocks, syncs, ..self.health }
    }
}
