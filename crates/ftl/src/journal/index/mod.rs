//! The format of the index log, which survives a loss of power beside the data pages.
//!
//! Problem. The out-of-band areas show where the newest copy of each page is, but not which pages were
//! trimmed since, and reading all of them takes long. Idea. The last blocks of the chip hold a log (the
//! papers' index segment) of facts that never become false: "these pages held no data after the first n
//! programs". Copies from before that are dead. Consequence. Facts need neither order nor atomicity: a
//! mount takes all it finds, and a torn page is one fact less. A block of the log may be erased as soon
//! as newer facts cover its own. The rule of the medium that an erase lasts only together with
//! everything done before it ensures the rest.
//!
//! A *checkpoint* is such a set of newer facts (all absent pages) with the table of blocks and the map,
//! written in small steps between host writes. The map only makes the mount quick.
//!
//! This folder encodes and decodes the format; the journal writes it, and `mount` reads it.

mod bytes;
pub(crate) mod find;
mod heads;
mod inspect;
pub(crate) mod record;
pub(crate) mod size;
pub(crate) mod summary;

pub use super::watermark::program_number;
pub use find::{Traces, find_summary, find_traces};
pub use heads::{blocks_for_heads, erase_heads, write_heads};
pub use inspect::{Entry, entries};
pub use record::{BlockEntry, Complete, Head, Header, Interval, Kind, Record};
pub use size::system_blocks_for;
pub use summary::{
    DEMAND_PAGED, IN_PLACE, LEAST_PAGE, MAP_STREAM, NFTL, PAGE_MAPPED, Summary, VERSION,
};
