//! A store behind the traits of `embedded-storage`.

use super::{
    Error, Ftl, Nand, bisync,
    policy::{Placement, Victim},
    storage_traits::{ReadStorage, Storage},
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

    /// The store, and the end of it as bytes.
    pub fn into_ftl(self) -> Ftl<'a, N, V, P> {
        self.ftl
    }

    /// The store: to trim, to flush.
    pub const fn ftl(&mut self) -> &mut Ftl<'a, N, V, P> {
        &mut self.ftl
    }
}

#[bisync]
impl<N: Nand, V: Victim, P: Placement> ReadStorage for Bytes<'_, N, V, P> {
    type Error = Error;

    async fn read(&mut self, offset: u32, bytes: &mut [u8]) -> Result<(), Error> {
        self.ftl.read_at(offset.into(), bytes, self.page).await
    }

    fn capacity(&self) -> usize {
        self.ftl.capacity() as usize
    }
}

#[bisync]
impl<N: Nand, V: Victim, P: Placement> Storage for Bytes<'_, N, V, P> {
    async fn write(&mut self, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        self.ftl.write_at(offset.into(), bytes, self.page).await
    }
}
