//! The letters of Linux block tracing for what a request is: `R`, `WS`, `FWFS`, `DS`, …

use crate::Op;

/// The operation of a request over `sectors`; `None` if it moves no data and flushes nothing.
///
/// A leading `F` asks for a flush before the request; alone it *is* the flush. An `F` further
/// back is FUA. Kernels before 2.6.37 say `B` (barrier) for both.
pub(super) fn op(letters: &[u8], sectors: u64) -> Option<Op> {
    if sectors == 0 {
        let flushes = letters.iter().any(|letter| matches!(letter, b'F' | b'B'));
        return flushes.then_some(Op::Flush);
    }
    let kind = match letters {
        [b'F', kind, ..] => kind,
        [kind, ..] => kind,
        [] => return None,
    };
    match kind {
        b'R' => Some(Op::Read),
        b'W' => Some(Op::Write),
        b'D' => Some(Op::Trim),
        _ => None,
    }
}

/// Why a request without an operation is left out.
pub(super) const NO_OP: &str = "neither read, write, discard nor flush";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_say_what_a_request_is() {
        assert_eq!(op(b"RA", 8), Some(Op::Read));
        assert_eq!(op(b"WSM", 8), Some(Op::Write));
        assert_eq!(op(b"FWFS", 8), Some(Op::Write));
        assert_eq!(op(b"FWS", 0), Some(Op::Flush));
        assert_eq!(op(b"FN", 0), Some(Op::Flush));
        assert_eq!(op(b"WBS", 0), Some(Op::Flush));
        assert_eq!(op(b"DS", 8), Some(Op::Trim));
        assert_eq!(op(b"N", 0), None);
        assert_eq!(op(b"N", 8), None);
        assert_eq!(op(b"", 8), None);
    }
}
