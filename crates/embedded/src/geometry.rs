//! The shape of a chip, and why it did not do what it was asked to.

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
