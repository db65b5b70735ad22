//! What stands beside each page: 16 bytes with a checksum, from which a mount finds everything again.
//!
//! ```text
//!  0      what the page holds: data of a stream, or a page of the map
//!  1..4   times the block was erased before
//!  4..8   logical page, or number of the page of the map
//!  8..14  sequence number: counts programs
//! 14..16  CRC-16 of the bytes before
//! ```

use crate::nand::AREA;

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Data of the host, in a block that was opened for this stream.
    Data(u8),
    /// A page of the map.
    Map,
}

/// The bytes beside a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// What the page holds.
    pub content: Content,
    /// Times that its block was erased, up to 2²⁴ − 1.
    pub erases: u32,
    /// The logical page, or the number of the page of the map.
    pub number: u32,
    /// Counts programs: of two copies of a page the greater is the newer. Up to 2⁴⁸ − 1.
    pub sequence: u64,
}

/// Bytes beside a page, as they were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// The page was not programmed since its block was erased.
    Blank,
    /// The page was programmed with this beside it.
    Page(Area),
    /// Neither: the power failed while the page was programmed or its block erased, or bits turned.
    Torn,
}

const MAP: u8 = 0x40;

impl Area {
    /// The bytes to program.
    #[must_use]
    pub fn encode(&self) -> [u8; AREA] {
        let mut bytes = [0; AREA];
        bytes[0] = match self.content {
            Content::Data(stream) => stream,
            Content::Map => MAP,
        };
        bytes[1..4].copy_from_slice(&self.erases.min(0xff_ffff).to_le_bytes()[..3]);
        bytes[4..8].copy_from_slice(&self.number.to_le_bytes());
        bytes[8..14].copy_from_slice(&self.sequence.to_le_bytes()[..6]);
        let check = crc16(&bytes[..14]);
        bytes[14..].copy_from_slice(&check.to_le_bytes());
        bytes
    }

    /// What bytes say that were read.
    #[must_use]
    pub fn decode(bytes: &[u8; AREA]) -> Found {
        if bytes.iter().all(|&byte| byte == 0xff) {
            return Found::Blank;
        }
        let content = match bytes[0] {
            stream if stream < crate::MAX_STREAMS as u8 => Content::Data(stream),
            MAP => Content::Map,
            _ => return Found::Torn,
        };
        if crc16(&bytes[..14]) != u16::from_le_bytes([bytes[14], bytes[15]]) {
            return Found::Torn;
        }
        let long = |from: usize, count: usize| {
            bytes[from..from + count].iter().rev().fold(0, |all, &byte| all << 8 | u64::from(byte))
        };
        Found::Page(Self {
            content,
            erases: long(1, 3) as u32,
            number: long(4, 4) as u32,
            sequence: long(8, 6),
        })
    }
}

/// CRC-16/CCITT, half a byte at a time: a table of 32 bytes.
fn crc16(bytes: &[u8]) -> u16 {
    const TABLE: [u16; 16] = {
        let mut table = [0; 16];
        let mut i = 0;
        while i < 16 {
            let mut crc = (i as u16) << 12;
            let mut bit = 0;
            while bit < 4 {
                crc = if crc & 0x8000 == 0 { crc << 1 } else { crc << 1 ^ 0x1021 };
                bit += 1;
            }
            table[i] = crc;
            i += 1;
        }
        table
    };
    bytes.iter().fold(0xffff, |crc, &byte| {
        let crc = crc << 4 ^ TABLE[usize::from((crc >> 12) as u8 ^ byte >> 4)];
        crc << 4 ^ TABLE[usize::from((crc >> 12) as u8 ^ byte & 15)]
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_the_standard_one() {
        assert_eq!(crc16(b"123456789"), 0x29b1);
    }

    #[test]
    fn what_is_encoded_is_decoded_and_a_turned_bit_is_noticed() {
        let area =
            Area { content: Content::Data(3), erases: 70_000, number: 9, sequence: 1 << 40 | 5 };
        let bytes = area.encode();
        assert_eq!(Area::decode(&bytes), Found::Page(area));
        for bit in 0..AREA * 8 {
            let mut turned = bytes;
            turned[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Area::decode(&turned), Found::Torn, "bit {bit}");
        }
        assert_eq!(Area::decode(&[0xff; AREA]), Found::Blank);
    }
}
