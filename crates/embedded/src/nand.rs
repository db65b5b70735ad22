//! The chip: all that a driver implements.

use super::{AREA, Geometry, NandError, bisync};

/// A flash chip. Pages are numbered through the chip: page `i` of block `b` is `b * pages + i`.
///
/// The layer keeps the rules of NAND: it programs a page once between two erases of its block, and the pages
/// of a block in ascending order. It never programs or erases a block that [`is_bad`](Nand::is_bad).
///
/// What must survive a loss of power: everything that returned before it, in any order only if
/// [`sync`](Nand::sync) says otherwise. A driver whose operations return before they are done must do an
/// erase after everything that was asked for before it.
///
/// Where operations are futures, one that is dropped may leave the chip at work: the driver's next operation waits for the
/// chip first, and sets up again what the one that was dropped may have changed.
#[bisync]
pub trait Nand {
    /// The shape of the chip; always the same.
    fn geometry(&self) -> Geometry;

    /// Reads bytes of a page, from `offset` on, and corrects them. A blank page reads as ones.
    ///
    /// # Errors
    /// [`NandError::Unreadable`], [`NandError::Device`].
    async fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError>;

    /// Reads the bytes that were programmed beside a page: all ones if it is blank. They have a checksum
    /// of their own, so they may be given uncorrected.
    ///
    /// # Errors
    /// [`NandError::Unreadable`], [`NandError::Device`].
    async fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError>;

    /// Programs a page and the bytes beside it. Where these are two operations the page comes first: an area
    /// that can be read says that the page was programmed.
    ///
    /// # Errors
    /// [`NandError::Failed`], [`NandError::Device`].
    async fn program(&mut self, page: u32, data: &[u8], area: &[u8; AREA])
    -> Result<(), NandError>;

    /// Erases a block.
    ///
    /// # Errors
    /// [`NandError::Failed`], [`NandError::Device`].
    async fn erase(&mut self, block: u32) -> Result<(), NandError>;

    /// Whether a block is marked as bad, by the maker or by [`mark_bad`](Nand::mark_bad).
    ///
    /// # Errors
    /// [`NandError::Device`].
    async fn is_bad(&mut self, block: u32) -> Result<bool, NandError>;

    /// Marks a block as bad for good. What it holds is not needed any more.
    ///
    /// # Errors
    /// [`NandError::Device`]. A chip that refuses the mark says nothing: the block fails again.
    async fn mark_bad(&mut self, block: u32) -> Result<(), NandError>;

    /// Copies a page, with another area. `buffer` is a page long; a chip that copies by itself does not need
    /// it, but it must correct what it copies.
    ///
    /// # Errors
    /// Those of [`read`](Nand::read) and [`program`](Nand::program).
    async fn copy(
        &mut self,
        from: u32,
        to: u32,
        area: &[u8; AREA],
        buffer: &mut [u8],
    ) -> Result<(), NandError> {
        self.read(from, 0, buffer).await?;
        self.program(to, buffer, area).await
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
    async fn sync(&mut self) -> Result<(), NandError> {
        Ok(())
    }

    /// The same of erases alone, which is asked for before a block is written again.
    ///
    /// # Errors
    /// [`NandError::Device`].
    async fn sync_erases(&mut self) -> Result<(), NandError> {
        self.sync().await
    }
}

#[bisync]
impl<N: Nand + ?Sized> Nand for &mut N {
    fn geometry(&self) -> Geometry {
        (**self).geometry()
    }
    async fn read(&mut self, page: u32, offset: u32, into: &mut [u8]) -> Result<(), NandError> {
        (**self).read(page, offset, into).await
    }
    async fn read_area(&mut self, page: u32, into: &mut [u8; AREA]) -> Result<(), NandError> {
        (**self).read_area(page, into).await
    }
    async fn program(
        &mut self,
        page: u32,
        data: &[u8],
        area: &[u8; AREA],
    ) -> Result<(), NandError> {
        (**self).program(page, data, area).await
    }
    async fn erase(&mut self, block: u32) -> Result<(), NandError> {
        (**self).erase(block).await
    }
    async fn is_bad(&mut self, block: u32) -> Result<bool, NandError> {
        (**self).is_bad(block).await
    }
    async fn mark_bad(&mut self, block: u32) -> Result<(), NandError> {
        (**self).mark_bad(block).await
    }
    async fn copy(
        &mut self,
        from: u32,
        to: u32,
        area: &[u8; AREA],
        buffer: &mut [u8],
    ) -> Result<(), NandError> {
        (**self).copy(from, to, area, buffer).await
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
    async fn sync(&mut self) -> Result<(), NandError> {
        (**self).sync().await
    }
    async fn sync_erases(&mut self) -> Result<(), NandError> {
        (**self).sync_erases().await
    }
}
