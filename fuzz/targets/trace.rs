//! Every trace reader: the first byte chooses the format, or that it is guessed.

#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use thermocline_trace::{
    Source,
    read::{self, Format, ReadOptions},
};

fuzz_target!(|data: &[u8]| {
    let Some((&choice, bytes)) = data.split_first() else { return };
    let all: Vec<Format> = Format::all().into_iter().collect();
    let format = all.get(usize::from(choice >> 1)).cloned();
    let options = ReadOptions {
        format,
        skip_bad_lines: choice & 1 != 0,
        contents: true,
        ..ReadOptions::default()
    };
    let Ok(mut reader) = read::open_stream(Cursor::new(bytes.to_vec()), "fuzz", &options) else {
        return;
    };
    let mut batch = Vec::new();
    for _ in 0..=bytes.len() {
        let read = reader.next_batch(&mut batch, 64);
        assert!(batch.len() <= 64);
        for request in &batch {
            assert!(request.offset.checked_add(request.len).is_some());
        }
        if read.is_err() || batch.is_empty() {
            return;
        }
    }
    panic!("the reader does not end");
});
