//! What is programmed beside a page: 32 bytes, little endian, as in an image of NAND.
//!
//! | bytes | |
//! |---|---|
//! | 0 | magic and version of the record |
//! | 1 | stream |
//! | 2..4 | note |
//! | 4..8 | logical page |
//! | 8..16 | sequence |
//! | 16..24 | time |
//! | 24..28 | CRC-32C of the payload |
//! | 28..32 | CRC-32C of the first 28 bytes |
//!
//! Many controllers' error correction does not cover these bytes. The record's checksum finds one bit that
//! turned: of the 256 records that differ by one bit from what was read, at most one has a right checksum, for
//! any two records with right checksums differ in at least six bits.

use crc_fast::CrcAlgorithm::Crc32Iscsi;
use thermocline_flash::{Lpn, Oob};

pub(super) const BYTES: usize = 32;

pub(super) type Record = [u8; BYTES];

const MAGIC: u8 = 0xa1;
/// More bits than this do not turn in an area that was erased; every record has more that are 0.
const MOST_TURNED: u32 = 4;

/// The checksum of a payload or a record.
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    // 32 bits wide, and handed out in 64.
    crc_fast::checksum(Crc32Iscsi, bytes) as u32
}

/// What stands beside a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    Blank,
    /// Not blank, and nothing that was written.
    Torn,
    /// A record with the checksum of the payload, and whether one of its bits had turned.
    Holds(Oob, u32, bool),
}

pub(super) fn encode(oob: &Oob, payload: u32) -> Record {
    let mut record = [0; BYTES];
    record[0] = MAGIC;
    record[1] = oob.stream;
    record[2..4].copy_from_slice(&oob.note.to_le_bytes());
    record[4..8].copy_from_slice(&oob.lpn.0.to_le_bytes());
    record[8..16].copy_from_slice(&oob.sequence.to_le_bytes());
    record[16..24].copy_from_slice(&oob.time.to_le_bytes());
    record[24..28].copy_from_slice(&payload.to_le_bytes());
    let sum = checksum(&record[..28]);
    record[28..].copy_from_slice(&sum.to_le_bytes());
    record
}

pub(super) fn decode(record: &Record) -> Beside {
    if record.iter().map(|byte| byte.count_zeros()).sum::<u32>() <= MOST_TURNED {
        return Beside::Blank;
    }
    if is_sound(record) {
        return unpack(record, false);
    }
    for bit in 0..BYTES * 8 {
        let mut mended = *record;
        mended[bit / 8] ^= 1 << (bit % 8);
        if is_sound(&mended) {
            return unpack(&mended, true);
        }
    }
    Beside::Torn
}

fn is_sound(record: &Record) -> bool {
    record[0] == MAGIC && checksum(&record[..28]) == u32::from_le_bytes(field(record, 28))
}

fn unpack(record: &Record, mended: bool) -> Beside {
    let oob = Oob {
        lpn: Lpn(u32::from_le_bytes(field(record, 4))),
        stream: record[1],
        note: u16::from_le_bytes(field(record, 2)),
        sequence: u64::from_le_bytes(field(record, 8)),
        time: u64::from_le_bytes(field(record, 16)),
    };
    Beside::Holds(oob, u32::from_le_bytes(field(record, 24)), mended)
}

fn field<const N: usize>(record: &Record, at: usize) -> [u8; N] {
    let mut field = [0; N];
    field.copy_from_slice(&record[at..at + N]);
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    const OOB: Oob = Oob {
        lpn: Lpn(0x0403_0201),
        stream: 5,
        note: 0x0706,
        sequence: 0x0f0e_0d0c_0b0a_0908,
        time: u64::MAX,
    };

    #[test]
    fn a_record_is_read_as_it_was_written_and_mended_if_one_bit_turned() {
        let record = encode(&OOB, 0x1234_5678);
        assert_eq!(decode(&record), Beside::Holds(OOB, 0x1234_5678, false));
        assert_eq!(record[..8], [MAGIC, 5, 6, 7, 1, 2, 3, 4]);
        for bit in 0..256 {
            let mut turned = record;
            turned[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(&turned), Beside::Holds(OOB, 0x1234_5678, true), "bit {bit}");
            for second in bit + 1..256 {
                let mut turned = turned;
                turned[second / 8] ^= 1 << (second % 8);
                assert_eq!(decode(&turned), Beside::Torn, "bits {bit} and {second}");
            }
        }
    }

    #[test]
    fn an_erased_area_is_blank_even_if_a_few_of_its_bits_turned() {
        let mut area = [0xff; BYTES];
        assert_eq!(decode(&area), Beside::Blank);
        area[3] = 0b1111_0101;
        area[31] = 0x7f;
        assert_eq!(decode(&area), Beside::Blank);
        area[9] = 0;
        assert_eq!(decode(&area), Beside::Torn);
        assert_eq!(decode(&[0; BYTES]), Beside::Torn);
    }

    #[test]
    fn the_checksum_is_crc_32c() {
        assert_eq!(checksum(b"123456789"), 0xe306_9283);
    }
}
