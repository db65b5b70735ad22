//! A store behind the trait of `embedded-sdmmc`, whose file system then takes it for a memory card.

use core::cell::RefCell;

use embedded_sdmmc_types::{Block, BlockCount, BlockDevice, BlockIdx};

use crate::{
    Error, Ftl, Nand,
    policy::{Placement, Victim},
};

/// A store as sectors of 512 bytes, whatever its pages have. What is left of it behind the last whole sector is not used.
pub struct Sectors<'a, N, V, P>(RefCell<Parts<'a, N, V, P>>);

struct Parts<'a, N, V, P> {
    ftl: Ftl<'a, N, V, P>,
    page: &'a mut [u8],
}

impl<'a, N: Nand, V: Victim, P: Placement> Sectors<'a, N, V, P> {
    /// With a buffer of a page's length.
    ///
    /// # Errors
    /// [`Error::WrongLength`].
    pub fn new(ftl: Ftl<'a, N, V, P>, page: &'a mut [u8]) -> Result<Self, Error> {
        if page.len() != ftl.page_size() as usize {
            return Err(Error::WrongLength(page.len()));
        }
        Ok(Self(RefCell::new(Parts { ftl, page })))
    }

    /// The store: to flush, where the chip's operations are not done when they return, to trim, to count.
    pub fn ftl(&mut self) -> &mut Ftl<'a, N, V, P> {
        &mut self.0.get_mut().ftl
    }
}

impl<N: Nand, V: Victim, P: Placement> BlockDevice for Sectors<'_, N, V, P> {
    type Error = Error;

    fn read(&self, blocks: &mut [Block], start: BlockIdx) -> Result<(), Error> {
        let Parts { ftl, page } = &mut *self.0.borrow_mut();
        let mut at = start.into_bytes();
        for block in blocks {
            ftl.read_at(at, &mut block.contents, page)?;
            at += u64::from(Block::LEN_U32);
        }
        Ok(())
    }

    fn write(&self, blocks: &[Block], start: BlockIdx) -> Result<(), Error> {
        let Parts { ftl, page } = &mut *self.0.borrow_mut();
        let mut at = start.into_bytes();
        for block in blocks {
            ftl.write_at(at, &block.contents, page)?;
            at += u64::from(Block::LEN_U32);
        }
        Ok(())
    }

    fn num_blocks(&self) -> Result<BlockCount, Error> {
        let sectors = self.0.borrow().ftl.capacity() / u64::from(Block::LEN_U32);
        Ok(BlockCount(u32::try_from(sectors).unwrap_or(u32::MAX)))
    }
}
