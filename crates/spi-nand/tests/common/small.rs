//! A W25N01GV, but small.

use thermocline_spi_nand::{Chip, Ecc, Id, Spare, chips};

/// Bytes of a page.
pub const PAGE: usize = 64;

pub static SMALL: [Chip; 1] = [Chip {
    id: Id::AfterDummy(&[0xef, 0xaa, 0x20]),
    blocks: 24,
    pages: 8,
    page_size: PAGE as u16,
    ecc: Ecc::Plain,
    spare: Spare { first: 4, run: 4, stride: 16 },
    ..chips::W25N01GV
}];
