//! What can go wrong, each a value.

use core::fmt;

use crate::NandError;

/// Why the layer could not do what it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Error {
    /// There is no such logical page.
    OutOfRange(u32),
    /// The bytes are not as many as a page has.
    WrongLength(usize),
    /// The logical page is written, but cannot be read; another write mends it.
    Unreadable(u32),
    /// Where the logical page should be, another one is.
    Misplaced(u32),
    /// A page of the map cannot be read: the logical pages from this number on, as many as the map has in a
    /// page, cannot be found.
    MapUnreadable(u32),
    /// There are too few good blocks left. What is stored can be read.
    WornOut,
    /// There is no store on the chip.
    NotFormatted,
    /// The chip holds a store that this version cannot read.
    Version(u32),
    /// The chip's shape cannot be used: what is wrong.
    Shape(Misfit),
    /// The caller's memory is too small: which part.
    Memory(Part),
    /// So many logical pages do not fit; the most that do.
    TooLarge(u32),
    /// The chip did not answer, or the power fails.
    Device,
}

// It fits into two registers, as does a result of a word with it: that makes much of the layer's code smaller.
const _: () = assert!(size_of::<Result<u32, Error>>() <= 2 * size_of::<usize>());

/// What is wrong with a chip's shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Misfit {
    /// Pages of a block.
    Pages,
    /// Bytes of a page.
    PageSize,
    /// No blocks.
    NoBlocks,
    /// Pages of the chip.
    TooManyPages,
    /// The store on it was made on a chip of another shape.
    OtherChip,
}

/// A part of the caller's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
#[cfg_attr(feature = "defmt", derive(defmt::Format))]
pub enum Part {
    /// [`Memory::blocks`](crate::Memory::blocks).
    Blocks,
    /// [`Memory::directory`](crate::Memory::directory).
    Directory,
    /// [`Memory::changes`](crate::Memory::changes).
    Changes,
    /// [`Memory::page`](crate::Memory::page).
    Page,
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pages => "a block has 2 to 511 pages",
            Self::PageSize => "a page has at least 64 bytes, and fewer than 16 MiB",
            Self::NoBlocks => "a chip has at least one block",
            Self::TooManyPages => "a chip has at most 16,777,213 pages",
            Self::OtherChip => "the store on it was made on a chip of another shape",
        })
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocks => "blocks: one of each block",
            Self::Directory => "directory: one of each page of the map",
            Self::Changes => "changes: at least two of each page of the map",
            Self::Page => "page: the bytes of a page",
        })
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfRange(lpn) => write!(f, "no logical page {lpn}"),
            Self::WrongLength(bytes) => write!(f, "{bytes} bytes are not a page"),
            Self::Unreadable(lpn) => write!(f, "logical page {lpn} cannot be read; write it again"),
            Self::Misplaced(lpn) => {
                write!(f, "another page lies where logical page {lpn} should be")
            }
            Self::MapUnreadable(lpn) => {
                write!(f, "the page of the map that begins with logical page {lpn} cannot be read")
            }
            Self::WornOut => f.write_str("too few good blocks are left: the store is read-only"),
            Self::NotFormatted => f.write_str("the chip holds no store: format it"),
            Self::Version(version) => {
                write!(f, "the chip's store has version {version}, not 2 or 3")
            }
            Self::Shape(what) => write!(f, "the chip cannot be used: {what}"),
            Self::Memory(what) => write!(f, "the memory is too small: {what}"),
            Self::TooLarge(most) => write!(f, "at most {most} logical pages fit on this chip"),
            Self::Device => f.write_str("the chip does not answer"),
        }
    }
}

impl core::error::Error for Error {}

/// Of an operation that can fail only where the chip does not answer.
pub(crate) fn device(_: NandError) -> Error {
    Error::Device
}

pub(crate) fn unreadable(error: NandError, lpn: u32) -> Error {
    if error == NandError::Device { Error::Device } else { Error::Unreadable(lpn) }
}
