//! The content of a recording.

use std::{fs::File, io::BufReader, path::Path, time::Duration};

use thermocline_nbd::wire;
use thermocline_server::{Opening, Options};
use thermocline_trace::{Op, Request, Source, native::NativeReader};

use crate::{
    layer::{page_mapped, ram},
    running::{Running, with_metrics},
    slow::Slow,
};

const BLOCKS: u32 = 48;
const PAGES: u32 = 2304;

fn recorded(policy: &str, path: &Path) -> Running {
    let opening = Opening::new(page_mapped(ram(BLOCKS), policy, PAGES, 0));
    Running::start(vec![opening], Options { record: Some(path.into()), ..with_metrics() })
}

/// The recording of the requests of `act`.
fn recording_of(act: impl FnOnce(&Running)) -> Vec<Request> {
    let folder = tempfile::TempDir::new().expect("there is room for a folder");
    let path = folder.path().join("trace");
    let mut running = recorded("greedy", &path);
    act(&running);
    running.stop().expect("it ends in good order");
    requests(&path)
}

fn asked(all: &[Request]) -> Vec<(Op, u64, u64)> {
    all.iter().map(|r| (r.op, r.offset, r.len)).collect()
}

fn requests(path: &Path) -> Vec<Request> {
    let file = BufReader::new(File::open(path).expect("there is a recording"));
    let mut reader = NativeReader::new(file, path).expect("it is a trace");
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        reader.next_batch(&mut batch, 1000).expect("the trace is whole");
        if batch.is_empty() {
            return all;
        }
        all.append(&mut batch);
    }
}

#[test]
fn a_recording_holds_what_was_asked_in_the_order_in_which_it_was_done() {
    let all = recording_of(|running| {
        let mut client = running.connect();
        client.write(1000, &[1; 5000]).expect("an answer");
        client.read(0, &mut [0; 512]).expect("an answer");
        client.ask(wire::CMD_TRIM, 0, 100, 8192, &[]).expect("an answer");
        client.flush().expect("an answer");
        client.write(1 << 40, &[1; 1]).expect("an answer");
        // Half a page, a page, half a page: of the first and the last only the first holds data.
        client.ask(wire::CMD_WRITE_ZEROES, 0, 2048, 8192, &[]).expect("an answer");
    });
    let found = asked(&all);
    assert_eq!(
        found,
        [
            (Op::Write, 1000, 5000),
            (Op::Read, 0, 512),
            (Op::Trim, 100, 8192),
            (Op::Flush, 0, 0),
            (Op::Write, 2048, 2048),
            (Op::Trim, 4096, 4096),
        ]
    );
    assert_eq!(all[0].time_ns, 0, "the clock starts with the first request");
    assert!(all.is_sorted_by_key(|request| request.time_ns));
}

#[test]
fn the_hint_of_a_write_is_its_export_where_there_are_several() {
    let folder = tempfile::TempDir::new().expect("there is room for a folder");
    let path = folder.path().join("trace");
    let opening = |name: &str| Opening {
        name: name.into(),
        ..Opening::new(page_mapped(ram(BLOCKS), "greedy", PAGES, 0))
    };
    let options = Options { record: Some(path.clone()), ..with_metrics() };
    let mut running = Running::start(vec![opening("mail"), opening("web")], options);
    for (name, offset) in [("mail", 0), ("web", 4096), ("mail", 8192)] {
        let mut client = running.connect_to(name);
        client.write(offset, &[1; 4096]).expect("an answer");
        client.read(offset, &mut [0; 512]).expect("an answer");
    }
    running.stop().expect("it ends in good order");
    let mut found: Vec<_> =
        requests(&path).iter().map(|r| (r.volume, r.offset, r.op, r.hint)).collect();
    found.sort_unstable_by_key(|(_, offset, op, _)| (*offset, *op == Op::Read));
    assert_eq!(
        found,
        [
            (0, 0, Op::Write, 1),
            (0, 0, Op::Read, 0),
            (1, 4096, Op::Write, 2),
            (1, 4096, Op::Read, 0),
            (0, 8192, Op::Write, 1),
            (0, 8192, Op::Read, 0),
        ]
    );
    let alone = recording_of(|running| {
        running.connect().write(0, &[1; 4096]).expect("an answer");
    });
    assert_eq!(alone[0].hint, 0, "one export says nothing");
}

#[test]
fn a_write_of_many_pages_gives_way_to_readers_and_a_recording_has_both_in_order() {
    const WRITTEN: u64 = 48;
    let folder = tempfile::TempDir::new().expect("there is room for a folder");
    let path = folder.path().join("trace");
    let (chip, known) = Slow::chip(BLOCKS, Duration::ZERO);
    let opening = Opening::new(page_mapped(chip, "greedy", PAGES, 0));
    let options = Options { record: Some(path.clone()), ..with_metrics() };
    let mut running = Running::start(vec![opening], options);
    let (mut writer, mut reader) = (running.connect(), running.connect());
    known.gate.close();
    std::thread::scope(|scope| {
        let writing = scope.spawn(move || {
            writer.write(0, &[1; WRITTEN as usize * 4096]).expect("an answer");
        });
        known.gate.wait();
        let reading = scope.spawn(move || {
            let mut found = [9; 8192];
            reader.read(0, &mut found[..4096]).expect("an answer");
            reader.read((WRITTEN - 1) * 4096, &mut found[4096..]).expect("an answer");
            found
        });
        // Nine operations each, and what passes before the reads come.
        let passed = known.gate.let_through(WRITTEN as u32 - 8, || reading.is_finished());
        let found = reading.join().expect("no panic");
        writing.join().expect("no panic");
        assert!(passed.is_some(), "the reads waited for the whole write");
        assert_eq!((found[0], found[8191]), (1, 0), "the first page was written, and not the last");
    });
    running.stop().expect("it ends in good order");
    let found = asked(&requests(&path));
    let [(Op::Write, 0, first), ref between @ .., (Op::Write, last, length)] = found[..] else {
        panic!("{found:?}");
    };
    assert!(between.contains(&(Op::Read, 0, 4096)), "{found:?}");
    let rows = found.iter().filter(|row| row.0 == Op::Write);
    assert_eq!(rows.map(|row| row.2).sum::<u64>(), WRITTEN * 4096, "{found:?}");
    assert!(first >= 8 * 4096 && last + length == WRITTEN * 4096, "{found:?}");
}

#[test]
fn a_request_that_is_done_in_pieces_is_one_row() {
    let zeros = 1 << 20;
    let all = recording_of(|running| {
        let mut client = running.connect();
        let long = vec![1; 3 << 20];
        client.write(1000, &long).expect("an answer");
        // Behind the first one, and yet another request.
        client.write(1000 + (3 << 20), &long).expect("an answer");
        client
            .ask(wire::CMD_WRITE_ZEROES, wire::CMD_FLAG_NO_HOLE, 512, zeros, &[])
            .expect("an answer");
    });
    let found = asked(&all);
    assert_eq!(
        found,
        [
            (Op::Write, 1000, 3 << 20),
            (Op::Write, 1000 + (3 << 20), 3 << 20),
            (Op::Write, 512, u64::from(zeros)),
        ]
    );
}

#[test]
fn a_request_that_others_came_between_is_recorded_in_the_order_in_which_it_was_done() {
    let (whole, sent) = (4 << 20, 3 << 20);
    let all = recording_of(|running| {
        let (mut slow, mut quick) = (running.connect(), running.connect());
        // Much more than the socket buffers, so the server has written a part when this returns.
        slow.send(wire::CMD_WRITE, 0, 0, whole, &vec![1; sent]).expect("the server takes it");
        quick.write(0, &[2; 4096]).expect("an answer");
        slow.pipe.write_all(&vec![1; whole as usize - sent]).expect("the server takes it");
        slow.receive(0, &mut []).expect("an answer");
    });
    let found = asked(&all);
    let [(Op::Write, 0, before), (Op::Write, 0, 4096), (Op::Write, at, after)] = found[..] else {
        panic!("{found:?}");
    };
    assert!(before > 1 << 20 && before % 4096 == 0, "{before}");
    assert_eq!((at, before + after), (before, u64::from(whole)));
    assert!(all.is_sorted_by_key(|request| request.time_ns));
}

#[test]
fn a_full_disk_ends_the_recording_and_nothing_else() {
    let mut running = recorded("greedy", Path::new("/dev/full"));
    let mut client = running.connect();
    for round in 0..40_000_u64 {
        let error = client.write(round % 500 * 4096, &[round as u8; 512]).expect("an answer");
        assert_eq!(error, 0);
    }
    drop(client);
    running.stop().expect("it ends in good order");
}

#[test]
fn a_recording_that_cannot_be_created_is_named() {
    let options = Options { record: Some("/nowhere/trace".into()), ..Options::default() };
    let opening = Opening::new(page_mapped(ram(BLOCKS), "greedy", PAGES, 0));
    let error = thermocline_server::Server::new(vec![opening], options).expect_err("no folder");
    assert!(error.to_string().contains("/nowhere/trace"), "{error}");
}
