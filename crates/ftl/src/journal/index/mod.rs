//! The format of the index log: what survives a loss of power beside the data pages themselves.
//!
//! Problem. The areas beside the pages say where the newest copy of each page is, but not which pages
//! were trimmed since, and reading them all takes long. Idea. The last blocks of the chip hold a log
//! (the papers' index segment) of facts, each of which is true for ever: "these pages held no data when
//! so many pages had been programmed". Copies from before that are dead. Consequence. Facts need no
//! order and no atomicity: a mount takes all it finds, and a page that was cut off is one fact less. A
//! block of the log may be erased as soon as newer facts say as much, and the rule of the medium that an
//! erase lasts only together with all that was done before it does the rest.
//!
//! A *checkpoint* is such a set of newer facts (all absent pages), with the table of blocks and the map
//! beside it, written in small steps while the host goes on. The map only makes mounting quick.
//!
//! This folder is the format, for reading and writing; the journal writes it, and `mount` reads it.

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
