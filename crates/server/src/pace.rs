//! A chip as slow as the one it stands for.
//!
//! The operations themselves are as quick as the medium below; a [`Clock`] of channels and banks
//! says when the emulated chip would have done them, and whoever answers the host waits until then.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Instant,
};

use thermocline_flash::{
    BlockId, Clock, Condition, Flash, FlashError, Geometry, Oob, Ppn, SimulatedTime, Timing,
};
use thermocline_media::{Health, Medium, MediumError, Syncing};

use crate::device::nanoseconds;

/// The time of the emulated chip, shared by the chip and those who wait for it.
#[derive(Clone, Debug)]
pub struct Pace {
    clock: Arc<Mutex<Clock>>,
    started: Instant,
}

impl Pace {
    /// Slows a chip down to `timing`.
    #[must_use]
    pub fn slow(chip: Box<dyn Medium>, timing: Timing) -> (Box<dyn Medium>, Self) {
        let geometry = chip.geometry();
        let clock = Clock::new(timing, geometry.banks, geometry.channels);
        let pace = Self { clock: Arc::new(Mutex::new(clock)), started: Instant::now() };
        (Box::new(Paced { chip, pace: pace.clone() }), pace)
    }

    /// Starts at the first operation now; forgets those while the device was opened.
    pub(crate) fn restart(&self) {
        self.clock().restart();
        self.begin();
    }

    /// The chip is asked for something now.
    pub(crate) fn begin(&self) {
        let now = self.now();
        self.clock().begin(now);
    }

    /// The end of all operations since then, in nanoseconds of this clock.
    pub(crate) fn answered(&self) -> u64 {
        self.clock().answered()
    }

    /// When everything is done that the chip was asked for, in nanoseconds of its clock.
    #[must_use]
    pub fn quiet(&self) -> u64 {
        self.clock().quiet()
    }

    pub(crate) fn now(&self) -> u64 {
        nanoseconds(self.started.elapsed())
    }

    fn clock(&self) -> MutexGuard<'_, Clock> {
        // A slightly wrong time is harmless.
        self.clock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A chip that notes how long the emulated one takes.
struct Paced {
    chip: Box<dyn Medium>,
    pace: Pace,
}

impl Paced {
    fn bank(&self, page: Ppn) -> u32 {
        let geometry = self.chip.geometry();
        geometry.bank_of(geometry.block_of(page))
    }
}

impl Flash for Paced {
    fn geometry(&self) -> &Geometry {
        self.chip.geometry()
    }

    fn in_order(&self) -> bool {
        self.chip.in_order()
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.chip.is_bad(block)
    }

    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        self.chip.read(from, into)?;
        self.pace.clock().read(self.bank(from));
        Ok(())
    }

    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        let oob = self.chip.read_oob(from)?;
        self.pace.clock().read_oob(self.bank(from));
        Ok(oob)
    }

    fn may_fade(&self) -> bool {
        self.chip.may_fade()
    }

    fn is_refused(&self, page: Ppn) -> bool {
        self.chip.is_refused(page)
    }

    fn is_closed(&self, page: Ppn) -> bool {
        self.chip.is_closed(page)
    }

    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        self.chip.program(to, oob, data)?;
        self.pace.clock().program(self.bank(to));
        Ok(())
    }

    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError> {
        self.chip.copy(from, to, oob)?;
        self.pace.clock().copy(self.bank(to));
        Ok(())
    }

    fn expect_copies(&mut self, pages: &mut dyn Iterator<Item = Ppn>) {
        self.chip.expect_copies(pages);
    }

    fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.chip.erase(block)?;
        self.pace.clock().erase(self.chip.geometry().bank_of(block));
        Ok(())
    }

    fn sync(&mut self) -> Result<(), FlashError> {
        self.chip.sync()
    }

    fn sync_programs(&mut self) -> Result<(), FlashError> {
        self.chip.sync_programs()
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.chip.mark_bad(block)
    }
}

impl Condition for Paced {
    fn ailing(&mut self) -> Option<BlockId> {
        self.chip.ailing()
    }

    fn erase_count(&self, block: BlockId) -> u32 {
        self.chip.erase_count(block)
    }

    fn read_programmed(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        self.read_with_oob(from, into).map(drop)
    }

    fn read_with_oob(&mut self, from: Ppn, into: &mut [u8]) -> Result<Option<Oob>, FlashError> {
        let oob = self.chip.read_with_oob(from, into)?;
        self.pace.clock().read(self.bank(from));
        Ok(oob)
    }
}

impl SimulatedTime for Paced {
    fn is_idle(&self, bank: u32) -> bool {
        self.pace.clock().is_idle(bank)
    }

    fn wait_for_a_bank(&mut self) {
        self.pace.clock().wait_for_a_bank();
    }

    fn hotness_scan(&mut self) {
        self.pace.clock().compute();
    }
}

impl Medium for Paced {
    fn begin_sync(&mut self) -> Result<Syncing, FlashError> {
        self.chip.begin_sync()
    }

    fn finish_sync(&mut self, done: &Syncing) -> Result<(), FlashError> {
        self.chip.finish_sync(done)
    }

    fn waits_for_disk(&self) -> bool {
        self.chip.waits_for_disk()
    }

    fn publish(&mut self) -> Result<(), MediumError> {
        self.chip.publish()
    }

    fn health(&self) -> Health {
        self.chip.health()
    }

    fn remarks(&self) -> Vec<String> {
        self.chip.remarks()
    }

    fn ailments(&self) -> Vec<String> {
        self.chip.ailments()
    }

    fn mend(&mut self) -> Result<Vec<String>, FlashError> {
        self.chip.mend()
    }
}
