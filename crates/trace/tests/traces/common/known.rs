//! Requests with their contents.

use thermocline_trace::{Request, Source, read::ReadOptions};

use super::{
    open,
    usb::{File, Link, Session},
};

/// Requests with the data that each wrote or read.
pub type Known = Vec<(Request, Option<Vec<u8>>)>;

pub fn with_contents() -> ReadOptions {
    ReadOptions { contents: true, ..ReadOptions::default() }
}

/// The most common kind of capture file.
pub fn pcap() -> File {
    File { link: Link::Mmapped, big: false, next: true, nanos: true, snap: 262_144 }
}

/// Everything from a source, batch by batch.
pub fn known(source: &mut impl Source, limit: usize) -> Known {
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        source.next_batch(&mut batch, limit).expect("no error");
        if batch.is_empty() {
            assert!(source.contents().is_empty(), "contents of no request");
            return all;
        }
        let contents = source.contents();
        all.extend(
            batch.iter().enumerate().map(|(at, r)| (*r, contents.of(at).map(<[u8]>::to_vec))),
        );
    }
}

/// The requests of a session, and the reader's warnings.
pub fn read_session(session: &Session, options: &ReadOptions) -> (Known, Vec<String>) {
    let mut reader = open(&session.capture(pcap()), options).expect("opens");
    let all = known(&mut reader, 100);
    (all, reader.warnings())
}
