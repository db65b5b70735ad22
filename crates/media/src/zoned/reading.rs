//! Reads: from the runs, from the device, and ahead of copies.

use thermocline_flash::{BlockId, FlashError, Oob, Ppn};

use super::{Zoned, medium};
use crate::record::{Beside, checksum};

/// Pages between two that are wanted, which are read along.
const GAP: u32 = 4;
/// Bytes that are read at a time.
const WINDOW: usize = 128 << 10;

/// The survivors of a block, read together before they are copied one by one.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    block: Option<BlockId>,
    /// The pages that will be copied, in ascending order.
    wanted: Vec<u32>,
    first: u32,
    window: Vec<u8>,
}

impl Ahead {
    pub(super) fn expect(&mut self, block: BlockId, pages: impl Iterator<Item = u32>) {
        self.forget();
        self.block = Some(block);
        self.wanted.extend(pages);
        self.wanted.sort_unstable();
    }

    pub(super) fn forget(&mut self) {
        self.block = None;
        self.wanted.clear();
        self.window.clear();
    }

    pub(super) fn forget_block(&mut self, block: BlockId) {
        if self.block == Some(block) {
            self.forget();
        }
    }
}

impl Zoned {
    /// Reads a page and verifies it, and tells what stands beside it; nothing if it is blank.
    pub(super) fn read_what_is_there(
        &mut self,
        from: Ppn,
        into: &mut [u8],
    ) -> Result<Option<Oob>, FlashError> {
        let (block, page) = self.at(from)?;
        self.refused = None;
        if !into.is_empty() && into.len() != self.layout.page as usize {
            return Err(FlashError::WrongLength(into.len()));
        }
        match self.beside(block, page) {
            Beside::Blank => Ok(None),
            Beside::Torn => Err(self.unreadable(from)),
            Beside::Holds(oob, sum) if into.is_empty() => {
                let mut payload = std::mem::take(&mut self.page);
                let read = self.payload((block, page), sum, &mut payload);
                self.page = payload;
                read.map(|()| Some(oob))
            }
            Beside::Holds(oob, sum) => self.payload((block, page), sum, into).map(|()| Some(oob)),
        }
    }

    pub(super) fn unreadable(&mut self, page: Ppn) -> FlashError {
        self.health.failed_reads += 1;
        FlashError::Unreadable(page)
    }

    /// Reads the payload of a page and compares it with its checksum.
    pub(super) fn payload(
        &mut self,
        (block, page): (BlockId, u32),
        sum: u32,
        into: &mut [u8],
    ) -> Result<(), FlashError> {
        let run = self.runs.iter().find(|run| run.block == block);
        if let Some(payload) = run.and_then(|run| run.page(page, into.len())) {
            into.copy_from_slice(payload);
            return Ok(());
        }
        let at = self.block(block).start + self.layout.bytes(page);
        let read = self.device.read_at(into, at);
        self.verify(self.geometry.ppn(block, page), read.map(|()| checksum(into) == sum))
    }

    /// What became of reading a page: whether its payload is the right one, or an error.
    fn verify(&mut self, page: Ppn, read: std::io::Result<bool>) -> Result<(), FlashError> {
        match read {
            Ok(true) => Ok(()),
            Ok(false) => Err(self.unreadable(page)),
            // A page that the device cannot read is one page, not the end of the medium.
            Err(error) if matches!(error.raw_os_error(), Some(libc::EIO | libc::ENODATA)) => {
                self.refused = Some(page);
                Err(self.unreadable(page))
            }
            Err(error) => Err(medium(&error)),
        }
    }

    /// The payload of a page that is copied: from the window, where it was expected.
    pub(super) fn survivor(
        &mut self,
        place: (BlockId, u32),
        sum: u32,
        into: &mut [u8],
    ) -> Result<(), FlashError> {
        if self.look_ahead(place) {
            let at = (place.1 - self.ahead.first) as usize * into.len();
            into.copy_from_slice(&self.ahead.window[at..at + into.len()]);
            if checksum(into) == sum {
                return Ok(());
            }
        }
        self.payload(place, sum, into)
    }

    /// Whether the window has a page; reads what is wanted from it on if it should.
    fn look_ahead(&mut self, (block, page): (BlockId, u32)) -> bool {
        let size = self.layout.page as usize;
        if self.ahead.block != Some(block) || self.runs.iter().any(|run| run.block == block) {
            return false;
        }
        let has = (self.ahead.window.len() / size) as u32;
        if page.checked_sub(self.ahead.first).is_some_and(|at| at < has) {
            return true;
        }
        let Ok(from) = self.ahead.wanted.binary_search(&page) else { return false };
        let most = (WINDOW / size).max(1) as u32;
        let mut end = page + 1;
        for &next in &self.ahead.wanted[from..] {
            if next >= page + most || next > end + GAP {
                break;
            }
            end = end.max(next + 1);
        }
        self.ahead.first = page;
        self.ahead.window.resize((end - page) as usize * size, 0);
        let at = self.block(block).start + self.layout.bytes(page);
        let mut window = std::mem::take(&mut self.ahead.window);
        let read = self.device.read_at(&mut window, at);
        self.ahead.window = window;
        if read.is_err() {
            self.ahead.forget();
        }
        read.is_ok()
    }

    /// Reads consecutive pages of a block in one call, where none of them waits to be written.
    pub(super) fn read_together(&mut self, from: Ppn, into: &mut [u8]) -> bool {
        let Ok((block, page)) = self.at(from) else { return false };
        let pages = (into.len() / self.layout.page as usize) as u32;
        let is = self.block(block);
        let is_there = !is.is_waiting && !is.is_bad && page + pages <= is.next;
        let waits = self.runs.iter().any(|run| run.block == block && page + pages > run.first);
        let at = is.start + self.layout.bytes(page);
        is_there && !waits && self.device.read_at(into, at).is_ok()
    }

    /// Compares a payload that was read with what stands beside the page.
    pub(super) fn verify_read(&mut self, from: Ppn, payload: &[u8]) -> Result<Oob, FlashError> {
        let (block, page) = self.at(from)?;
        self.refused = None;
        match self.beside(block, page) {
            Beside::Holds(oob, sum) => {
                self.verify(from, Ok(checksum(payload) == sum)).map(|()| oob)
            }
            _ => Err(self.unreadable(from)),
        }
    }
}
