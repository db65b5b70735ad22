//! The unit of a column of offsets or sizes, judged by its name and its values.

use std::borrow::Cow;

use super::{Name, SIZE_UNITS};
use crate::read::fields::{self, Field};

/// Offsets or sizes, and what is known about their unit.
pub(super) struct Place {
    /// Whether they are hexadecimal without `0x`.
    pub(super) is_hex: bool,
    /// Whether most values are not numbers.
    pub(super) is_unread: bool,
    /// The unit given by the column's name, or by the caller for a table in memory.
    pub(super) named: Option<&'static str>,
    /// Whether all are multiples of the smallest sector, or one is too large to be a number of
    /// sectors.
    as_bytes: bool,
    /// Whether all are multiples of the sectors in 4 KiB, and some are less than the bytes of a
    /// sector.
    as_sectors: bool,
    /// Whether its name refers to blocks, which may not be sectors.
    counts_blocks: bool,
    /// Whether all are multiples of 4 KiB.
    as_pages: bool,
    /// The positions within a page, if these numbers are sectors, as bits.
    within_page: u8,
}

impl Place {
    pub(super) fn of(name: &Name, values: &[Cow<'_, str>], own: Option<&'static str>) -> Self {
        // An exponent is also a hexadecimal digit, but hexadecimal numbers have other such digits.
        let is_hex = values.iter().any(|value| {
            value.bytes().any(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_digit())
                && !value.starts_with("0x")
                && !value.starts_with("0X")
                && fields::decimal(value.as_bytes()).is_none()
        });
        // A single invalid value is reported when it is read. Many mean that these are not such
        // numbers.
        let filled = || values.iter().filter(|value| !value.is_empty());
        let number = |value: &Cow<'_, str>| {
            let field = Field::new(value.as_bytes(), 1, "place");
            if is_hex { field.hex() } else { field.number() }.ok()
        };
        let mut numbers: Vec<u64> = filled().filter_map(number).collect();
        let is_unread = numbers.len() * 2 < filled().count();
        // -1, the offset of flushes.
        numbers.retain(|number| *number != u64::MAX);
        let has = |words: &[&str]| name.words.iter().any(|word| words.contains(&word.as_str()));
        let counted = || has(&["lbn", "lsn", "blkno"]).then_some("sectors");
        Self {
            is_hex,
            is_unread,
            named: name.unit(SIZE_UNITS).or(own).or_else(counted),
            as_bytes: numbers.iter().all(|number| number.is_multiple_of(512))
                || numbers.iter().any(|number| *number > 1 << 40),
            as_sectors: numbers.iter().all(|number| number.is_multiple_of(8))
                && numbers.iter().any(|number| *number < 512),
            counts_blocks: has(&["lba", "lbn", "blkno", "block", "startblock", "blocknumber"]),
            as_pages: numbers.iter().all(|number| number.is_multiple_of(4096)),
            within_page: numbers.iter().fold(0, |seen, number| seen | 1 << (number % 8)),
        }
    }

    /// Whether whole pages would be written to unaligned positions if these were sectors.
    pub(super) fn may_be_pages(&self, length: &Self, units: Option<[&'static str; 2]>) -> bool {
        let is_mixed = self.counts_blocks && self.within_page.count_ones() > 1;
        is_mixed && length.as_pages && units == Some(["sectors", "bytes"])
    }

    /// The units of offsets and sizes; `None` if they may be bytes or sectors.
    pub(super) fn units(from: &Self, length: &Self) -> Option<[&'static str; 2]> {
        let by_value = match (from.as_bytes, length.as_bytes) {
            (true, true) => Some(["bytes", "bytes"]),
            // Block devices are not written in whole sectors from within a sector, but files are.
            (false, true) if from.counts_blocks => Some(["sectors", "bytes"]),
            (false, false) if length.as_sectors => Some(["sectors", "sectors"]),
            _ => None,
        };
        let unit = |place: &Self| if place.as_bytes { "bytes" } else { "sectors" };
        match (from.named, length.named) {
            (Some(from), Some(length)) => Some([from, length]),
            // A table with sectors in one column may have bytes in the other.
            (Some(from), None) if length.as_bytes || from == "sectors" => {
                Some([from, unit(length)])
            }
            (Some(_), None) => None,
            (None, Some(length)) if from.as_bytes || from.counts_blocks => {
                Some([unit(from), length])
            }
            (None, Some(_)) => None,
            (None, None) => by_value,
        }
    }
}
