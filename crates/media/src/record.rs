//! The record programmed beside a page: 32 bytes, little endian.
//!
//! | NAND bytes | NOR bytes | |
//! |---|---|---|
//! | 0 | | magic and version of the record |
//! | 1 | 4 | stream |
//! | 2..4 | 6..8 | note |
//! | 4..8 | 0..4 | logical page |
//! | 8..16 | 8..16 | sequence |
//! | 16..24 | 16..24 | time |
//! | 24..28 | 24..28 | CRC-32C of the payload |
//! | 28..32 | 28..32 | CRC-32C of the first 28 bytes and the number of the page |
//! | | 5 | flags, which are only ever cleared: bit 0 programmed, bit 1 obsolete |
//!
//! NOR's is the order of the papers' per-block information. Its checksum takes the obsolete bit as
//! set, so that clearing it does not hurt.

use thermocline_flash::{Kind, Lpn, Oob, Ppn};

/// The checksum of a payload or a record: CRC-32C.
pub(crate) fn checksum(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes)
}

pub(crate) const BYTES: usize = 32;

pub(crate) type Record = [u8; BYTES];

/// The first byte of a NAND record: neither of the two bytes that blank areas are made of.
const MAGIC: u8 = 0xa1;

const FLAGS_AT: usize = 5;
const PROGRAMMED: u8 = 1;
const OBSOLETE: u8 = 2;

/// The contents of the record beside a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Beside {
    Blank,
    /// Not blank, and nothing that was written.
    Torn,
    /// A record, with the checksum of the payload.
    Holds(Oob, u32),
}

/// The checksum of a record covers its place, so that one that was written elsewhere is none.
fn sum_at(record: &Record, place: Ppn) -> u32 {
    let mut bytes = *record;
    bytes[28..].copy_from_slice(&place.0.to_le_bytes());
    checksum(&bytes)
}

pub(crate) fn encode(kind: Kind, place: Ppn, oob: &Oob, payload: u32) -> Record {
    let mut record = [0; BYTES];
    match kind {
        Kind::Nand => {
            record[0] = MAGIC;
            record[1] = oob.stream;
            record[2..4].copy_from_slice(&oob.note.to_le_bytes());
            record[4..8].copy_from_slice(&oob.lpn.0.to_le_bytes());
        }
        Kind::Nor => {
            record[0..4].copy_from_slice(&oob.lpn.0.to_le_bytes());
            record[4] = oob.stream;
            record[FLAGS_AT] = !PROGRAMMED;
            record[6..8].copy_from_slice(&oob.note.to_le_bytes());
        }
    }
    record[8..16].copy_from_slice(&oob.sequence.to_le_bytes());
    record[16..24].copy_from_slice(&oob.time.to_le_bytes());
    record[24..28].copy_from_slice(&payload.to_le_bytes());
    let sum = sum_at(&record, place);
    record[28..].copy_from_slice(&sum.to_le_bytes());
    record
}

/// A NAND record whose last four bytes hold something else, with the checksum of its place there.
#[cfg(target_os = "linux")]
pub(crate) fn at_place(record: &Record, place: Ppn) -> Record {
    let mut whole = *record;
    whole[28..].copy_from_slice(&sum_at(record, place).to_le_bytes());
    whole
}

/// Whether an area was never written or is erased. A file has holes where nothing was written, and
/// they read as zeros; a NOR chip is written in full when it is made, so zeros mean bits there.
pub(crate) fn is_blank(kind: Kind, record: &Record) -> bool {
    match record[0] {
        0xff => *record == [0xff; BYTES],
        0 => kind == Kind::Nand && *record == [0; BYTES],
        _ => false,
    }
}

pub(crate) fn decode(kind: Kind, place: Ppn, record: &Record) -> Beside {
    if is_blank(kind, record) {
        return Beside::Blank;
    }
    let mut whole = *record;
    let is_one = match kind {
        Kind::Nand => record[0] == MAGIC,
        Kind::Nor => {
            whole[FLAGS_AT] |= OBSOLETE;
            whole[FLAGS_AT] & PROGRAMMED == 0
        }
    };
    if !is_one || sum_at(&whole, place) != u32::from_le_bytes(field(record, 28)) {
        return Beside::Torn;
    }
    let (lpn, stream, note) = match kind {
        Kind::Nand => (field(record, 4), record[1], field(record, 2)),
        Kind::Nor => (field(record, 0), record[4], field(record, 6)),
    };
    let oob = Oob {
        lpn: Lpn(u32::from_le_bytes(lpn)),
        stream,
        note: u16::from_le_bytes(note),
        sequence: u64::from_le_bytes(field(record, 8)),
        time: u64::from_le_bytes(field(record, 16)),
    };
    Beside::Holds(oob, u32::from_le_bytes(field(record, 24)))
}

/// Whether a NOR record is marked as obsolete.
pub(crate) const fn is_obsolete(record: &Record) -> bool {
    record[FLAGS_AT] & OBSOLETE == 0
}

/// Marks a NOR record as obsolete.
pub(crate) const fn make_obsolete(record: &mut Record) {
    record[FLAGS_AT] &= !OBSOLETE;
}

fn field<const N: usize>(record: &Record, at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&record[at..at + N]);
    field
}

/// The papers' segment header at the start of a NOR block. What is known when the block is erased
/// is programmed then, and the rest, with the checksum, when its first page is.
pub(crate) mod segment {
    use thermocline_flash::{BlockId, Oob};

    use super::{Record, checksum};

    const MAGIC: [u8; 4] = *b"FSEG";
    const VERSION: u16 = 1;

    /// The header of an erased block.
    pub(crate) fn erased(block: BlockId, erases: u32) -> Record {
        let mut header = [0xff; super::BYTES];
        header[0..4].copy_from_slice(&MAGIC);
        header[4..6].copy_from_slice(&VERSION.to_le_bytes());
        header[8..12].copy_from_slice(&erases.to_le_bytes());
        header[12..16].copy_from_slice(&block.0.to_le_bytes());
        header
    }

    /// Whether it is a header of a block.
    pub(crate) fn is_one(header: &Record) -> bool {
        header[0..4] == MAGIC
    }

    /// Whether a page of the block was programmed since.
    pub(crate) fn is_opened(header: &Record) -> bool {
        header[6..8] != [0xff; 2]
    }

    /// The block is opened by its first page.
    pub(crate) fn open(header: &mut Record, first: &Oob, is_system: bool) {
        header[16..24].copy_from_slice(&first.time.to_le_bytes());
        header[24] = first.stream;
        header[25] = if is_system { 3 } else { 0 };
        header[6..8].copy_from_slice(&[0; 2]);
        let sum = checksum(&header[..]) as u16;
        // All ones are the sum of a block that was not opened.
        let sum = if sum == u16::MAX { 0 } else { sum };
        header[6..8].copy_from_slice(&sum.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checksum_is_crc_32c() {
        assert_eq!(super::checksum(b"123456789"), 0xe306_9283);
    }
}
