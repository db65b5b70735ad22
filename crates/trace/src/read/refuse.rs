//! Traces that cannot drive a device, and what to tell those who bring them.

use std::path::Path;

use super::{detect::Sample, fault::shown};
use crate::TraceError;

/// Bytes of a libCacheSim oracleGeneral record: u32 time, u64 key, u32 size, i64 next access.
const ORACLE_RECORD: usize = 24;

/// First eight bytes of a libCacheSim LCS trace, as a little-endian number.
const LCS_MAGIC: [u8; 8] = 0x1234_5678_9abc_def0_u64.to_le_bytes();

/// Why no format fits.
pub(crate) fn explain(sample: &Sample<'_>, path: &Path) -> TraceError {
    let (what, remedy) = reason(sample);
    TraceError::Format { path: path.to_owned(), what, remedy }
}

fn reason(sample: &Sample<'_>) -> (String, String) {
    let keys_only = |name: &str| {
        (
            format!(
                "this is a {name} trace: it names keys but no operation, so writes cannot be \
                 told from reads"
            ),
            "bring the block trace it was made from (for CloudPhysics the vscsi file, for MSR \
             the CSV)"
                .to_owned(),
        )
    };
    if sample.bytes.starts_with(&LCS_MAGIC) {
        keys_only("libCacheSim LCS cache")
    } else if is_oracle(sample.bytes) {
        keys_only("libCacheSim oracleGeneral cache")
    } else if is_lis(sample) {
        let (what, remedy) = keys_only("ARC .lis cache");
        let columns = "columns:sep=blank,offset=1:512,size=2:512,all=write";
        (what, format!("{remedy}, or take every row for a write with --format {columns}"))
    } else if sample.bytes.starts_with(b"\xff\xfe") || sample.bytes.starts_with(b"\xfe\xff") {
        (
            "the text is UTF-16".into(),
            "convert it with `iconv -f UTF-16 -t UTF-8` and try again".into(),
        )
    } else {
        let start = &sample.bytes[..sample.bytes.len().min(64)];
        let line = start.split(|&b| b == b'\n').next().unwrap_or_default();
        (
            format!("no known trace format begins with {}", shown(line)),
            "name the format with --format, or describe its columns with --format columns:…".into(),
        )
    }
}

/// Records whose clocks do not go back, whose sizes are sane, and whose next accesses lie ahead.
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

/// Rows of four numbers, the third 0, the fourth counting the requests.
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
