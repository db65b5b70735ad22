//! Tests of the host's page cache on a small volume.

use crate::{FileOptions, geometry::SECTOR, session::Session};
use thermocline_trace::{Contents, Op, Request};

const VOLUME: u64 = 56 << 20;
const SECOND: u64 = 1_000_000_000;

/// A mounted volume with an idle host.
fn mounted() -> Session {
    let mut session = Session::new(&FileOptions::new(VOLUME)).expect("a volume");
    session.format().expect("formatted");
    session.mount().expect("mounted");
    session.think(60 * SECOND);
    sent(&mut session);
    session
}

/// The requests sent to the device since the last call.
fn sent(session: &mut Session) -> Vec<Request> {
    let mut batch = Vec::new();
    session.host().outbox.take(&mut batch, &mut Contents::default(), usize::MAX);
    batch
}

fn data(session: &mut Session, op: Op) -> Vec<Request> {
    let data_start = session.host().layout.data_start * SECTOR;
    let mut requests = sent(session);
    // The root directory is the first cluster.
    requests.retain(|request| request.op == op && request.offset > data_start);
    requests
}

#[test]
fn data_are_written_before_metadata_each_in_order_of_address_and_in_large_requests() {
    let mut session = mounted();
    session.create("A", 200 << 10).expect("room");
    assert_eq!(data(&mut session, Op::Write), [], "all in the cache");
    session.sync();
    let requests = sent(&mut session);
    let data_start = session.host().layout.data_start * SECTOR;
    let (data, metadata) = requests.split_at(2);
    for requests in [data, metadata] {
        assert!(requests.windows(2).all(|pair| pair[0].offset < pair[1].offset));
    }
    let lengths: Vec<u64> = requests.iter().map(|request| request.len).collect();
    // The data, then 400 entries, 128 to a sector, twice, and the directory.
    assert_eq!(lengths, [120 << 10, 80 << 10, 4 * SECTOR, 4 * SECTOR, SECTOR]);
    assert!(data[0].offset > data_start && metadata[0].offset < data_start);
}

#[test]
fn a_sync_leaves_fs_info_to_the_timer() {
    let mut session = mounted();
    session.create("A", 1).expect("room");
    session.sync();
    let info = session.host().layout.info * SECTOR;
    assert!(sent(&mut session).iter().all(|request| request.offset != info));
    let now = session.host().now;
    session.think(60 * SECOND);
    let requests = sent(&mut session);
    assert_eq!((requests.len(), requests[0].offset, requests[0].op), (1, info, Op::Write));
    assert!((now + 4 * SECOND..now + 5 * SECOND).contains(&requests[0].time_ns));
}

#[test]
fn the_timer_writes_back_and_nobody_waits() {
    let mut session = mounted();
    session.create("A", 500 << 10).expect("room");
    let now = session.host().now;
    session.think(5 * SECOND);
    assert_eq!(session.host().now, now + 5 * SECOND);
    let requests = sent(&mut session);
    assert!(requests.len() > 5 && requests[0].time_ns <= now + 5 * SECOND);
    // The device is busy, and a read waits for it.
    let last = requests[requests.len() - 1];
    assert!(last.time_ns > now + 5 * SECOND);
    session.host().drop_caches();
    session.read("A", 0, 4096).expect("there");
    assert!(session.host().now >= last.time_ns + last.len / SECTOR * 452_000);
}

#[test]
fn a_writer_of_too_much_waits() {
    let mut session = mounted();
    let now = session.host().now;
    session.create("A", 3 << 20).expect("room");
    let written: u64 = data(&mut session, Op::Write).iter().map(|request| request.len).sum();
    assert!((2 << 20..3 << 20).contains(&written), "{written}");
    assert!(session.host().now >= now + written / SECTOR * 452_000);
}

#[test]
fn a_file_deleted_before_write_back_is_never_written() {
    let mut session = mounted();
    session.create("A", 100 << 10).expect("room");
    session.create("B", 100 << 10).expect("room");
    session.remove("A").expect("there");
    session.sync();
    let written: u64 = data(&mut session, Op::Write).iter().map(|request| request.len).sum();
    assert_eq!(written, 100 << 10);
}

#[test]
fn reads_are_as_large_as_the_place_of_the_file_allows() {
    let mut session = mounted();
    session.create("A", 1 << 20).expect("room");
    session.host().sync_all();
    session.host().drop_caches();
    sent(&mut session);
    session.read("A", 0, 64 << 10).expect("there");
    let lengths: Vec<u64> = data(&mut session, Op::Read).iter().map(|r| r.len).collect();
    assert_eq!(lengths, [64 << 10]);
    session.read("A", 0, 64 << 10).expect("there");
    assert_eq!(data(&mut session, Op::Read), [], "in the cache");
}

#[test]
fn part_of_a_sector_is_read_before_it_is_written_unless_it_is_new() {
    let mut session = mounted();
    session.create("A", 700).expect("room");
    session.host().sync_all();
    assert_eq!(data(&mut session, Op::Read), []);
    session.host().drop_caches();
    session.append("A", 10).expect("room");
    session.update("A", 0, 512).expect("there");
    let reads = data(&mut session, Op::Read);
    assert_eq!(reads.iter().map(|r| r.len).collect::<Vec<_>>(), [512], "the second sector");
}
