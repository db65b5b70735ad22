//! NOR flash behind the traits of `embedded-storage`: a chip without out-of-band areas. What would stand there stands
//! at the end of each block, from the last bytes down, and is written after its page.

use embedded_storage::nor_flash::NorFlash;

use crate::{AREA, Geometry, Nand, NandError};

/// A NOR flash as the layer wants its chip.
///
/// A block is one or several erase sectors, so that the areas take little of it: 16 bytes a page.
#[derive(Debug)]
pub struct Nor<F> {
    flash: F,
    block_size: u32,
    page_size: u32,
}

impl<F: NorFlash> Nor<F> {
    /// Blocks and pages of so many bytes: a block a multiple of what the flash erases, a page and the 16 bytes of its
    /// area multiples of what it reads and writes.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn new(flash: F, block_size: u32, page_size: u32) -> Result<Self, &'static str> {
        let (block, page) = (block_size as usize, page_size as usize);
        let unit = |bytes: usize| page.is_multiple_of(bytes) && AREA.is_multiple_of(bytes);
        if block == 0 || !block.is_multiple_of(F::ERASE_SIZE) {
            Err("a block must be a multiple of the sectors that the flash erases")
        } else if page == 0 || !unit(F::WRITE_SIZE) || !unit(F::READ_SIZE) {
            Err("a page and 16 bytes must be multiples of what the flash reads and writes")
        } else if block < 2 * (page + AREA) {
            Err("a block must have room for two pages")
        } else {
            Ok(Self { flash, block_size, page_size })
        }
    }

    /// The flash.
    pub fn into_inner(self) -> F {
        self.flash
    }

    fn pages(&self) -> u32 {
        self.block_size / (self.page_size + AREA as u32)
    }

    fn page_at(&self, page: u32) -> u32 {
        page / self.pages() * self.block_size + page % self.pages() * self.page_size
    }

    fn area_at(&self, page: u32) -> u32 {
        (page / self.pages() + 1) * self.block_size - (page % self.pages() + 1) * AREA as u32
    }
}

fn device<E>(_: E) -> NandError {
    NandError::Device
}

impl<F: NorFlash> Nand for Nor<F> {
    fn geometry(&self) -> Geometry {
        let blocks = (self.flash.capacity() / self.block_size as usize) as u32;
        Geometry { blocks, pages: self.pages(), page_size: self.page_size }
    }

    fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        let at = self.page_at(page) + offset;
        if F::READ_SIZE == 1 {
            return self.flash.read(at, into).map_err(device);
        }
        // By the units in which the flash is read, 16 bytes at most.
        let mut unit = [0; AREA];
        let mut done = 0;
        while done < into.len() {
            let from = at as usize + done;
            let start = from / AREA * AREA;
            self.flash.read(start as u32, &mut unit).map_err(device)?;
            let here = &unit[from - start..];
            let count = here.len().min(into.len() - done);
            into[done..done + count].copy_from_slice(&here[..count]);
            done += count;
        }
        Ok(())
    }

    fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        self.flash.read(self.area_at(page), into).map_err(device)
    }

    fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
        self.flash.write(self.page_at(page), data).map_err(device)?;
        self.flash.write(self.area_at(page), area).map_err(device)
    }

    fn erase(&mut self, block: u32) -> Result<(), NandError> {
        let from = block * self.block_size;
        self.flash.erase(from, from + self.block_size).map_err(device)
    }

    fn is_bad(&mut self, _: u32) -> Result<bool, NandError> {
        Ok(false)
    }

    fn mark_bad(&mut self, _: u32) -> Result<(), NandError> {
        Ok(())
    }
}
