//! What stands beside each page: 16 bytes with a checksum, from which a mount finds everything again.
//!
//! ```text
//!  0      what the page holds (4 bits): data of a stream, a page of the map or of a snapshot; whether its data are all ones (1 bit);
//!         pages before it that never count (2 bits); whether the program before it wrote the map (1 bit)
//!  1..3   times the block was erased before; of a page of the map the 16 low bits of the one written before it
//!  3..6   logical page; or number of the page of the map (20 bits), and 4 high bits of the one written before it
//!  6..9   what the program before this one wrote
//!  9..14  sequence number: counts programs
//! 14..16  CRC-16 of the bytes before
//! ```
//!
//! The checksum notices three turned bits, and locates one ([`Area::mended`]).

use crate::AREA;

/// What a page holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Data of the host, in a block that was opened for this stream.
    Data(u8),
    /// A page of the map.
    Map,
    /// A page of a snapshot of the tables in RAM. It is no part of the log.
    Snapshot,
}

/// The bytes beside a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// What the page holds.
    pub content: Content,
    /// Times that its block was erased, up to 2¹⁶ − 1; 0 where [`after`](Self::after) takes its place.
    pub erases: u32,
    /// The logical page, up to 2²⁴ − 1, or the number of the page of the map, up to 2²⁰ − 1.
    pub number: u32,
    /// Of a page of the map: the page of the map that was written before it, most often in the same block; more by
    /// 2²² where some of its logical pages were trimmed or lost. Where that one cannot be read any more, this is the witness that
    /// there was one, for as long as the block is not erased.
    pub after: Option<u32>,
    /// Counts programs: of two copies of a page the greater is the newer. Up to 2⁴⁰ − 1: 65,536 programs of each page of the
    /// largest chip.
    pub sequence: u64,
    /// What the program with the number before this one wrote. Where it cannot be read any more, this is the witness that
    /// there was one.
    pub before: Option<Before>,
    /// So many pages of the block before this one were cut off, or may have been, and never count: 3 at most, and 255 where
    /// this is the first program after a doubtful one, or a page that only says this.
    pub void: u8,
    /// The data are all ones, as a page looks of which only this was written.
    pub ones: bool,
}

/// What a program wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// A logical page.
    Data(u32),
    /// A page of the map; more by 2²² where some of its logical pages were trimmed or lost.
    Map(u32),
    /// Nobody knows: this is the first program after one that may be done or not, be it that the power failed. It left out
    /// 16 times so many numbers, up to 4095, and they never count.
    First(u16),
}

impl Before {
    /// As 24 bits and a flag, with the pages that never count.
    #[must_use]
    pub fn pack(before: Option<Self>, void: u8) -> (u32, bool) {
        match before {
            None => (NOTHING, false),
            Some(Self::Data(number)) => (number, false),
            Some(Self::Map(number)) => (number, true),
            Some(Self::First(left_out)) => {
                (FIRST | u32::from(left_out.min(MOST_LEFT_OUT as u16)) << 8 | u32::from(void), true)
            }
        }
    }

    /// What they say. Of the pages that never count, `void` are known where it is another one than the first program.
    #[must_use]
    pub fn unpack(word: u32, flag: bool, void: u8) -> (Option<Self>, u8) {
        match word {
            FIRST.. if flag => {
                (Some(Self::First((word >> 8) as u16 & MOST_LEFT_OUT as u16)), word as u8)
            }
            NOTHING => (None, void),
            number if flag => (Some(Self::Map(number)), void),
            number => (Some(Self::Data(number)), void),
        }
    }
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

const MAP: u8 = 8;
/// A page of the map that says which was written before it; and one before which the map knew of trims.
const MAP_AFTER: u8 = 9;
const MAP_AFTER_TRIMS: u8 = 10;
const SNAPSHOT: u8 = 11;
const CONTENT: u8 = 0x0f;
const ONES: u8 = 0x10;
const VOID_AT: u32 = 5;

const BEFORE_MAP: u8 = 0x80;
/// No program before.
const NOTHING: u32 = 0xff_ffff;
/// Not known, as the power failed before; and how many numbers (12 bits) and pages of the block (8 bits) never count. The
/// map has no page of such a number.
const FIRST: u32 = 0xf0_0000;
pub(crate) const MOST_LEFT_OUT: u64 = 0xfff;
/// The page of the map before knew of trims, or of lost pages. No map has so many pages.
pub(crate) const WITH_TRIMS: u32 = 1 << 22;
/// In place of a number: the page holds nothing, and its low 8 bits say how many pages before it never count.
pub(crate) const MARK: u32 = 0xff_ff00;
/// The same of a page of the map.
pub(crate) const MAP_MARK: u32 = 0x0f_ff00;

/// Whether a page with that number holds nothing, but for what it says of pages before it.
pub(crate) fn is_mark(content: Content, number: u32) -> bool {
    number & !0xff == if content == Content::Map { MAP_MARK } else { MARK }
}

impl Area {
    /// The bytes to program.
    #[must_use]
    pub fn encode(&self) -> [u8; AREA] {
        let mut bytes = [0; AREA];
        self.encode_into(&mut bytes);
        bytes
    }

    /// The bytes to program, where they are needed: copies take more code than all of this.
    pub(crate) fn encode_into(&self, bytes: &mut [u8; AREA]) {
        let (mut erases, mut number) = (self.erases.min(0xffff), self.number);
        let content = match (self.content, self.after) {
            (Content::Data(stream), _) => stream,
            (Content::Snapshot, _) => SNAPSHOT,
            (Content::Map, None) => MAP,
            (Content::Map, Some(after)) => {
                erases = after & 0xffff;
                number = number & 0x0f_ffff | (after << 4 & 0xf0_0000);
                if after & WITH_TRIMS == 0 { MAP_AFTER } else { MAP_AFTER_TRIMS }
            }
        };
        let (before, is_map) = Before::pack(self.before, self.void);
        let flag = if is_map { BEFORE_MAP } else { 0 };
        let ones = if self.ones { ONES } else { 0 };
        bytes[0] = content | ones | self.void.min(3) << VOID_AT | flag;
        bytes[1..3].copy_from_slice(&erases.to_le_bytes()[..2]);
        bytes[3..6].copy_from_slice(&number.to_le_bytes()[..3]);
        bytes[6..9].copy_from_slice(&before.to_le_bytes()[..3]);
        bytes[9..14].copy_from_slice(&self.sequence.to_le_bytes()[..5]);
        let check = crc16(&bytes[..14]);
        bytes[14..].copy_from_slice(&check.to_le_bytes());
    }

    /// What bytes say that were read.
    #[must_use]
    pub fn decode(bytes: &[u8; AREA]) -> Found {
        if bytes.iter().all(|&byte| byte == 0xff) {
            return Found::Blank;
        }
        if syndrome(bytes) != 0 {
            return Found::Torn;
        }
        Self::of(bytes)
    }

    /// What bytes say of which one bit may have turned. Of bytes that were never an area, such as a loss of power leaves, one
    /// in some hundred looks like that: it is for those who know what must stand there.
    #[must_use]
    pub fn mended(bytes: &[u8; AREA]) -> Option<Self> {
        let mut bytes = *bytes;
        mend(&mut bytes);
        match Self::decode(&bytes) {
            Found::Page(area) => Some(area),
            _ => None,
        }
    }

    /// What bytes say whose checksum is right.
    fn of(bytes: &[u8; AREA]) -> Found {
        // Of a program that was cut off the last bytes are blank, and so would the checksum be: no program has such a number.
        if bytes[13] == 0xff {
            return Found::Torn;
        }
        let content = match bytes[0] & CONTENT {
            stream if stream <= crate::MAX_STREAMS as u8 => Content::Data(stream),
            MAP..=MAP_AFTER_TRIMS => Content::Map,
            SNAPSHOT => Content::Snapshot,
            _ => return Found::Torn,
        };
        let three =
            |from: usize| u32::from_le_bytes([bytes[from], bytes[from + 1], bytes[from + 2], 0]);
        let (before, void) =
            Before::unpack(three(6), bytes[0] & BEFORE_MAP != 0, bytes[0] >> VOID_AT & 3);
        let (mut erases, mut number) =
            (u32::from(u16::from_le_bytes([bytes[1], bytes[2]])), three(3));
        let after = match bytes[0] & CONTENT {
            kind @ (MAP_AFTER | MAP_AFTER_TRIMS) => {
                let trims = if kind == MAP_AFTER { 0 } else { WITH_TRIMS };
                let after = erases | number >> 4 & 0x0f_0000 | trims;
                (erases, number) = (0, number & 0x0f_ffff);
                Some(after)
            }
            _ => None,
        };
        let mut area = Self {
            content,
            erases,
            number,
            after,
            sequence: u64::from(three(9)) | u64::from(bytes[12]) << 24 | u64::from(bytes[13]) << 32,
            before,
            void,
            ones: bytes[0] & ONES != 0,
        };
        if is_mark(content, number) {
            area.void = number as u8;
        }
        Found::Page(area)
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

/// Turns a bit back, if that makes the checksum right.
pub(crate) fn mend(bytes: &mut [u8; AREA]) {
    let syndrome = syndrome(bytes);
    // What each bit makes of the checksum, from the last one on: behind what it is of, a bit of its own.
    let mut makes = 0x1021_u16;
    for byte in bytes[..14].iter_mut().rev() {
        for bit in 0..8 {
            if makes == syndrome {
                *byte ^= 1 << bit;
            }
            makes = if makes & 0x8000 == 0 { makes << 1 } else { makes << 1 ^ 0x1021 };
        }
    }
    if syndrome.is_power_of_two() {
        let [low, high] = syndrome.to_le_bytes();
        bytes[14] ^= low;
        bytes[15] ^= high;
    }
}

/// What the bits that turned make of the checksum; 0 where none did.
fn syndrome(bytes: &[u8; AREA]) -> u16 {
    crc16(&bytes[..14]) ^ u16::from_le_bytes([bytes[14], bytes[15]])
}

#[cfg(test)]
mod tests {
    use super::*;

    const AREA_OF: Area = Area {
        content: Content::Data(3),
        erases: 60_000,
        number: 0xfe_dcba,
        after: None,
        sequence: 1 << 39 | 5,
        before: Some(Before::Map(77)),
        void: 2,
        ones: true,
    };

    #[test]
    fn the_checksum_is_the_standard_one() {
        assert_eq!(crc16(b"123456789"), 0x29b1);
    }

    #[test]
    fn what_is_encoded_is_decoded() {
        let map = Area { content: Content::Map, number: 0xf_edcb, erases: 0, ..AREA_OF };
        let others = [
            Area { content: Content::Map, before: None, void: 0, ones: false, ..AREA_OF },
            Area { after: Some(0xa_bcde), ..map },
            Area { after: Some(0x1_2345 | WITH_TRIMS), before: Some(Before::First(3)), ..map },
            Area { number: MARK | 77, void: 77, ..AREA_OF },
            Area { number: MAP_MARK | 255, void: 255, after: Some(1), ..map },
            Area { content: Content::Data(0), before: Some(Before::Data(0)), ..AREA_OF },
            Area { before: Some(Before::First(0xfff)), void: 255, ..AREA_OF },
        ];
        for area in [AREA_OF].into_iter().chain(others) {
            assert_eq!(Area::decode(&area.encode()), Found::Page(area));
            assert_eq!(Area::mended(&area.encode()), Some(area));
        }
        assert_eq!(Area::decode(&[0xff; AREA]), Found::Blank);
    }

    #[test]
    fn turned_bits_are_noticed_and_one_is_mended() {
        for one in 0..AREA * 8 {
            let mut turned = AREA_OF.encode();
            turned[one / 8] ^= 1 << (one % 8);
            assert_eq!(Area::decode(&turned), Found::Torn, "bit {one}");
            assert_eq!(Area::mended(&turned), Some(AREA_OF), "bit {one}");
            for other in 0..one {
                let mut turned = turned;
                turned[other / 8] ^= 1 << (other % 8);
                assert_eq!(Area::decode(&turned), Found::Torn, "bits {one}, {other}");
                assert_eq!(Area::mended(&turned), None, "bits {one}, {other}");
            }
        }
    }
}
