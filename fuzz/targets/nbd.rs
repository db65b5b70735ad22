//! The NBD protocol as the server speaks it, with the session in memory of its tests.

#![no_main]

use libfuzzer_sys::fuzz_target;
use thermocline_nbd::{Export, Exports, Settings};

#[allow(dead_code)]
#[path = "../../crates/nbd/tests/protocol/common/disk.rs"]
mod disk;
#[allow(dead_code)]
#[path = "../../crates/nbd/tests/protocol/common/session.rs"]
mod session;

const SIZE: u64 = 1 << 20;

fuzz_target!(|data: &[u8]| {
    let Ok(exports) = Exports::new(vec![Export::new("", SIZE), Export::new("other", SIZE)]) else {
        return;
    };
    let settings = Settings { extended_headers: true, ..Settings::default() };
    let mut session = session::Session::new(settings, exports, SIZE);
    // What comes in parts is answered as what comes at once.
    for part in data.chunks(1 + data.len() / 3) {
        session.feed(part);
    }
    assert!(session.most_received <= (1 << 20) && session.most_output <= (8 << 20));
});
