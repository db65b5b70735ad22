//! The pages of a request.

use crate::{Op, Request, TraceError};
use std::ops::Range;

/// Maximum length of a read or write. A larger one is a misread column, and would fill the memory
/// with pages that are never accessed.
const LARGEST_TRANSFER: u64 = 4 << 30;

/// The pages that a request covers at least in part; none for flushes and empty requests.
///
/// # Errors
/// [`TraceError::Request`] for requests that no device can serve.
pub fn touched(request: &Request, page_bytes: u64) -> Result<Range<u64>, TraceError> {
    if request.op == Op::Flush || request.len == 0 {
        return Ok(0..0);
    }
    let end = request.offset.checked_add(request.len);
    match end {
        Some(end) if request.op == Op::Trim || request.len <= LARGEST_TRANSFER => {
            Ok(request.offset / page_bytes..end.div_ceil(page_bytes))
        }
        _ => Err(TraceError::request(
            format!(
                "a request of {} bytes at byte {} of volume {}, larger than any device takes",
                request.len, request.offset, request.volume
            ),
            "check the format and the units of its offset and length columns",
        )),
    }
}

/// The pages completely within a request: those that a trim frees.
pub(crate) fn covered(request: &Request, page_bytes: u64) -> Range<u64> {
    let first = request.offset.div_ceil(page_bytes);
    let end = request.offset.saturating_add(request.len) / page_bytes;
    first..end.max(first)
}
