//! Raw NAND of a Linux system.
//!
//! The [record] beside a page lies in the out-of-band bytes that the kernel's error correction
//! leaves free. A page is programmed with its record in one step and is durable when that returns, so a
//! sync does nothing.
//!
//! * **Order.** The kernel does not refuse a second program of a page, so this chip keeps the next page of
//!   each block. For a block not erased since the opening it finds the next page at the first program: it
//!   reads the block's pages from the last one backwards.
//! * **Blank.** A page is blank if its record and its payload are: the record of a page whose programming
//!   was cut off may still be blank.
//! * **Corrected bits.** A block is [ailing](Condition::ailing) if a step of the correction corrected more than half
//!   of the bits that it can correct, if a read failed, or if a bit of a record had flipped. The kernel does not
//!   correct records.
//! * **Bad blocks** are read from the kernel when the device is opened. The kernel may erase a block to mark it, so
//!   the block's data must be moved before.
//! * **Erase counts** are not stored on the chip. They count from the opening. [`Mtd::set_erase_count`] adds
//!   earlier counts.

mod abi;
mod entry;
mod open;
mod reading;
mod record;

use std::{collections::VecDeque, fs::File, io, path::Path};

use thermocline_flash::{BlockId, Condition, Flash, FlashError, Geometry, Oob, Ppn, SimulatedTime};

use self::{open::Opened, reading::Reading, record::Beside};
use crate::{Health, Medium, record::checksum};

pub(crate) use self::entry::ENTRY;
pub use self::open::{MtdError, MtdOptions};

/// The bytes of a blank page.
const BLANK: u8 = 0xff;

/// A NAND chip, or a part of one, behind a character device such as `/dev/mtd0`.
#[derive(Debug)]
pub struct Mtd {
    device: File,
    geometry: Geometry,
    correctable: u32,
    read_only: bool,
    reading: Reading,
    blocks: Vec<Block>,
    /// The payload of a page that is only verified.
    scratch: Vec<u8>,
    /// A page that is copied, or of zeros.
    payload: Vec<u8>,
    ailing: VecDeque<BlockId>,
    health: Health,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    /// The page after the last programmed one. `None` until it was searched for.
    next: Option<u32>,
    erases: u32,
    is_bad: bool,
    /// Whether the block was reported as ailing.
    is_reported: bool,
}

fn failed(error: &io::Error) -> FlashError {
    FlashError::Medium(error.raw_os_error().unwrap_or(libc::EIO))
}

impl Mtd {
    /// Opens a device and locks it: exclusively, unless it is opened read-only.
    ///
    /// # Errors
    /// [`MtdError`].
    pub fn open(path: impl AsRef<Path>, options: &MtdOptions) -> Result<Self, MtdError> {
        let path = path.as_ref();
        let Opened { device, geometry, correctable } = open::open(path, options)?;
        let system = |error| MtdError::System { path: path.into(), error };
        let blocks = (0..geometry.blocks())
            .map(|block| {
                let is_bad = abi::is_bad(&device, offset(&geometry, BlockId(block)) as i64)?;
                Ok(Block { next: None, erases: 0, is_bad, is_reported: false })
            })
            .collect::<io::Result<_>>()
            .map_err(system)?;
        let reading = Reading::of(&device, options.per_read_statistics).map_err(system)?;
        Ok(Self {
            device,
            geometry,
            correctable,
            read_only: options.read_only,
            reading,
            blocks,
            scratch: vec![BLANK; geometry.page_size as usize],
            payload: vec![BLANK; geometry.page_size as usize],
            ailing: VecDeque::new(),
            health: Health::default(),
        })
    }

    /// Sets the number of erases of a block before the chip was opened.
    pub fn set_erase_count(&mut self, block: BlockId, erases: u32) {
        if let Some(block) = self.blocks.get_mut(block.index()) {
            block.erases = erases;
        }
    }

    /// Whether the kernel returns the corrections of each read.
    #[must_use]
    pub const fn has_per_read_statistics(&self) -> bool {
        matches!(self.reading, Reading::Whole)
    }

    /// Where a page lies on the device, in bytes.
    fn at(&self, page: Ppn) -> Result<u64, FlashError> {
        let (block, number) = (self.geometry.block_of(page), self.geometry.page_of(page));
        if block.0 >= self.geometry.blocks() || number >= self.geometry.pages_per_block {
            return Err(FlashError::OutOfRange);
        }
        let start = u64::from(number) * u64::from(self.geometry.page_size);
        Ok(offset(&self.geometry, block) + start)
    }

    /// Reads a page and its record. With empty `data` it reads the record alone. The result of the error
    /// correction shows only the condition of the block. The checksum decides whether the data are valid.
    fn fetch(&mut self, from: Ppn, data: &mut [u8]) -> Result<Beside, FlashError> {
        let at = self.at(from)?;
        let mut beside = [0; crate::record::BYTES];
        let seen = self.reading.read(&self.device, at, data, &mut beside);
        let seen = seen.map_err(|error| failed(&error))?;
        let beside = record::decode(from, &beside);
        let is_mended = matches!(beside, Beside::Holds(.., true));
        self.health.corrected_reads += u64::from(seen.corrected > 0 || is_mended);
        if seen.failed > 0 || seen.worst > self.correctable / 2 || is_mended {
            self.report_ailing(self.geometry.block_of(from));
        }
        Ok(beside)
    }

    fn report_ailing(&mut self, block: BlockId) {
        if let Some(it) = self.blocks.get_mut(block.index())
            && !std::mem::replace(&mut it.is_reported, true)
        {
            self.ailing.push_back(block);
        }
    }

    /// Reads and verifies a page, and returns its out-of-band data. `None` if the page is blank.
    fn verified(&mut self, from: Ppn, data: &mut [u8]) -> Result<Option<Oob>, FlashError> {
        let beside = self.fetch(from, data)?;
        let (is_right, oob) = match beside {
            Beside::Blank => (data.iter().all(|byte| *byte == BLANK), None),
            Beside::Torn => (false, None),
            Beside::Holds(oob, sum, _) => (checksum(data) == sum, Some(oob)),
        };
        if !is_right {
            self.health.failed_reads += 1;
            return Err(FlashError::Unreadable(from));
        }
        Ok(oob)
    }

    /// [`verified`](Self::verified) without the payload.
    fn look(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        let mut data = std::mem::take(&mut self.scratch);
        let seen = self.verified(from, &mut data);
        self.scratch = data;
        seen
    }

    /// The page after the last one of a block that is not blank.
    fn next(&mut self, block: BlockId) -> Result<u32, FlashError> {
        if let Some(next) = self.blocks[block.index()].next {
            return Ok(next);
        }
        let first = self.geometry.header_pages;
        let mut next = first;
        for page in (first..self.geometry.pages_per_block).rev() {
            match self.look(self.geometry.ppn(block, page)) {
                Ok(None) => {}
                Ok(Some(_)) | Err(FlashError::Unreadable(_)) => {
                    next = page + 1;
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        self.blocks[block.index()].next = Some(next);
        Ok(next)
    }

    /// A block that exists, is good, and may be changed.
    fn may_change(&self, block: BlockId) -> Result<(), FlashError> {
        let Some(it) = self.blocks.get(block.index()) else {
            return Err(FlashError::OutOfRange);
        };
        if it.is_bad {
            return Err(FlashError::BadBlock(block));
        }
        if self.read_only { Err(FlashError::Medium(libc::EROFS)) } else { Ok(()) }
    }

    fn put(&mut self, to: Ppn, oob: &Oob, data: &[u8]) -> Result<(), FlashError> {
        let (at, block) = (self.at(to)?, self.geometry.block_of(to));
        self.may_change(block)?;
        let (page, next) = (self.geometry.page_of(to), self.next(block)?);
        if page != next {
            let is_blank = page > next || page < self.geometry.header_pages;
            return Err(if is_blank || self.read_oob(to) == Ok(None) {
                FlashError::OutOfOrder(to)
            } else {
                FlashError::NotErased(to)
            });
        }
        // Even a failed program leaves the page not blank.
        self.blocks[block.index()].next = Some(page + 1);
        let record = crate::record::encode(thermocline_flash::Kind::Nand, to, oob, checksum(data));
        abi::write(&self.device, at, data, &record).map_err(|error| {
            if error.raw_os_error() != Some(libc::EIO) {
                return failed(&error);
            }
            self.health.failed_programs += 1;
            FlashError::ProgramFailed(to)
        })
    }
}

fn offset(geometry: &Geometry, block: BlockId) -> u64 {
    u64::from(block.0) * geometry.block_size()
}

impl Flash for Mtd {
    fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    fn in_order(&self) -> bool {
        true
    }

    fn is_bad(&self, block: BlockId) -> bool {
        self.blocks.get(block.index()).is_none_or(|block| block.is_bad)
    }

    /// A blank page reads as ones.
    fn read(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        if into.is_empty() {
            return self.look(from).map(drop);
        }
        if into.len() != self.geometry.page_size as usize {
            return Err(FlashError::WrongLength(into.len()));
        }
        self.verified(from, into).map(drop)
    }

    /// The payload is read too if the record is blank.
    fn read_oob(&mut self, from: Ppn) -> Result<Option<Oob>, FlashError> {
        match self.fetch(from, &mut [])? {
            Beside::Holds(oob, ..) => Ok(Some(oob)),
            Beside::Torn => Err(FlashError::Unreadable(from)),
            Beside::Blank => self.read(from, &mut []).map(|()| None),
        }
    }

    /// A page programmed without a payload holds zeros.
    fn program(&mut self, to: Ppn, oob: Oob, data: &[u8]) -> Result<(), FlashError> {
        if data.is_empty() {
            let mut zeros = std::mem::take(&mut self.payload);
            zeros.fill(0);
            let done = self.put(to, &oob, &zeros);
            self.payload = zeros;
            return done;
        }
        if data.len() != self.geometry.page_size as usize {
            return Err(FlashError::WrongLength(data.len()));
        }
        self.put(to, &oob, data)
    }

    fn copy(&mut self, from: Ppn, to: Ppn, oob: Oob) -> Result<(), FlashError> {
        let mut data = std::mem::take(&mut self.payload);
        let seen = self.verified(from, &mut data);
        let done = match seen {
            // The data of another logical page must not be copied under this number.
            Ok(Some(was)) if was.lpn == oob.lpn => self.put(to, &oob, &data),
            Ok(_) => Err(FlashError::Unreadable(from)),
            Err(error) => Err(error),
        };
        self.payload = data;
        done
    }

    fn erase(&mut self, block: BlockId) -> Result<(), FlashError> {
        self.may_change(block)?;
        let size = self.geometry.block_size();
        let erased = abi::erase(&self.device, offset(&self.geometry, block), size);
        let it = &mut self.blocks[block.index()];
        it.next = None;
        if let Err(error) = erased {
            if error.raw_os_error() != Some(libc::EIO) {
                return Err(failed(&error));
            }
            self.health.failed_erases += 1;
            return Err(FlashError::EraseFailed(block));
        }
        it.next = Some(self.geometry.header_pages);
        it.erases = it.erases.saturating_add(1);
        if std::mem::take(&mut it.is_reported) {
            self.ailing.retain(|ailing| *ailing != block);
        }
        Ok(())
    }

    /// Marks it in the kernel's table and on the chip. The kernel may erase the block to do so.
    ///
    /// A block whose first page cannot be programmed cannot be marked on the chip either. That is no
    /// error: it is bad as long as the device is open, and fails once more for whoever opens it later.
    fn mark_bad(&mut self, block: BlockId) -> Result<(), FlashError> {
        match self.may_change(block) {
            Ok(()) => {}
            Err(FlashError::BadBlock(_)) => return Ok(()),
            Err(error) => return Err(error),
        }
        // Whatever the kernel says to it, the block is not used any more.
        self.blocks[block.index()].is_bad = true;
        let at = offset(&self.geometry, block) as i64;
        match abi::mark_bad(&self.device, at) {
            Err(error) if error.raw_os_error() != Some(libc::EIO) => Err(failed(&error)),
            _ => Ok(()),
        }
    }

    /// A program and an erase last when they return.
    fn sync(&mut self) -> Result<(), FlashError> {
        Ok(())
    }
}

impl Condition for Mtd {
    fn ailing(&mut self) -> Option<BlockId> {
        self.ailing.pop_front()
    }

    fn erase_count(&self, block: BlockId) -> u32 {
        self.blocks.get(block.index()).map_or(0, |block| block.erases)
    }

    fn read_programmed(&mut self, from: Ppn, into: &mut [u8]) -> Result<(), FlashError> {
        self.read_with_oob(from, into).map(drop)
    }

    fn read_with_oob(&mut self, from: Ppn, into: &mut [u8]) -> Result<Option<Oob>, FlashError> {
        let found = if into.is_empty() {
            self.look(from)?
        } else if into.len() == self.geometry.page_size as usize {
            self.verified(from, into)?
        } else {
            return Err(FlashError::WrongLength(into.len()));
        };
        if found.is_none() {
            self.health.failed_reads += 1;
            return Err(FlashError::Unreadable(from));
        }
        Ok(found)
    }
}

impl SimulatedTime for Mtd {}

impl Medium for Mtd {
    fn health(&self) -> Health {
        let bad_blocks = self.blocks.iter().filter(|block| block.is_bad).count() as u32;
        Health { bad_blocks, ..self.health }
    }
}
