//! The [`record`] of NAND beside a page, and the correction of a flipped bit in it.
//!
//! The error correction of many controllers does not cover these bytes. The record's checksum locates one
//! flipped bit: two records with valid checksums differ in at least six bits, so at most one of the 256 records
//! at a distance of one bit has a valid checksum.

use thermocline_flash::{Kind, Oob, Ppn};

use crate::record::{self, BYTES, Record};

/// More bits than this do not turn in an area that was erased; every record has more that are 0.
const MOST_TURNED: u32 = 4;

/// The contents of the record beside a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beside {
    Blank,
    /// Not blank, and nothing that was written.
    Torn,
    /// A record with the checksum of the payload, and whether one of its bits had turned.
    Holds(Oob, u32, bool),
}

pub(super) fn decode(place: Ppn, record: &Record) -> Beside {
    if record.iter().map(|byte| byte.count_zeros()).sum::<u32>() <= MOST_TURNED {
        return Beside::Blank;
    }
    if let record::Beside::Holds(oob, payload) = record::decode(Kind::Nand, place, record) {
        return Beside::Holds(oob, payload, false);
    }
    for bit in 0..BYTES * 8 {
        let mut mended = *record;
        mended[bit / 8] ^= 1 << (bit % 8);
        if let record::Beside::Holds(oob, payload) = record::decode(Kind::Nand, place, &mended) {
            return Beside::Holds(oob, payload, true);
        }
    }
    Beside::Torn
}

#[cfg(test)]
mod tests {
    use thermocline_flash::Lpn;

    use super::*;

    const AT: Ppn = Ppn(77);

    const OOB: Oob = Oob {
        lpn: Lpn(0x0403_0201),
        stream: 5,
        note: 0x0706,
        sequence: 0x0f0e_0d0c_0b0a_0908,
        time: u64::MAX,
    };

    #[test]
    fn a_record_is_read_as_it_was_written_and_mended_if_one_bit_turned() {
        let record = record::encode(Kind::Nand, AT, &OOB, 0x1234_5678);
        assert_eq!(decode(AT, &record), Beside::Holds(OOB, 0x1234_5678, false));
        assert_eq!(record[1..8], [5, 6, 7, 1, 2, 3, 4]);
        for bit in 0..256 {
            let mut turned = record;
            turned[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(decode(AT, &turned), Beside::Holds(OOB, 0x1234_5678, true), "bit {bit}");
            for second in bit + 1..256 {
                let mut turned = turned;
                turned[second / 8] ^= 1 << (second % 8);
                assert_eq!(decode(AT, &turned), Beside::Torn, "bits {bit} and {second}");
            }
        }
    }

    #[test]
    fn an_erased_area_is_blank_even_if_a_few_of_its_bits_turned() {
        let mut area = [0xff; BYTES];
        assert_eq!(decode(AT, &area), Beside::Blank);
        area[3] = 0b1111_0101;
        area[31] = 0x7f;
        assert_eq!(decode(AT, &area), Beside::Blank);
        area[9] = 0;
        assert_eq!(decode(AT, &area), Beside::Torn);
        assert_eq!(decode(AT, &[0; BYTES]), Beside::Torn);
    }
}
