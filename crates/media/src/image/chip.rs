//! The operations of flash on an image.

use std::ops::Range;

use thermocline_flash::{
    BlockId, Condition, Flash, FlashError, Geometry, Kind, Oob, Ppn, SimulatedTime,
};

use super::{
    Image,
    buffer::Content,
    checksum,
    record::{self, Beside},
    runs::Runs,
    store::Store,
    syncing::medium,
    unread::is_unreadable,
};

/// What a blank page reads as.
const BLANK: u8 = 0xff;

/// The system error of a medium that cannot be written.
const READ_ONLY: FlashError = FlashError::Medium(30);

impl Image {
    #[inline]
    fn at(&self, ppn: Ppn) -> Result<(BlockId, u32), FlashError> {
        let geometry = &self.header.geometry;
        let (block, page) = (geometry.block_of(ppn), geometry.page_of(ppn));
        if block.0 >= geometry.blocks() || page >= geometry.pages_per_block {
            return Err(FlashError::OutOfRange);
        }
        Ok((block, page))
    }

    /// What stands beside a page.
    fn beside(&mut self, block: BlockId, page: u32) -> Result<Beside, FlashError> {
        if self.waiting.has(block) {
            return Ok(Beside::Blank);
        }
        self.areas.peek(block, page, &self.runs, &*self.store).map_err(medium)
    }

    /// The slot of a block's areas.
    #[inline]
    pub(super) fn load(&mut self, block: BlockId) -> Result<usize, FlashError> {
        self.areas.load(block, &self.runs, &*self.store).map_err(medium)
    }

    /// Reads the payload of a page and compares it with its checksum.
    fn read_payload(
        &mut self,
        from: Ppn,
        (block, page): (BlockId, u32),
        sum: u32,
        into: &mut [u8],
    ) -> Result<(), FlashError> {
        let read = self.store.read_at(into, self.layout.payload_of(block, page));
        self.verify_or_second(from, read, sum, into)
    }

    /// Compares a payload that was read with what stands beside the page.
    fn verify_read(
        &mut self,
        from: Ppn,
        (block, page): (BlockId, u32),
        payload: &mut [u8],
    ) -> Result<Oob, FlashError> {
        let slot = self.load(block)?;
        let Beside::Holds(oob, sum) = self.areas.beside(slot, page) else {
            self.failed_reads += 1;
            return Err(FlashError::Unreadable(from));
        };
        self.verify_or_second(from, Ok(()), sum, payload)?;
        Ok(oob)
    }

    /// What became of reading a payload. Where it is not the right one, the second copy of it may be.
    pub(super) fn verify_or_second(
        &mut self,
        from: Ppn,
        read: std::io::Result<()>,
        sum: u32,
        into: &mut [u8],
    ) -> Result<(), FlashError> {
        let read = read.map(|()| checksum(into) == sum);
        let place = (self.header.geometry.block_of(from), self.header.geometry.page_of(from));
        let is_bad = read.as_ref().map_or_else(is_unreadable, |is_good| !is_good);
        if is_bad && self.read_second(place, sum, into) {
            if read.is_err() {
                self.note_unread(place);
            }
            return Ok(());
        }
        self.verify(from, read)
    }

    /// Where the payload of a page stands.
    fn range_of(&self, (block, page): (BlockId, u32)) -> Range<u64> {
        let at = self.layout.payload_of(block, page);
        at..at + u64::from(self.header.geometry.page_size)
    }

    /// The disk cannot read the payload of a page.
    fn note_unread(&mut self, place: (BlockId, u32)) {
        let range = self.range_of(place);
        self.areas.unread.note(range);
    }

    /// What became of reading a page: whether its payload is the right one, or an error.
    pub(super) fn verify(
        &mut self,
        from: Ppn,
        read: std::io::Result<bool>,
    ) -> Result<(), FlashError> {
        let place = (self.header.geometry.block_of(from), self.header.geometry.page_of(from));
        self.refused = None;
        let is_good = match read {
            Ok(is_good) => is_good,
            // A page the disk cannot read is one page, not the end of the medium.
            Err(error) if is_unreadable(&error) => {
                self.refused = Some(from);
                self.note_unread(place);
                false
            }
            Err(error) => return Err(medium(error)),
        };
        if !is_good {
            // No loss of power cuts off a file either.
            let end = self.range_of(place).end;
            if self.areas.unread.cut_at().is_some_and(|cut| end > cut) {
                self.refused = Some(from);
            }
            self.failed_reads += 1;
            return Err(FlashError::Unreadable(from));
        }
        Ok(())
    }

    /// Reads a page and verifies it, and tells what stands beside it; nothing if it is blank.
    fn read_what_is_there(
        &mut self,
        from: Ppn,
        into: &mut [u8],
    ) -> Result<Option<Oob>, FlashError> {
        let (block, page) = self.at(from)?;
        if !into.is_empty() && into.len() != self.header.geometry.page_size as usize {
            return Err(FlashError::WrongLength(into.len()));
        }
        let (oob, sum) = match self.beside(block, page)? {
            Beside::Blank => return Ok(None),
            Beside::Torn => {
                self.failed_reads += 1;
                return Err(FlashError::Unreadable(from));
            }
            Beside::Holds(oob, sum) => (oob, sum),
        };
        if let Some(payload) = self.runs.payload(block, page) {
            into.copy_from_slice(payload.get(..into.len()).unwrap_or_default());
        } else if into.is_empty() {
            self.with_page(|chip, into| chip.read_payload(from, (block, page), sum, into))?;
        } else {
            self.read_payload(from, (block, page), sum, into)?;
        }
        Ok(Some(oob))
    }

    /// Whether a page may be programmed now.
    fn check_blank(&mut self, to: Ppn, block: BlockId, page: u32) -> Result<(), FlashError> {
        if self.open.read_only {
            return Err(READ_ONLY);
        }
        if self.table.is_bad(block) {
            return Err(FlashError::BadBlock(block));
        }
        if self.layout.record_of(page).is_none() {
            return Err(FlashError::OutOfRange);
        }
        if self.waiting.has(block) {
            // Nothing that is programmed there now may outlive what the erase came after.
            self.sync_once()?;
        }
        let slot = self.load(block)?;
        if self.areas.beside(slot, page) != Beside::Blank {
            return Err(FlashError::NotErased(to));
        }
        let next = self.areas.next(slot).max(self.header.geometry.header_pages);
        if self.header.rules.in_order && page != next {
            return Err(FlashError::OutOfOrder(to));
        }
        Ok(())
    }

    /// Whether a page of a NOR chip is marked as obsolete, which is a hint.
    ///
    /// # Errors
    /// [`FlashError::OutOfRange`], [`FlashError::Medium`].
    pub fn is_obsolete(&mut self, page: Ppn) -> Result<bool, FlashError> {
        let (block, number) = self.at(page)?;
        if self.header.kind == Kind::Nand || self.waiting.has(block) {
            return Ok(false);
        }
        let slot = self.load(block)?;
        let holds = matches!(self.areas.beside(slot, number), Beside::Holds(..));
        Ok(holds && self.areas.raw(slot, Some(number)).is_some_and(record::is_obsolete))
    }

    /// Marks a page whose data are no longer needed. A hint: NOR clears the flag in place, NAND cannot.
    pub fn obsolete(&mut self, page: Ppn) {
        let Ok((block, number)) = self.at(page) else { return };
        let is_nand = self.header.kind == Kind::Nand;
        if is_nand || self.open.read_only || self.waiting.has(block) {
            return;
        }
        // A hint: where it cannot be left, nothing is lost.
        let Ok(slot) = self.load(block) else { return };
        if matches!(self.areas.beside(slot, number), Beside::Holds(..)) {
            self.waiting.wrote();
            let store = &*self.store;
            let _ = self.areas.clear_bits(slot, Some(number), store, record::make_obsolete);
        }
    }

    /// Works with the spare page, which is taken out of its place meanwhile.
    fn with_page<T>(&mut self, work: impl FnOnce(&mut Self, &mut [u8]) -> T) -> T {
        let mut page = std::mem::take(&mut self.page);
        let done = work(self, &mut page);
        self.page = page;
        done
    }
}

impl Flash for Image {
    fn geometry(&self) -> &Geometry {
        &self.header.geometry
    }

    fn in_order(&self) -> bool {
        self.header.rules.in_order
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.table.is_bad(block)
    }

    /// A blank page reads as ones. The payload is read and verified also where nobody wants it.
    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        if self.read_what_is_there(from, into)?.is_none() {
            into.fill(BLANK);
        }
        Ok(())
    }

    /// Reads the areas of a whole block at once, for the pages asked for next.
    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        let (block, page) = self.at(from)?;
        if self.waiting.has(block) {
            return Ok(None);
        }
        let slot = self.load(block)?;
        match self.areas.beside(slot, page) {
            Beside::Blank => Ok(None),
            Beside::Torn => Err(FlashError::Unreadable(from)),
            Beside::Holds(oob, _) => Ok(Some(oob)),
        }
    }

    /// A mount reads what the disk holds, and a sector of that is what it is.
    fn may_fade(&self) -> bool {
        false
    }

    fn is_refused(&self, page: Ppn) -> bool {
        self.refused == Some(page)
    }

    /// A page programmed without a payload holds zeros.
    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        if !data.is_empty() && data.len() != self.header.geometry.page_size as usize {
            return Err(FlashError::WrongLength(data.len()));
        }
        let (block, page) = self.at(to)?;
        self.check_blank(to, block, page)?;
        if Runs::serve(self.header.kind) {
            return self.gather((block, page), &oob, Content::Given(data));
        }
        if data.is_empty() {
            return self.with_page(|chip, zeros| {
                zeros.fill(0);
                chip.write_through((block, page), &oob, checksum(zeros), zeros)
            });
        }
        self.write_through((block, page), &oob, checksum(data), data)
    }

    /// The payload is verified on its way, and keeps its checksum. An unreadable page that was handed on
    /// would pass for one that was cut off, after a loss of power, and an older one for the newest.
    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError> {
        let (source, source_page) = self.at(from)?;
        if self.waiting.has(source) {
            return Err(FlashError::Unreadable(from));
        }
        // Survivors of a block are moved one after the other, so all of its areas are read at once.
        let slot = self.load(source)?;
        let sum = match self.areas.beside(slot, source_page) {
            // What is somebody else's must not be passed on under this name.
            Beside::Holds(was, sum) if was.lpn == oob.lpn => sum,
            _ => return Err(FlashError::Unreadable(from)),
        };
        let (block, page) = self.at(to)?;
        self.check_blank(to, block, page)?;
        if Runs::serve(self.header.kind) {
            return self.gather((block, page), &oob, Content::Of(from, sum));
        }
        self.with_page(|chip, data| {
            chip.read_payload(from, (source, source_page), sum, data)?;
            chip.write_through((block, page), &oob, sum, data)
        })
    }

    /// Only NAND has runs to copy to.
    fn expect_copies(&mut self, pages: &mut dyn Iterator<Item = Ppn>) {
        let geometry = self.header.geometry;
        let mut pages = pages.peekable();
        let Some(first) = pages.peek().copied() else { return };
        let block = geometry.block_of(first);
        if !Runs::serve(self.header.kind) || self.runs.find(block).is_some() {
            return self.ahead.forget(block);
        }
        let here = pages.filter(|page| geometry.block_of(*page) == block);
        self.ahead.expect(block, here.map(|page| geometry.page_of(page)));
    }

    /// Is carried out after the next sync.
    fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
        if block.0 >= self.header.geometry.blocks() {
            return Err(FlashError::OutOfRange);
        }
        if self.open.read_only {
            return Err(READ_ONLY);
        }
        if self.table.is_bad(block) {
            return Err(FlashError::BadBlock(block));
        }
        if self.open.wears_out && self.table.erases(block) >= self.header.rules.endurance {
            self.table.mark_bad(block);
            return Err(FlashError::WornOut(block));
        }
        self.table.erased(block);
        self.waiting.note(block);
        self.forget_run(block);
        Ok(())
    }

    /// Erases and bad marks as well: where some waited, the file is synced twice.
    fn sync(&mut self) -> Result<(), FlashError> {
        self.sync_all()
    }

    /// One sync of the file: erases are carried out at its end, and last after the next.
    fn sync_programs(&mut self) -> Result<(), FlashError> {
        if self.open.read_only { Ok(()) } else { self.sync_once() }
    }

    fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError> {
        if block.0 >= self.header.geometry.blocks() {
            return Err(FlashError::OutOfRange);
        }
        if self.open.read_only {
            return Err(READ_ONLY);
        }
        self.table.mark_bad(block);
        Ok(())
    }
}

impl Condition for Image {
    fn erase_count(&self, block: BlockId) -> u32 {
        self.table.erases(block)
    }

    fn read_programmed(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        self.read_with_oob(from, into).map(drop)
    }

    fn read_with_oob(&mut self, from: Ppn, into: &mut [u8]) -> Result<Option<Oob>, FlashError> {
        let found = self.read_what_is_there(from, into)?;
        if found.is_none() {
            self.failed_reads += 1;
            return Err(FlashError::Unreadable(from));
        }
        Ok(found)
    }

    /// One read of the file, where none of the block's pages waits to be written.
    fn read_run(
        &mut self,
        from: Ppn,
        into: &mut [u8],
        seen: &mut dyn FnMut(Ppn, Option<Oob>) -> bool,
    ) -> Result<(), (Ppn, FlashError)> {
        let size = self.header.geometry.page_size as usize;
        let (block, first) = self.at(from).map_err(|e| (from, e))?;
        let behind = u64::from(first) + (into.len() / size) as u64;
        if behind > self.header.geometry.pages_per_block.into() {
            return Err((from, FlashError::OutOfRange));
        }
        let is_plain = !self.waiting.has(block) && self.runs.find(block).is_none();
        let is_read = is_plain
            && self.load(block).is_ok()
            && self.store.read_at(into, self.layout.payload_of(block, first)).is_ok();
        for (at, into) in (0..).zip(into.chunks_exact_mut(size)) {
            let page = Ppn(from.0 + at);
            let read = if is_read {
                self.verify_read(page, (block, first + at), into).map(Some)
            } else {
                self.read_with_oob(page, into)
            };
            if !seen(page, read.map_err(|e| (page, e))?) {
                return Err((page, FlashError::Unreadable(page)));
            }
        }
        Ok(())
    }
}

impl SimulatedTime for Image {}
