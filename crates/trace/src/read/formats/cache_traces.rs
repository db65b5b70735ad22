//! Cache traces: detected in order to refuse them.
//!
//! They name keys but no operations, so they cannot drive a device.

use super::lcs;
use crate::read::{entry::Refused, sample::Sample};

/// Bytes of a libCacheSim oracleGeneral record: u32 time, u64 key, u32 size, i64 next access.
const ORACLE_RECORD: usize = 24;

pub(super) const LCS: Refused = Refused {
    detect: |sample| sample.bytes.starts_with(&lcs::MAGIC),
    what: "this is a libCacheSim LCS cache trace of version 1: it names keys but no operation, so \
           writes cannot be told from reads",
    remedy: "bring the block trace it was made from (for CloudPhysics the vscsi file, for MSR \
             the CSV)",
};

pub(super) const ORACLE_GENERAL: Refused = Refused {
    detect: |sample| is_oracle(sample.bytes),
    what: "this is a libCacheSim oracleGeneral cache trace: it names keys but no operation, so \
           writes cannot be told from reads",
    remedy: LCS.remedy,
};

pub(super) const LIS: Refused = Refused {
    detect: is_lis,
    what: "this is a ARC .lis cache trace: it names keys but no operation, so writes cannot be \
           told from reads",
    remedy: "bring the block trace it was made from (for CloudPhysics the vscsi file, for MSR \
             the CSV), or take every row for a write with ‹trace-format \
             columns:sep=blank,offset=1:512,size=2:512,all=write›",
};

/// Whether the records are plausible: clocks do not step back, sizes are sane, and next accesses
/// are later.
fn is_oracle(bytes: &[u8]) -> bool {
    let mut last = 0;
    let mut records = 0;
    for (index, record) in bytes.chunks_exact(ORACLE_RECORD).take(1000).enumerate() {
        let word = |at: usize| {
            u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
        };
        let (clock, size) = (word(0), word(12));
        let next = (u64::from(word(20)) << 32 | u64::from(word(16))) as i64;
        let ahead = next == -1 || next == i64::MAX || (next > index as i64 && next < 1 << 48);
        if clock < last || size == 0 || size > 1 << 30 || !ahead {
            return false;
        }
        last = clock;
        records += 1;
    }
    records > 0
}

/// Whether the rows have four numbers, of which the third is 0 and the fourth counts the requests.
fn is_lis(sample: &Sample<'_>) -> bool {
    let numbers = |line: &[u8]| -> Option<Vec<u64>> {
        let text = std::str::from_utf8(line).ok()?;
        text.split_ascii_whitespace().map(|word| word.parse().ok()).collect()
    };
    let rows = &sample.lines[..sample.lines.len().min(50)];
    !rows.is_empty()
        && rows.iter().all(|line| {
            numbers(line).is_some_and(|row| matches!(row[..], [_, blocks, 0, _] if blocks > 0))
        })
}
