//! The pages a request touches.

use crate::{Op, Request, TraceError};
use std::ops::Range;

/// No device takes reads or writes above this in one request; a larger one is a misread column,
/// and believing it would fill the memory with pages nobody touched.
const LARGEST_TRANSFER: u64 = 4 << 30;

/// Pages touched by a request, partly or wholly; none for flushes and empty requests.
///
/// # Errors
/// [`TraceError::Request`] for requests that no device could serve.
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

/// Pages lying wholly within a request: what a trim makes free.
pub(crate) fn covered(request: &Request, page_bytes: u64) -> Range<u64> {
    let first = request.offset.div_ceil(page_bytes);
    let end = request.offset.saturating_add(request.len) / page_bytes;
    first..end.max(first)
}
