//! Text in UTF-16: detected in order to refuse it.

use crate::read::entry::Refused;

pub(super) const UTF16: Refused = Refused {
    detect: |sample| sample.bytes.starts_with(b"\xff\xfe") || sample.bytes.starts_with(b"\xfe\xff"),
    what: "the text is UTF-16",
    remedy: "convert it with `iconv -f UTF-16 -t UTF-8` and try again",
};
