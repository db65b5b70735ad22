//! Requests of operators: a line of JSON each.

#![no_main]

use libfuzzer_sys::fuzz_target;
use thermocline_server::control::Request;

fuzz_target!(|data: &[u8]| {
    for line in data.split(|&byte| byte == b'\n') {
        let Ok(request) = serde_json::from_slice::<Request>(line) else { continue };
        let Ok(written) = serde_json::to_vec(&request) else { panic!("what was read is written") };
        assert!(serde_json::from_slice::<Request>(&written).is_ok(), "and read again");
    }
});
