//! The parameters of DFTL (Gupta, Kim, Urgaonkar, ASPLOS 2009).

use crate::{PolicyInfo, choice, params};

choice! {
    /// Which changed entries a translation page takes when it is written for one that leaves the table.
    pub enum WriteBack {
        /// That one alone.
        Entry = "entry",
        /// All changed entries of the translation page.
        Page = "page",
    }
}

params! {
    /// Parameters of DFTL.
    pub struct Dftl {
        /// Largest share of the cached mapping table that is protected, in percent. The paper does not say;
        /// its simulator has 80.
        protected: u32 = 80,
        /// Which changed entries are written back together: the one that leaves the table, or all of its
        /// translation page.
        writes: WriteBack = WriteBack::Entry,
    }
}

/// The catalogue entry.
pub const INFO: PolicyInfo = PolicyInfo {
    name: "dftl",
    aliases: &[],
    source: "Gupta, Kim, Urgaonkar, ASPLOS 2009",
    summary: "page mapping with the map on the chip and its entries cached by segmented LRU",
    params: Dftl::info,
};
