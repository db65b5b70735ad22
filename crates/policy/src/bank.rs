//! Which bank a page goes to.

use crate::choice;

choice! {
    /// How pages are spread over the banks.
    #[derive(Default)]
    pub enum BankAssignment {
        /// Logical page modulo number of banks, as in RAID 0.
        #[default]
        Static = "static",
        /// Hot pages to the idle bank erased least, cold ones to the idle bank with the least data
        /// (striping paper, §3.2).
        Dynamic = "dynamic",
    }
}

impl BankAssignment {
    /// Logical pages of `logical` that bank number `bank` of `banks` must be able to hold.
    #[must_use]
    pub const fn share(self, logical: u32, bank: u32, banks: u32) -> u32 {
        match self {
            Self::Static => logical / banks + if bank < logical % banks { 1 } else { 0 },
            Self::Dynamic => 0,
        }
    }
}
