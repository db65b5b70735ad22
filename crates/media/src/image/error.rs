//! Why an image could not be made or opened: each names the file and the remedy.

use std::{io, path::PathBuf};

use thermocline_flash::GeometryError;

use super::layout::{FORMAT_VERSION, LARGEST_BLOCK, LARGEST_PAGE, MOST_PAGES, PAGE, PROFILE_BYTES};

/// An image could not be made or opened.
#[derive(Debug, thiserror::Error)]
#[error("{}: {what}", path.display())]
pub struct ImageError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong, and what to do.
    pub what: Damage,
}

/// What is wrong with an image, or with what was asked.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Damage {
    /// The file does not begin as an image does.
    #[error(
        "not an image: it does not begin as one. If it was one, copy the file away and let `thermocline repair` look \
         for its log; otherwise make one with `thermocline format`"
    )]
    NotAnImage,
    /// The name leads to a folder, a device or a pipe.
    #[error("is {is}, and an image is a regular file; {}", instead(is))]
    NotAFile {
        /// What it is, with its article.
        is: &'static str,
    },
    /// The file ends before its header page does.
    #[error(
        "{0} bytes long, and the header page of an image alone has {PAGE}: cut off, or not an image; restore it from a complete copy, or make one with `thermocline format`"
    )]
    Stub(u64),
    /// A format of another version.
    #[error(
        "an image of format version {0}, and this program knows version {FORMAT_VERSION}; serve it with the thermocline that made it, and copy what it holds to an image that this one formats"
    )]
    Version(u32),
    /// The checksum of the header page does not fit.
    #[error(
        "the header page is damaged; copy the file away and let `thermocline repair` write it anew, or restore the \
         image from a copy"
    )]
    Header,
    /// Neither copy of the header page can be read.
    #[error(
        "cannot read the header page at byte {at}, and its copy at the end is none; copy the file to another disk and \
         let `thermocline repair` write it anew, or restore the image from a copy"
    )]
    Unreadable {
        /// Where the first is.
        at: u64,
    },
    /// The file has another length than its header says.
    #[error(
        "{is} bytes long, but its header says {should}: it was {}",
        if is < should {
            "cut off; restore it from a complete copy, or keep what is left of it: `thermocline repair` makes it \
             whole again but for what is lost, `thermocline export` reads it as it is"
        } else {
            "written past its end; cut it to that length (`truncate -s`) and check it, or restore it from a \
             complete copy"
        }
    )]
    Length {
        /// Bytes of the file.
        is: u64,
        /// Bytes by its header.
        should: u64,
    },
    /// Somebody else has it open.
    #[error("in use{}; stop whoever uses it, or open it read-only while nobody writes", .0.as_ref().map_or(String::new(), |who| format!(" by {who}")))]
    InUse(Option<String>),
    /// There is a file already.
    #[error("exists already; remove it, name another, or force its replacement")]
    Exists,
    /// Figures that make no chip.
    #[error("no chip has such a geometry: {0}")]
    Geometry(#[from] GeometryError),
    /// The header pages of a NOR chip are too few.
    #[error(
        "‹header-pages› is too small for the header of a NOR block, which takes {0} bytes; give at least {1}"
    )]
    HeaderPages(usize, u32),
    /// The profile is too long.
    #[error("the profile is longer than {PROFILE_BYTES} bytes; shorten it")]
    LongProfile,
    /// The chip is longer than a file can be.
    #[error("the chip is larger than a file can be; take fewer blocks")]
    TooLarge,
    /// Erase blocks of too many pages.
    #[error("an erase block has more than {MOST_PAGES} pages; set pages_per_block to fewer")]
    LongBlocks,
    /// Pages or erase blocks of too many bytes.
    #[error(
        "a page has more than {} MiB or an erase block more than {} MiB; set page_size or pages_per_block to less",
        LARGEST_PAGE >> 20, LARGEST_BLOCK >> 20
    )]
    LargeBlocks,
    /// Most of the block table is no block table.
    #[error(
        "of the first {seen} groups of the block table {lost} are damaged in both copies: the header page names a chip \
         that is not there; restore the image from a copy"
    )]
    Table {
        /// Groups that were looked at.
        seen: u32,
        /// Those of which no slot is whole.
        lost: usize,
    },
    /// Direct I/O is not possible.
    #[error("direct I/O is not possible: {0}; open it without")]
    Direct(String),
    /// Preallocation is not possible.
    #[error("the file system cannot allocate a file ahead ({0}); make the image sparse")]
    Preallocate(io::Error),
    /// The system failed.
    #[error("cannot {doing}: {error}")]
    System {
        /// What was being done.
        doing: &'static str,
        /// How it failed.
        error: io::Error,
    },
}

/// What to do with what is no regular file.
fn instead(is: &str) -> &'static str {
    match is {
        "a folder" => "name a file in it",
        "a block device" => "write `device:` before it",
        _ => "name a file on a file system",
    }
}

impl Damage {
    pub(crate) fn when(doing: &'static str) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::System { doing, error }
    }
}
