//! NOR flash behind the traits of `embedded-storage`: a chip without out-of-band areas. What would stand there stands
//! at the end of each block, from the last bytes down, and is written after its page.
//!
//! NOR corrects nothing, and says nothing of bits that turned. With a checksum ([`Nor::checked`]) a page that is not what
//! was written is one that cannot be read. It takes four bytes a page (or what the flash writes at once), and each
//! read of a part of a page reads all of it.

use super::{AREA, Geometry, Nand, NandError, bisync, storage_traits::nor_flash::NorFlash};

/// A NOR flash as the layer wants its chip.
///
/// A block is one or several erase sectors, so that the areas take little of it: 16 bytes a page.
#[derive(Debug)]
pub struct Nor<F> {
    flash: F,
    block_size: u32,
    page_size: u32,
    /// Bytes of the checksum of a page; none without one.
    check: u32,
}

/// Bytes of a checksum.
const CHECK: usize = 4;

#[bisync]
impl<F: NorFlash> Nor<F> {
    /// Blocks and pages of so many bytes: a block a multiple of what the flash erases, a page and the 16 bytes of its
    /// area multiples of what it reads and writes.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn new(flash: F, block_size: u32, page_size: u32) -> Result<Self, &'static str> {
        Self::with(flash, block_size, page_size, 0)
    }

    /// The same with a checksum of each page and its area.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn checked(flash: F, block_size: u32, page_size: u32) -> Result<Self, &'static str> {
        let check = CHECK.max(F::WRITE_SIZE).max(F::READ_SIZE) as u32;
        Self::with(flash, block_size, page_size, check)
    }

    fn with(flash: F, block_size: u32, page_size: u32, check: u32) -> Result<Self, &'static str> {
        let (block, page) = (block_size as usize, page_size as usize);
        let unit = |bytes: usize| page.is_multiple_of(bytes) && AREA.is_multiple_of(bytes);
        if block == 0 || !block.is_multiple_of(F::ERASE_SIZE) {
            Err("a block must be a multiple of the sectors that the flash erases")
        } else if page == 0 || !unit(F::WRITE_SIZE) || !unit(F::READ_SIZE) {
            Err("a page and 16 bytes must be multiples of what the flash reads and writes")
        } else if block < 2 * (page + AREA + check as usize) {
            Err("a block must have room for two pages")
        } else {
            Ok(Self { flash, block_size, page_size, check })
        }
    }

    /// The flash.
    pub fn into_inner(self) -> F {
        self.flash
    }

    /// Bytes beside a page.
    fn beside(&self) -> u32 {
        AREA as u32 + self.check
    }

    fn pages(&self) -> u32 {
        self.block_size / (self.page_size + self.beside()).max(1)
    }

    fn page_at(&self, page: u32) -> u32 {
        let pages = self.pages().max(1);
        page / pages * self.block_size + page % pages * self.page_size
    }

    /// Where the bytes beside a page are: the area, then the checksum.
    fn area_at(&self, page: u32) -> u32 {
        let pages = self.pages().max(1);
        (page / pages + 1) * self.block_size - (page % pages + 1) * self.beside()
    }

    /// Reads a page in units of 16 bytes, of which the last may be shorter: all of it, or the units that hold the bytes
    /// from `from` on, as many as `into` has room for.
    async fn read_units(
        &mut self,
        page: u32,
        (from, into): (usize, &mut [u8]),
        all: Option<&mut Checksum>,
    ) -> Result<(), NandError> {
        let (at, size, end) = (self.page_at(page), self.page_size as usize, from + into.len());
        let (first, last) = if all.is_some() { (0, size) } else { (from / AREA * AREA, end) };
        let mut sum = all;
        let mut unit = [0; AREA];
        for start in (first..last).step_by(AREA) {
            let unit = &mut unit[..AREA.min(size - start)];
            self.flash.read(at + start as u32, unit).await.map_err(device)?;
            if let Some(sum) = &mut sum {
                sum.add(unit);
            }
            let wanted = into.iter_mut().zip(from..).skip(start.saturating_sub(from));
            let here = unit.iter().zip(start..).skip(from.saturating_sub(start));
            for ((to, _), (byte, _)) in wanted.zip(here) {
                *to = *byte;
            }
        }
        Ok(())
    }

    /// Whether a page has its checksum; a blank one has none.
    async fn read_checked(
        &mut self,
        page: u32,
        offset: u32,
        into: &mut [u8],
    ) -> Result<(), NandError> {
        let mut sum = Checksum::default();
        self.read_units(page, (offset as usize, into), Some(&mut sum)).await?;
        let (mut area, mut check) = ([0; AREA], [0; AREA]);
        let at = self.area_at(page);
        self.flash.read(at, &mut area).await.map_err(device)?;
        let check = check.get_mut(..self.check as usize).ok_or(NandError::Device)?;
        self.flash.read(at + AREA as u32, check).await.map_err(device)?;
        sum.add(&area);
        let is_blank = area.iter().chain(&*check).all(|&byte| byte == 0xff);
        let is_right = check.iter().zip(sum.bytes()).all(|(is, should)| *is == should);
        if is_right || is_blank { Ok(()) } else { Err(NandError::Unreadable) }
    }
}

/// A checksum of words of four bytes: a change within one is noticed for certain, any other but once in 2³².
#[derive(Default)]
struct Checksum(u32);

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        for word in bytes.chunks(CHECK) {
            let word = word.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte));
            self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b1);
        }
    }

    fn bytes(&self) -> [u8; CHECK] {
        self.0.to_le_bytes()
    }
}

fn device<E>(_: E) -> NandError {
    NandError::Device
}

#[bisync]
impl<F: NorFlash> Nand for Nor<F> {
    fn geometry(&self) -> Geometry {
        let blocks = (self.flash.capacity() / self.block_size as usize) as u32;
        Geometry { blocks, pages: self.pages(), page_size: self.page_size }
    }

    async fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        if self.check > 0 {
            return self.read_checked(page, offset, into).await;
        }
        if F::READ_SIZE == 1 {
            return self.flash.read(self.page_at(page) + offset, into).await.map_err(device);
        }
        self.read_units(page, (offset as usize, into), None).await
    }

    async fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        self.flash.read(self.area_at(page), into).await.map_err(device)
    }

    async fn program(
        &mut self,
        page: u32,
        data: &[u8],
        area: &[u8; AREA],
    ) -> Result<(), NandError> {
        self.flash.write(self.page_at(page), data).await.map_err(device)?;
        let at = self.area_at(page);
        if self.check > 0 {
            let mut sum = Checksum::default();
            data.chunks(AREA).for_each(|unit| sum.add(unit));
            sum.add(area);
            let mut check = [0xff; AREA];
            for (to, byte) in check.iter_mut().zip(sum.bytes()) {
                *to = byte;
            }
            let check = check.get(..self.check as usize).ok_or(NandError::Device)?;
            self.flash.write(at + AREA as u32, check).await.map_err(device)?;
        }
        self.flash.write(at, area).await.map_err(device)
    }

    async fn erase(&mut self, block: u32) -> Result<(), NandError> {
        let from = block * self.block_size;
        self.flash.erase(from, from + self.block_size).await.map_err(device)
    }

    async fn is_bad(&mut self, _: u32) -> Result<bool, NandError> {
        Ok(false)
    }

    async fn mark_bad(&mut self, _: u32) -> Result<(), NandError> {
        Ok(())
    }
}
