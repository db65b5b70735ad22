//! JSON objects and arrays, for which no common trace format exists.

use crate::read::entry::Refused;

pub(super) const JSON: Refused = Refused {
    detect: |sample| {
        let first = sample.first_line().trim_ascii();
        first.starts_with(b"{") || first.starts_with(b"[{")
    },
    what: "this is JSON with the keys of no known format",
    remedy: "make columns of it, as `jq -r '[.time, .op, .offset, .size] | @csv'` does, and name them by \
             ‹columns›",
};
