//! Assignment of pages to banks.

use crate::choice;

choice! {
    /// How pages are distributed over the banks.
    #[derive(Default)]
    pub enum BankAssignment {
        /// Logical page number modulo the number of banks, as in RAID 0.
        #[default]
        Static = "static",
        /// Hot pages to the idle bank with the fewest erases, cold pages to the idle bank with the
        /// least data (striping paper, §3.2).
        Dynamic = "dynamic",
    }
}

impl BankAssignment {
    /// Number of logical pages, of `logical`, for which bank `bank` of `banks` needs room.
    #[must_use]
    pub const fn share(self, logical: u32, bank: u32, banks: u32) -> u32 {
        match self {
            Self::Static => logical / banks + if bank < logical % banks { 1 } else { 0 },
            Self::Dynamic => 0,
        }
    }
}
