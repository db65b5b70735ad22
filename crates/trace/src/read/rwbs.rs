//! The letters with which Linux block tracing describes a request: `R`, `WS`, `FWFS`, `DS`, …

use crate::Op;

/// The operation of a request over `sectors`; `None` if it moves no data and flushes nothing.
///
/// A leading `F` is a flush before the request; alone it *is* the flush. A later `F` is FUA.
/// Kernels before 2.6.37 use `B` (barrier) for both.
pub(crate) fn op(letters: &[u8], sectors: u64) -> Option<Op> {
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

/// Whether a word consists of such letters, in the order used by kernels.
pub(crate) fn is_word(letters: &[u8]) -> bool {
    let rest = letters.strip_prefix(b"F").unwrap_or(letters);
    let modifiers = match rest {
        [b'W', b'Z', more @ ..] | [b'D', b'E', more @ ..] => more,
        // Zone operations: reset (all), finish, open, close, append.
        [b'Z', b'R' | b'F' | b'O' | b'C' | b'A', more @ ..] => more,
        [b'R' | b'W' | b'D' | b'F' | b'N', more @ ..] => more,
        more => more,
    };
    // Read-ahead, sync, meta, FUA, barrier, atomic, none (as in `FN`).
    let is_modifier =
        |letter: &u8| matches!(letter, b'A' | b'S' | b'M' | b'F' | b'B' | b'U' | b'N');
    let says = rest.len() > modifiers.len() || letters.first() == Some(&b'F');
    says && modifiers.len() <= 4 && modifiers.iter().all(is_modifier)
}

/// The operation of a word without a known length, which is assumed to be positive.
pub(crate) fn op_of(letters: &[u8]) -> Option<Op> {
    op(letters, 1).or_else(|| op(letters, 0))
}

/// Why a request without an operation is left out.
pub(crate) const NO_OP: &str = "neither read, write, discard nor flush";

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

    #[test]
    fn rwbs_words_of_all_kernels_are_recognised_and_others_are_not() {
        for word in [
            "R", "RA", "RSM", "W", "WS", "WSM", "WFS", "FWS", "FWFS", "WZ", "WZS", "WSU", "WBS",
            "D", "DS", "DE", "DES", "F", "FF", "FFS", "FN", "N", "ZR", "ZRA", "ZF", "ZO", "ZC",
            "ZAS",
        ] {
            assert!(is_word(word.as_bytes()), "{word}");
        }
        for word in ["", "X", "WX", "Z", "ws", "READ", "E", "S", "RW", "WASMFB"] {
            assert!(!is_word(word.as_bytes()), "{word}");
        }
        for (word, does) in [
            ("FWS", Some(Op::Write)),
            ("WZS", Some(Op::Write)),
            ("DES", Some(Op::Trim)),
            ("FF", Some(Op::Flush)),
            ("F", Some(Op::Flush)),
            ("ZR", None),
            ("N", None),
        ] {
            assert_eq!(op_of(word.as_bytes()), does, "{word}");
        }
    }
}
