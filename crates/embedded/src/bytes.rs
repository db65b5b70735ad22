//! A store as bytes, behind the traits of `embedded-storage`: what is written in part is read first.

use embedded_storage::{ReadStorage, Storage};

use crate::{
    Error, Ftl, Nand,
    policy::{Placement, Victim},
};

/// A store that is read and written at any byte.
pub struct Bytes<'a, N, V, P> {
    ftl: Ftl<'a, N, V, P>,
    page: &'a mut [u8],
}

impl<'a, N: Nand, V: Victim, P: Placement> Bytes<'a, N, V, P> {
    /// With a buffer of a page's length.
    ///
    /// # Errors
    /// [`Error::WrongLength`].
    pub fn new(ftl: Ftl<'a, N, V, P>, page: &'a mut [u8]) -> Result<Self, Error> {
        if page.len() != ftl.page_size() as usize {
            return Err(Error::WrongLength(page.len()));
        }
        Ok(Self { ftl, page })
    }

    /// The store: to trim, to flush.
    pub const fn ftl(&mut self) -> &mut Ftl<'a, N, V, P> {
        &mut self.ftl
    }

    /// The parts of pages that a range of bytes takes: the page, where in it, and where in the range.
    fn parts(
        &self,
        offset: u32,
        length: usize,
    ) -> impl Iterator<Item = (u32, core::ops::Range<usize>, core::ops::Range<usize>)> + use<N, V, P>
    {
        let size = self.page.len();
        let mut done = 0;
        core::iter::from_fn(move || {
            let at = offset as usize + done;
            let start = at % size;
            let count = (size - start).min(length - done);
            let part = (done..done + count, start..start + count);
            done += count;
            (count > 0).then_some(((at / size) as u32, part.1, part.0))
        })
    }
}

impl<N: Nand, V: Victim, P: Placement> ReadStorage for Bytes<'_, N, V, P> {
    type Error = Error;

    fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        for (lpn, part, of) in self.parts(offset, bytes.len()) {
            if part.len() == self.page.len() {
                self.ftl.read(lpn, &mut bytes[of])?;
            } else {
                self.ftl.read(lpn, self.page)?;
                bytes[of].copy_from_slice(&self.page[part]);
            }
        }
        Ok(())
    }

    fn capacity(&self) -> usize {
        self.ftl.logical_pages() as usize * self.page.len()
    }
}

impl<N: Nand, V: Victim, P: Placement> Storage for Bytes<'_, N, V, P> {
    fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        for (lpn, part, of) in self.parts(offset, bytes.len()) {
            if part.len() == self.page.len() {
                self.ftl.write(lpn, &bytes[of])?;
            } else {
                self.ftl.read(lpn, self.page)?;
                self.page[part].copy_from_slice(&bytes[of]);
                self.ftl.write(lpn, self.page)?;
            }
        }
        Ok(())
    }
}
