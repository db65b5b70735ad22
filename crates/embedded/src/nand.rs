//! The chip: all that a driver implements.

use crate::{Error, Misfit, blocks::MOST_PAGES, cache::MOST};

/// Bytes that the layer programs beside each page.
pub const AREA: usize = 16;

/// The shape of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub struct Geometry {
    /// Erase blocks.
    pub blocks: u32,
    /// Pages of a block, at most 511.
    pub pages: u32,
    /// Bytes of a page, without the out-of-band area.
    pub page_size: u32,
}

impl Geometry {
    /// Whether the layer can use such a chip.
    ///
    /// # Errors
    /// [`Error::Shape`].
    pub fn check(&self) -> Result<(), Error> {
        let wrong = if !(2..=MOST_PAGES).contains(&self.pages) {
            Misfit::Pages
        } else if !(64..1 << 24).contains(&self.page_size) {
            Misfit::PageSize
        } else if self.blocks == 0 {
            Misfit::NoBlocks
        } else if u64::from(self.blocks) * u64::from(self.pages) > u64::from(MOST) {
            Misfit::TooManyPages
        } else {
            return Ok(());
        };
        Err(Error::Shape(wrong))
    }
}

/// Why the chip did not do what it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum NandError {
    /// More bits of the page turned than the error correction can mend, or it was being programmed, or its
    /// block erased, when the power failed.
    Unreadable,
    /// The chip says that the program or the erase failed. The block should not be used any more.
    Failed,
    /// The chip did not answer, or the power fails: what was being done may be done, undone, or done in part.
    Device,
}

/// A flash chip. Pages are numbered through the chip: page `i` of block `b` is `b * pages + i`.
///
/// The layer keeps the rules of NAND: it programs a page once between two erases of its block, and the pages
/// of a block in ascending order. It never programs or erases a block that [`is_bad`](Nand::is_bad).
///
/// What must survive a loss of power: everything that returned before it, in any order only if
/// [`sync`](Nand::sync) says otherwise. A driver whose operations return before they are done must do an
/// erase after everything that was asked for before it.
pub trait Nand {
    /// The shape of the chip; always the same.
    fn geometry(&self) -> Geometry;

    /// Reads bytes of a page, from `offset` on, and corrects them. A blank page reads as ones.
    ///
    /// # Errors
    /// [`NandError::Unreadable`], [`NandError::Device`].
    fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError>;

    /// Reads the bytes that were programmed beside a page: all ones if it is blank. They have a checksum
    /// of their own, so they may be given uncorrected.
    ///
    /// # Errors
    /// [`NandError::Unreadable`], [`NandError::Device`].
    fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError>;

    /// Programs a page and the bytes beside it. Where these are two operations the page comes first: an area
    /// that can be read says that the page was programmed.
    ///
    /// # Errors
    /// [`NandError::Failed`], [`NandError::Device`].
    fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError>;

    /// Erases a block.
    ///
    /// # Errors
    /// [`NandError::Failed`], [`NandError::Device`].
    fn erase(&mut self, block: u32) -> Result<(), NandError>;

    /// Whether a block is marked as bad, by the maker or by [`mark_bad`](Nand::mark_bad).
    ///
    /// # Errors
    /// [`NandError::Device`].
    fn is_bad(&mut self, block: u32) -> Result<bool, NandError>;

    /// Marks a block as bad for good. What it holds is not needed any more.
    ///
    /// # Errors
    /// [`NandError::Device`]. A chip that refuses the mark says nothing: the block fails again.
    fn mark_bad(&mut self, block: u32) -> Result<(), NandError>;

    /// Copies a page, with another area. `buffer` is a page long; a chip that copies by itself does not need
    /// it, but it must correct what it copies.
    ///
    /// # Errors
    /// Those of [`read`](Nand::read) and [`program`](Nand::program).
    fn copy(
        &mut self,
        from: u32,
        to: u32,
        area: &[u8; AREA],
        buffer: &mut [u8],
    ) -> Result<(), NandError> {
        self.read(from, 0, buffer)?;
        self.program(to, buffer, area)
    }

    /// Bits that the last [`read`](Nand::read) corrected: of the sector of which it corrected most, where the chip says that.
    fn corrected(&mut self) -> u32 {
        0
    }

    /// From so many corrected bits on a page is moved, before the chip can correct it no longer: half of what it corrects is
    /// usual. 0 for never.
    fn refresh_from(&self) -> u32 {
        0
    }

    /// Whether the chip's operations return before they are done, and a loss of power may take back several, in part as
    /// well. A mount then reads each page that was written last. Of any other chip a loss of power touches one page, and a
    /// mount leaves out the one that it may have touched.
    fn is_cached(&self) -> bool {
        false
    }

    /// Whether the program of that number is known to have survived losses of power, by what stands beside the pages that were
    /// read since the mount began. Asked for on a chip that [`is_cached`](Nand::is_cached) alone: what a sync was over for, and
    /// cannot be read now, is lost, and no older copy takes its place.
    fn lasts(&self, program: u64) -> bool {
        let _ = program;
        false
    }

    /// Whether snapshots of the tables in RAM are kept on the chip: a mount reads them, and what was programmed since. They take
    /// three blocks of a chip of at least 256, or one in 384 if that is more, if the store leaves room for them. All drivers of a
    /// chip should say the same. On a chip that [`is_cached`](Nand::is_cached) there are none.
    fn keeps_snapshots(&self) -> bool {
        !self.is_cached()
    }

    /// Waits until everything done so far survives a loss of power. A chip whose operations are done when they
    /// return has nothing to do.
    ///
    /// # Errors
    /// [`NandError::Device`].
    fn sync(&mut self) -> Result<(), NandError> {
        Ok(())
    }

    /// The same of erases alone, which is asked for before a block is written again.
    ///
    /// # Errors
    /// [`NandError::Device`].
    fn sync_erases(&mut self) -> Result<(), NandError> {
        self.sync()
    }
}

impl<N: Nand + ?Sized> Nand for &mut N {
    fn geometry(&self) -> Geometry {
        (**self).geometry()
    }
    fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        (**self).read(page, offset, into)
    }
    fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        (**self).read_area(page, into)
    }
    fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA]) -> Result<(), NandError> {
        (**self).program(page, data, area)
    }
    fn erase(&mut self, block: u32) -> Result<(), NandError> {
        (**self).erase(block)
    }
    fn is_bad(&mut self, block: u32) -> Result<bool, NandError> {
        (**self).is_bad(block)
    }
    fn mark_bad(&mut self, block: u32) -> Result<(), NandError> {
        (**self).mark_bad(block)
    }
    fn copy(
        &mut self,
        from: u32,
        to: u32,
        area: &[u8; AREA],
        buffer: &mut [u8],
    ) -> Result<(), NandError> {
        (**self).copy(from, to, area, buffer)
    }
    fn corrected(&mut self) -> u32 {
        (**self).corrected()
    }
    fn refresh_from(&self) -> u32 {
        (**self).refresh_from()
    }
    fn is_cached(&self) -> bool {
        (**self).is_cached()
    }
    fn lasts(&self, program: u64) -> bool {
        (**self).lasts(program)
    }
    fn keeps_snapshots(&self) -> bool {
        (**self).keeps_snapshots()
    }
    fn sync(&mut self) -> Result<(), NandError> {
        (**self).sync()
    }
    fn sync_erases(&mut self) -> Result<(), NandError> {
        (**self).sync_erases()
    }
}
