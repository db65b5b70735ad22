//! A store as bytes: what is written in part is read first.

use core::ops::Range;

use super::{
    Error, Ftl, Nand, bisync,
    policy::{Placement, Victim},
};

/// Copies what both have room for.
fn copy(from: Option<&[u8]>, into: &mut [u8]) {
    if let Some(from) = from
        && from.len() == into.len()
    {
        into.copy_from_slice(from);
    }
}

#[bisync]
impl<N: Nand, V: Victim, P: Placement> Ftl<'_, N, V, P> {
    /// Bytes of the store.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        u64::from(self.logical_pages()) * u64::from(self.page_size())
    }

    /// Reads bytes from any offset on; what was never written is zeros. `page` is a buffer of a page's length.
    ///
    /// # Errors
    /// Those of [`read`](Ftl::read); [`Error::OutOfRange`] before anything is read.
    pub async fn read_at(
        &mut self,
        offset: u64,
        bytes: &mut [u8],
        page: &mut [u8],
    ) -> Result<(), Error> {
        for (lpn, part, of) in self.parts(offset, bytes.len(), page)? {
            let Some(bytes) = bytes.get_mut(of) else { continue };
            if part.len() == page.len() {
                self.read(lpn, bytes).await?;
            } else {
                self.read(lpn, page).await?;
                copy(page.get(part), bytes);
            }
        }
        Ok(())
    }

    /// Writes bytes from any offset on. `page` is a buffer of a page's length: the rest of the first and of the last
    /// page is read into it and written again. After a loss of power each page holds its old bytes or its new ones.
    ///
    /// # Errors
    /// Those of [`read`](Ftl::read) and [`write`](Ftl::write); [`Error::OutOfRange`] before anything is written.
    pub async fn write_at(
        &mut self,
        offset: u64,
        bytes: &[u8],
        page: &mut [u8],
    ) -> Result<(), Error> {
        for (lpn, part, of) in self.parts(offset, bytes.len(), page)? {
            let Some(bytes) = bytes.get(of) else { continue };
            if part.len() == page.len() {
                self.write(lpn, bytes).await?;
            } else {
                self.read(lpn, page).await?;
                copy(Some(bytes), page.get_mut(part).unwrap_or_default());
                self.write(lpn, page).await?;
            }
        }
        Ok(())
    }

    /// The parts of pages that a range of bytes takes: the page, where in it, and where in the range.
    fn parts(
        &self,
        offset: u64,
        length: usize,
        page: &[u8],
    ) -> Result<impl Iterator<Item = (u32, Range<usize>, Range<usize>)> + use<N, V, P>, Error> {
        let size = u64::from(self.page_size().max(1));
        if page.len() as u64 != size {
            return Err(Error::WrongLength(page.len()));
        }
        if offset.checked_add(length as u64).is_none_or(|end| end > self.capacity()) {
            return Err(Error::OutOfRange(self.logical_pages()));
        }
        let (mut lpn, mut start) = ((offset / size) as u32, (offset % size) as usize);
        let mut done = 0;
        Ok(core::iter::from_fn(move || {
            let count = (size as usize - start).min(length - done);
            let part = (lpn, start..start + count, done..done + count);
            (lpn, start, done) = (lpn + 1, 0, done + count);
            (count > 0).then_some(part)
        }))
    }
}
