//! A record of the master file table, and the clusters of its data.

use alloc::{vec, vec::Vec};
use core::ops::Range;

use crate::sectors::{le16, le32, le64};

/// Bytes between two words that a fixup replaces, whatever the sector size.
const STRIDE: usize = 512;
const IN_USE: u16 = 1;
const ATTRIBUTE_LIST: u32 = 0x20;
const DATA: u32 = 0x80;
const END: u32 = 0xffff_ffff;

/// Where the unnamed data of a file are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Data {
    /// Its clusters, run by run.
    pub runs: Vec<Range<u32>>,
    /// Bytes that were ever written.
    pub size: u64,
}

impl Data {
    /// The unnamed data that a record gives, on a volume with this number of clusters of this many
    /// bytes. `None` if the record is not intact, or the data are resident, sparse, compressed,
    /// encrypted, or listed in several records.
    ///
    /// A record of several sectors may arrive in several writes, between which its sequence numbers
    /// differ. With `is_arriving` only the rest is checked.
    pub fn read(mut record: Vec<u8>, clusters: u32, bytes: u64, is_arriving: bool) -> Option<Self> {
        let first = fix_up(&mut record, is_arriving)?;
        let used = le32(&record, 24) as usize;
        let is_sane = le16(&record, 22) & IN_USE != 0
            && le64(&record, 32) == 0
            && le32(&record, 28) as usize == record.len()
            && used <= record.len();
        let mut rest = if is_sane { record.get(first..used)? } else { return None };
        let mut data = None;
        while le32(rest, 0) != END {
            let length = le32(rest, 4) as usize;
            if length < 24 || !length.is_multiple_of(8) || length > rest.len() {
                return None;
            }
            let (attribute, others) = rest.split_at(length);
            match le32(attribute, 0) {
                ATTRIBUTE_LIST => return None,
                DATA if attribute[9] == 0 && data.is_some() => return None,
                DATA if attribute[9] == 0 => data = Some(Self::of(attribute, clusters, bytes)?),
                _ => {}
            }
            rest = others;
        }
        data
    }

    fn of(attribute: &[u8], clusters: u32, bytes: u64) -> Option<Self> {
        let is_plain = attribute[8] == 1 && le16(attribute, 12) == 0 && le16(attribute, 34) == 0;
        let (first, last) = (le64(attribute, 16), le64(attribute, 24));
        let (allocated, length, size) =
            (le64(attribute, 40), le64(attribute, 48), le64(attribute, 56));
        let at = usize::from(le16(attribute, 32));
        if !is_plain || first != 0 || at < 64 || size > length || length > allocated {
            return None;
        }
        let runs = runs(attribute.get(at..)?, clusters)?;
        let count: u64 = runs.iter().map(|run| run.len() as u64).sum();
        let is_whole = last.checked_add(1) == Some(count) && count.checked_mul(bytes)? == allocated;
        is_whole.then_some(Self { runs, size })
    }
}

/// Checks the sequence numbers at the end of each stride, and restores what stood there. Returns
/// where the attributes begin.
fn fix_up(record: &mut [u8], is_arriving: bool) -> Option<usize> {
    let (array, count) = (usize::from(le16(record, 4)), usize::from(le16(record, 6)));
    let first = usize::from(le16(record, 20));
    let is_sane = record.starts_with(b"FILE")
        && count == record.len() / STRIDE + 1
        && array >= 40
        && array.is_multiple_of(2)
        && array + 2 * count <= first
        && first < STRIDE - 2
        && first.is_multiple_of(8);
    if !is_sane {
        return None;
    }
    let number = le16(record, array);
    for stride in 1..count {
        let (from, to) = (array + 2 * stride, stride * STRIDE - 2);
        if le16(record, to) != number && !is_arriving {
            return None;
        }
        record.copy_within(from..from + 2, to);
    }
    Some(first)
}

/// Decodes a list of runs. Each begins with a byte that says how many bytes its length has, and how
/// many the distance from the run before. A run without a distance is a hole, which is refused.
fn runs(mut list: &[u8], clusters: u32) -> Option<Vec<Range<u32>>> {
    let mut runs: Vec<Range<u32>> = vec![];
    let mut start = 0i64;
    loop {
        let (&sizes, rest) = list.split_first()?;
        if sizes == 0 {
            return Some(runs);
        }
        let (of_length, of_distance) = (usize::from(sizes & 15), usize::from(sizes >> 4));
        if !(1..=8).contains(&of_length) || !(1..=8).contains(&of_distance) {
            return None;
        }
        let length = signed(rest.get(..of_length)?);
        let distance = signed(rest.get(of_length..of_length + of_distance)?);
        start = start.checked_add(distance)?;
        let end = start.checked_add(length)?;
        if length <= 0 || start < 0 || end > i64::from(clusters) {
            return None;
        }
        runs.push(start as u32..end as u32);
        list = rest.get(of_length + of_distance..)?;
    }
}

/// A little-endian number of up to eight bytes.
fn signed(bytes: &[u8]) -> i64 {
    let is_negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
    let filled = if is_negative { -1 } else { 0 };
    bytes.iter().rev().fold(filled, |number, &byte| number << 8 | i64::from(byte))
}
