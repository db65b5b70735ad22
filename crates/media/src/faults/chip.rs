//! A chip with faults is a chip.

use thermocline_flash::{BlockId, Condition, Flash, FlashError, Geometry, Oob, Ppn, SimulatedTime};

use super::{Cut, Faulty, Scar, bits::Correction, cache::Shown};
use crate::{Health, Medium, MediumError, Syncing};

impl<F: Condition> Faulty<F> {
    /// The payload of a page of the chip below is read: turns bits, corrects them.
    fn correct(&mut self, page: Ppn) -> Result<(), FlashError> {
        match self.scars.get(&page) {
            Some(Scar::Torn | Scar::TornPayload) => return Err(FlashError::Unreadable(page)),
            Some(Scar::Blank) => return Ok(()),
            None => {}
        }
        match self.bits.read(page, self.inner.geometry(), &self.faults, &mut self.draws) {
            Correction::Clean => Ok(()),
            Correction::Corrected => {
                self.health.corrected_reads += 1;
                Ok(())
            }
            Correction::Failed => {
                self.health.failed_reads += 1;
                Err(FlashError::Unreadable(page))
            }
        }
    }

    fn erase_at_once(&mut self, block: BlockId, cut: Option<Cut>) -> Result<(), FlashError> {
        match cut {
            None => return self.renew(block),
            Some(Cut::Before) => {}
            Some(Cut::After) => self.renew(block)?,
            Some(Cut::Torn | Cut::Payload) => self.tear(block, false, || true),
            Some(Cut::Partly(mut seed)) => self.tear(block, false, || {
                // A linear congruence is random enough to tear by.
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                seed >> 63 == 0
            }),
        }
        Err(FlashError::NoPower)
    }
}

impl<F: Condition> Flash for Faulty<F> {
    fn geometry(&self) -> &Geometry {
        self.inner.geometry()
    }

    fn in_order(&self) -> bool {
        self.inner.in_order()
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.inner.is_bad(block) || self.worn.contains(&block) || self.cache.is_bad(block)
    }

    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        self.powered()?;
        if !into.is_empty() && into.len() != self.geometry().page_size as usize {
            return Err(FlashError::WrongLength(into.len()));
        }
        match self.cache.shown(from, self.inner.geometry()) {
            Shown::Waiting(page) if page.scar.is_some() => Err(FlashError::Unreadable(from)),
            Shown::Waiting(page) if page.data.is_empty() => {
                into.fill(0);
                Ok(())
            }
            Shown::Waiting(page) => {
                if !into.is_empty() {
                    into.copy_from_slice(&page.data);
                }
                Ok(())
            }
            Shown::Blank => {
                into.fill(0xff);
                Ok(())
            }
            Shown::Below => {
                self.correct(from)?;
                if self.scars.get(&from) == Some(&Scar::Blank) {
                    into.fill(0xff);
                    return Ok(());
                }
                self.inner.read(from, into)
            }
        }
    }

    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        self.powered()?;
        match self.cache.shown(from, self.inner.geometry()) {
            Shown::Waiting(page) if page.scar.is_some() => Err(FlashError::Unreadable(from)),
            Shown::Waiting(page) => Ok(Some(page.oob)),
            Shown::Blank => Ok(None),
            Shown::Below => match self.scars.get(&from) {
                Some(Scar::Torn) => Err(FlashError::Unreadable(from)),
                Some(Scar::Blank) => Ok(None),
                Some(Scar::TornPayload) | None => self.inner.read_oob(from),
            },
        }
    }

    fn may_fade(&self) -> bool {
        self.inner.may_fade()
    }

    fn is_refused(&self, page: Ppn) -> bool {
        self.inner.is_refused(page)
    }

    fn is_closed(&self, page: Ppn) -> bool {
        self.inner.is_closed(page)
    }

    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        if self.is_cached() {
            self.powered()?;
            return self.hold(to, oob, data);
        }
        self.put(to, |chip| chip.program(to, oob, data))
    }

    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError> {
        self.powered()?;
        if self.is_cached() {
            let mut data = vec![0; self.geometry().page_size as usize];
            if self.read_oob(from)?.is_none() {
                return Err(FlashError::Unreadable(from));
            }
            self.read(from, &mut data)?;
            return self.hold(to, oob, &data);
        }
        self.correct(from)?;
        if self.scars.contains_key(&from) {
            return Err(FlashError::Unreadable(from));
        }
        self.put(to, |chip| chip.copy(from, to, oob))
    }

    fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.powered()?;
        if self.is_bad(block) {
            return if block.0 < self.geometry().blocks() {
                Err(FlashError::BadBlock(block))
            } else {
                Err(FlashError::OutOfRange)
            };
        }
        let cut = self.begin()?;
        if cut.is_none() {
            if self.lifetime(block).is_some_and(|erases| self.erase_count(block) >= erases) {
                // What waits for this block is still done.
                self.mark_bad(block)?;
                self.worn.insert(block);
                self.health.failed_erases += 1;
                return Err(FlashError::WornOut(block));
            }
            if self.fails(self.faults.erase) {
                // It had begun, so what came before it is done.
                self.drain(self.cache.end())?;
                let mut draws = self.draws.clone();
                self.tear(block, true, || rand::RngExt::random_bool(&mut draws, 0.5));
                self.draws = draws;
                self.health.failed_erases += 1;
                return Err(FlashError::EraseFailed(block));
            }
        }
        if !self.is_cached() {
            return self.erase_at_once(block, cut);
        }
        if cut != Some(Cut::Before) {
            self.make_room()?;
            let geometry = *self.inner.geometry();
            self.cache.erase(block, &geometry);
        }
        cut.map_or(Ok(()), |cut| self.lose(cut))
    }

    fn sync(&mut self) -> Result<(), FlashError> {
        self.powered()?;
        self.drain(self.cache.end())?;
        self.inner.sync()
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.powered()?;
        if block.0 >= self.geometry().blocks() {
            return Err(FlashError::OutOfRange);
        }
        if self.is_cached() {
            self.make_room()?;
            self.cache.mark_bad(block);
            return Ok(());
        }
        self.inner.mark_bad(block)
    }
}

impl<F: Condition> Condition for Faulty<F> {
    fn ailing(&mut self) -> Option<BlockId> {
        self.bits.ailing().or_else(|| self.inner.ailing())
    }

    fn erase_count(&self, block: BlockId) -> u32 {
        self.inner.erase_count(block) + self.cache.erases(block)
    }

    fn read_programmed(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        self.powered()?;
        match self.cache.shown(from, self.inner.geometry()) {
            Shown::Waiting(_) => self.read(from, into),
            Shown::Blank => Err(FlashError::Unreadable(from)),
            Shown::Below if self.scars.get(&from) == Some(&Scar::Blank) => {
                Err(FlashError::Unreadable(from))
            }
            Shown::Below => {
                self.correct(from)?;
                self.inner.read_programmed(from, into)
            }
        }
    }
}

impl<F: SimulatedTime> SimulatedTime for Faulty<F> {
    fn is_idle(&self, bank: u32) -> bool {
        self.inner.is_idle(bank)
    }

    fn wait_for_a_bank(&mut self) {
        self.inner.wait_for_a_bank();
    }

    fn hotness_scan(&mut self) {
        self.inner.hotness_scan();
    }
}

/// With a cache, what was done while a sync was waited for stays in it.
impl<M: Medium> Medium for Faulty<M> {
    fn begin_sync(&mut self) -> Result<Syncing, FlashError> {
        self.powered()?;
        if self.is_cached() {
            return Ok(Syncing { generation: self.cache.end(), target: None });
        }
        self.inner.begin_sync()
    }

    fn finish_sync(&mut self, done: &Syncing) -> Result<(), FlashError> {
        self.powered()?;
        if self.is_cached() {
            self.drain(done.generation)?;
            return self.inner.sync();
        }
        self.inner.finish_sync(done)
    }

    fn waits_for_disk(&self) -> bool {
        self.inner.waits_for_disk()
    }

    fn publish(&mut self) -> Result<(), MediumError> {
        self.inner.publish()
    }

    fn is_foreign(&self) -> bool {
        self.inner.is_foreign()
    }

    fn most_open_blocks(&self) -> Option<(u32, u32)> {
        self.inner.most_open_blocks()
    }

    fn remarks(&self) -> Vec<String> {
        self.inner.remarks()
    }

    fn ailments(&self) -> Vec<String> {
        self.inner.ailments()
    }

    fn mend(&mut self) -> Result<Vec<String>, FlashError> {
        self.inner.mend()
    }

    fn health(&self) -> Health {
        let (own, below) = (self.health, self.inner.health());
        let worn = self.worn.iter().filter(|block| !self.inner.is_bad(**block)).count();
        Health {
            corrected_reads: own.corrected_reads + below.corrected_reads,
            failed_reads: own.failed_reads + below.failed_reads,
            failed_programs: own.failed_programs + below.failed_programs,
            failed_erases: own.failed_erases + below.failed_erases,
            bad_blocks: below.bad_blocks + worn as u32,
            syncs: below.syncs,
        }
    }
}
