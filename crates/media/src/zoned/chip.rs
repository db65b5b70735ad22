//! The operations of flash on zones.

use thermocline_flash::{BlockId, Condition, Flash, FlashError, Geometry, Oob, Ppn, SimulatedTime};

use super::{Zoned, format::Fact};
use crate::record::Beside;

/// The bytes of a blank page.
const BLANK: u8 = 0xff;

impl Flash for Zoned {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn in_order(&self) -> bool {
        true
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.blocks.get(block.index()).is_none_or(|block| block.is_bad)
    }

    /// A block whose zone was sealed is as good as before. It is erased instead: what it holds is void
    /// from the next sync on, as behind a mark. One of the layer's own records is read on, and left as it is.
    fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError> {
        match self.may_change(block) {
            Ok(()) => {}
            Err(FlashError::BadBlock(_)) => return Ok(()),
            Err(error) => return Err(error),
        }
        let is_sealed = self.block(block).table.is_some_and(|pages| pages < self.layout.data);
        if is_sealed && !self.block(block).is_stuck {
            if block.0 >= self.geometry.data_blocks() {
                return Ok(());
            }
            self.make_void(block);
            return self.erase(block);
        }
        self.block_mut(block).is_bad = true;
        self.facts.push(Fact::Bad(block));
        Ok(())
    }

    /// A blank page reads as ones.
    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        if self.read_what_is_there(from, into)?.is_none() {
            into.fill(BLANK);
        }
        Ok(())
    }

    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        let (block, page) = self.at(from)?;
        match self.beside(block, page) {
            Beside::Blank => Ok(None),
            Beside::Torn => Err(FlashError::Unreadable(from)),
            Beside::Holds(oob, _) => Ok(Some(oob)),
        }
    }

    /// A mount reads what the device holds, and a block of that is what it is.
    fn may_fade(&self) -> bool {
        false
    }

    fn is_refused(&self, page: Ppn) -> bool {
        self.refused == Some(page)
    }

    /// The rest of a zone that was sealed.
    fn is_closed(&self, page: Ppn) -> bool {
        self.at(page).is_ok_and(|(block, page)| {
            let sealed = self.block(block).table.filter(|pages| *pages < self.layout.data);
            sealed.is_some_and(|pages| page >= pages)
        })
    }

    /// A page programmed without a payload holds zeros.
    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        if !data.is_empty() && data.len() != self.layout.page as usize {
            return Err(FlashError::WrongLength(data.len()));
        }
        let place = self.may_program(to)?;
        self.put(place, &oob, data, None)
    }

    /// The payload is verified on its way, and keeps its checksum.
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError> {
        let source = self.at(from)?;
        let sum = match self.beside(source.0, source.1) {
            // The data of another logical page must not be copied under this number.
            Beside::Holds(was, sum) if was.lpn == oob.lpn => sum,
            _ => return Err(FlashError::Unreadable(from)),
        };
        let place = self.may_program(to)?;
        let mut data = std::mem::take(&mut self.page);
        let done = self
            .survivor(source, sum, &mut data)
            .and_then(|()| self.put(place, &oob, &data, Some(sum)));
        self.page = data;
        done
    }

    fn expect_copies(&mut self, pages: &mut dyn Iterator<Item = Ppn>) {
        let geometry = self.geometry;
        let mut pages = pages.peekable();
        let Some(first) = pages.peek().copied() else { return };
        let block = geometry.block_of(first);
        let here = pages.filter(|page| geometry.block_of(*page) == block);
        self.ahead.expect(block, here.map(|page| geometry.page_of(page)));
    }

    /// Is carried out after the next sync, of a blank block as well: what is programmed there then proves that
    /// all that was done before lasts.
    fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.may_change(block)?;
        if self.block(block).is_stuck {
            self.health.failed_erases += 1;
            return Err(FlashError::EraseFailed(block));
        }
        self.runs.retain(|run| run.block != block);
        self.ahead.forget_block(block);
        self.block_mut(block).is_waiting = true;
        self.waiting.retain(|(waiting, _)| *waiting != block);
        self.waiting.push((block, self.begun + 1));
        Ok(())
    }

    /// Erases as well: where some waited, the device is synced twice.
    fn sync(&mut self) -> Result<(), FlashError> {
        if self.read_only { Ok(()) } else { self.sync_all() }
    }

    fn sync_programs(&mut self) -> Result<(), FlashError> {
        if self.read_only { Ok(()) } else { self.sync_once() }
    }
}

impl Condition for Zoned {
    fn erase_count(&self, block: BlockId) -> u32 {
        let of =
            |block: &super::Block| block.erases + u32::from(block.is_waiting && block.pointer > 0);
        self.blocks.get(block.index()).map_or(0, of)
    }

    fn read_programmed(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        self.read_with_oob(from, into).map(drop)
    }

    fn read_with_oob(&mut self, from: Ppn, into: &mut [u8]) -> Result<Option<Oob>, FlashError> {
        let found = self.read_what_is_there(from, into)?;
        if found.is_none() {
            return Err(self.unreadable(from));
        }
        Ok(found)
    }

    /// One read of the device, where none of the pages waits to be written.
    fn read_run(
        &mut self,
        from: Ppn,
        into: &mut [u8],
        seen: &mut dyn FnMut(Ppn, Option<Oob>) -> bool,
    ) -> Result<(), (Ppn, FlashError)> {
        let size = self.layout.page as usize;
        let is_read = self.read_together(from, into);
        for (page, into) in (from.0..).map(Ppn).zip(into.chunks_exact_mut(size)) {
            let read = match is_read {
                true => self.verify_read(page, into).map(Some),
                false => self.read_with_oob(page, into),
            };
            if !seen(page, read.map_err(|e| (page, e))?) {
                return Err((page, FlashError::Unreadable(page)));
            }
        }
        Ok(())
    }
}

impl SimulatedTime for Zoned {}

impl Drop for Zoned {
    /// Writes what waits, though it need not last. Who wants to know whether that went well has synced.
    fn drop(&mut self) {
        if !self.read_only && self.write_out_all().is_ok() && self.has_unlogged() {
            let _ = self.write_log();
        }
    }
}
