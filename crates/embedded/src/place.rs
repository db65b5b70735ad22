//! Where a logical page is.

/// What RAM knows of where a logical page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// It holds no data.
    Nowhere,
    /// In this page of the chip.
    Page(u32),
    /// Where a page of the map says: three bytes of it from `offset` on, the lowest first; a number beyond the chip for nowhere.
    Mapped {
        /// The page of the chip that holds that part of the map.
        page: u32,
        /// Where in it the entry begins.
        offset: u32,
    },
}
