//! USB captures beyond the common samples: contents, commands in company, and what goes wrong.

mod readers_common;

use std::io::Write as _;

use readers_common::{
    drain, open,
    usb::{
        self, Data, File, Link, Session, capacity, cdb, files, pattern, ten, two_sticks, unmap_list,
    },
};
use thermocline_trace::{
    Op, Request, Source,
    read::{self, ReadOptions},
    transform::{
        Dedup, JoinVolumes, KeepOps, Limit, OpSet, Rebase, Repeat, SelectVolumes, Shift, ShiftBy,
    },
};

const STICK: (u16, u8) = (1, 5);

fn with_contents() -> ReadOptions {
    ReadOptions { contents: true, ..ReadOptions::default() }
}

fn pcap() -> File {
    File { link: Link::Mmapped, big: false, next: true, nanos: true, snap: 262_144 }
}

/// Requests, each with its contents; a batch at a time.
fn known(source: &mut impl Source, limit: usize) -> Vec<(Request, Option<Vec<u8>>)> {
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

/// What a session's requests wrote and read, and what the reader warns of.
fn read_session(
    session: &Session,
    options: &ReadOptions,
) -> (Vec<(Request, Option<Vec<u8>>)>, Vec<String>) {
    let mut reader = open(&session.capture(pcap()), options).expect("opens");
    let all = known(&mut reader, 100);
    (all, reader.warnings())
}

#[test]
fn captures_know_what_was_written_and_read() {
    let expected = [
        Some(pattern(1, 4096)),
        Some(pattern(2, 4096)),
        Some(pattern(4, 1024)),
        None,
        None,
        Some(pattern(5, 2048)),
    ];
    for file in files() {
        let bytes = two_sticks().capture(file);
        for limit in [1, 2, 4096] {
            let mut reader = open(&bytes, &with_contents()).expect("opens");
            let contents: Vec<_> = known(&mut reader, limit).into_iter().map(|(_, c)| c).collect();
            assert_eq!(contents, expected, "{file:?}");
        }
        let mut reader = open(&bytes, &ReadOptions::default()).expect("opens");
        assert!(known(&mut reader, 100).iter().all(|(_, contents)| contents.is_none()));
    }
}

#[test]
fn what_makes_no_request_is_counted() {
    for bytes in [two_sticks().capture(pcap()), two_sticks().text(true)] {
        let mut reader = open(&bytes, &ReadOptions::default()).expect("opens");
        assert_eq!(drain(&mut reader, 100).0.len(), 6);
        assert_eq!(
            reader.warnings(),
            [
                "5 rows left out: SCSI commands that are neither reads, writes, trims nor cache \
                 flushes",
                "1 row left out: commands that the device refused; the host repeats what it needs",
                "1 row left out: commands without an answer in the capture",
            ]
        );
    }
}

#[test]
fn text_has_no_contents_and_says_so() {
    let mut reader = open(&two_sticks().text(true), &with_contents()).expect("opens");
    assert!(known(&mut reader, 3).iter().all(|(_, contents)| contents.is_none()));
    let warnings = reader.warnings();
    assert!(
        warnings.contains(&"reads and writes whose bytes were not captured whole: 4".into()),
        "{warnings:?}"
    );
}

#[test]
fn long_commands_are_put_together_from_their_transfers() {
    let mut session = Session::default();
    let (long, longer) = (pattern(1, 300 << 10), pattern(2, (4 << 20) + 512));
    session.command(1000, STICK, (0, 1), ten(0x2a, 0, 600), Data::Out(long.clone()), 0);
    session.command(3000, STICK, (0, 2), ten(0x28, 0, 600), Data::In(long.clone()), 0);
    // The longest that is kept, and one sector more.
    let longest = longer[512..].to_vec();
    session.command(5000, STICK, (0, 3), ten(0x2a, 0, 8192), Data::Out(longest.clone()), 0);
    session.command(8000, STICK, (0, 4), ten(0x2a, 0, 8193), Data::Out(longer), 0);
    let (all, warnings) = read_session(&session, &with_contents());
    let contents: Vec<_> = all.into_iter().map(|(_, contents)| contents).collect();
    assert!(contents == [Some(long.clone()), Some(long), Some(longest), None]);
    assert_eq!(warnings, ["reads and writes whose bytes were not captured whole: 1"]);

    // Packets cut by the snapshot length: the requests are there, their bytes are not.
    let cut = session.capture(File { snap: 65_536, ..pcap() });
    let mut reader = open(&cut, &with_contents()).expect("opens");
    let all = known(&mut reader, 100);
    assert_eq!(all.len(), 4);
    assert!(all.iter().all(|(_, contents)| contents.is_none()));
    assert_eq!(reader.warnings(), ["reads and writes whose bytes were not captured whole: 4"]);
}

#[test]
fn a_batch_ends_where_its_contents_are_many() {
    let mut session = Session::default();
    for n in 0..40_u32 {
        let data = Data::Out(pattern(n as u8, 1 << 20));
        session.command(u64::from(n) * 10_000, STICK, (0, n + 1), ten(0x2a, n, 2048), data, 0);
    }
    let bytes = session.capture(pcap());
    let path = std::env::temp_dir().join(format!("thermocline-usb-{}", std::process::id()));
    std::fs::write(&path, &bytes).expect("writes");
    let alone = read::open(&path, &with_contents()).expect("opens");
    let merged = read::open_many(&[&path, &path], &with_contents()).expect("opens");
    std::fs::remove_file(&path).expect("was there");
    for (mut reader, times) in [(alone, 1), (merged, 2)] {
        let (mut batch, mut seen) = (Vec::new(), 0);
        loop {
            reader.next_batch(&mut batch, 4096).expect("no error");
            if batch.is_empty() {
                break;
            }
            assert!(batch.len() <= 9, "{} MiB in a batch", batch.len());
            for at in 0..batch.len() {
                let expected = pattern((seen / times) as u8, 1 << 20);
                assert!(reader.contents().of(at) == Some(&expected[..]), "request {seen}");
                seen += 1;
            }
        }
        assert_eq!(seen, 40 * times);
    }
}

#[test]
fn files_of_several_buses_count_from_the_earliest() {
    let directory = tempfile::tempdir().expect("a directory");
    let write = |name: &str, bytes: &[u8]| {
        let path = directory.path().join(name);
        std::fs::File::create(&path).and_then(|mut file| file.write_all(bytes)).expect("writes");
        path
    };
    let session = |bus, start_us, at_us, seed| {
        let mut session = Session { start_us, ..Session::default() };
        let data = Data::Out(pattern(seed, 512));
        session.command(at_us, (bus, 3), (0, 1), ten(0x2a, 9, 1), data, 0);
        session
    };
    let first = write("a.pcap", &session(1, 1_000_000, 5_000_000, 1).capture(pcap()));
    let second = write("b.pcap", &session(2, 500_000, 4_000_000, 2).capture(pcap()));
    let mut reader = read::open_many(&[first, second], &with_contents()).expect("opens");
    let all = known(&mut reader, 100);
    let seen: Vec<_> = all.iter().map(|(r, _)| (r.time_ns, r.volume)).collect();
    assert_eq!(reader.volumes().len(), 2);
    assert_eq!(seen, [(3_500_000_000, seen[0].1), (4_500_000_000, seen[1].1)]);
    assert_eq!(reader.volumes()[seen[0].1 as usize], "2.3");
    assert_eq!(all[0].1, Some(pattern(2, 512)));
    assert_eq!(all[1].1, Some(pattern(1, 512)));
}

#[test]
fn transformations_keep_contents_with_their_requests() {
    let bytes = two_sticks().capture(pcap());
    let read = || open(&bytes, &with_contents()).expect("opens");
    let contents = |all: Vec<(Request, Option<Vec<u8>>)>| -> Vec<_> {
        all.into_iter().map(|(_, contents)| contents).collect()
    };
    let all = known(&mut read(), 100);
    let only = |keep: &dyn Fn(&Request) -> bool| -> Vec<_> {
        all.iter().filter(|(r, _)| keep(r)).map(|(_, contents)| contents.clone()).collect()
    };
    for limit in [1, 3, 100] {
        let ops = OpSet::of(&[Op::Read, Op::Trim]);
        assert_eq!(
            contents(known(&mut KeepOps::new(read(), ops), limit)),
            only(&|r| matches!(r.op, Op::Read | Op::Trim))
        );
        let second = vec!["1.6".into()];
        assert_eq!(
            contents(known(&mut SelectVolumes::new(read(), second), limit)),
            only(&|r| r.volume == 1)
        );
        assert_eq!(contents(known(&mut Limit::new(read(), 2), limit)), only(&|_| true)[..2]);
        let everything = only(&|_| true);
        assert_eq!(contents(known(&mut Shift::new(read(), ShiftBy(512)), limit)), everything);
        assert_eq!(contents(known(&mut Rebase::new(read()), limit)), everything);
        assert_eq!(contents(known(&mut Dedup::new(read(), 1), limit)), everything);
        let mut joined = JoinVolumes::new(read(), &[1 << 40; 3]).expect("fits");
        assert_eq!(contents(known(&mut joined, limit)), everything);
        let twice = [&everything[..], &everything[..]].concat();
        assert_eq!(contents(known(&mut Repeat::new(|| Ok(read()), 2), limit)), twice);
    }
}

/// A command unit of USB Attached SCSI.
fn attached(session: &mut Session, at_us: u64, tag: u16, cdb: [u8; 16]) {
    let mut unit = vec![1, 0];
    unit.extend(tag.to_be_bytes());
    unit.extend([0; 12]);
    unit.extend(cdb);
    session.urb(at_us, STICK, false, unit);
}

/// Its sense unit.
fn sense(session: &mut Session, at_us: u64, tag: u16, status: u8) {
    let mut unit = vec![3, 0];
    unit.extend(tag.to_be_bytes());
    unit.extend([0, 0, status]);
    unit.resize(16, 0);
    session.urb(at_us, STICK, true, unit);
}

#[test]
fn attached_scsi_is_read_though_many_commands_run_at_once() {
    let mut session = Session::default();
    let mut reply = 99_999_u64.to_be_bytes().to_vec();
    reply.extend(4096_u32.to_be_bytes());
    reply.resize(32, 0);
    attached(&mut session, 1000, 1, cdb(&[0x9e, 0x10]));
    session.urb(1020, STICK, true, reply);
    sense(&mut session, 1040, 1, 0);
    // Data may go before their command; a write of one sector looks like nothing else.
    session.urb(2000, STICK, false, pattern(1, 4096));
    attached(&mut session, 2010, 2, ten(0x2a, 7, 1));
    attached(&mut session, 2020, 3, ten(0x28, 8, 2));
    attached(&mut session, 2030, 4, ten(0x2a, 9, 1));
    let list = unmap_list(&[(16, 4), (32, 8)]);
    session.urb(2035, STICK, false, list.clone());
    attached(&mut session, 2040, 5, ten(0x42, 0, list.len() as u16));
    sense(&mut session, 2100, 5, 0);
    sense(&mut session, 2110, 3, 0);
    sense(&mut session, 2120, 4, 2);
    sense(&mut session, 2130, 2, 0);
    attached(&mut session, 3000, 6, ten(0x35, 0, 0));
    sense(&mut session, 3100, 6, 0);

    let (all, warnings) = read_session(&session, &with_contents());
    let expected = [
        (2_010_000, Op::Write, 7 * 4096, 4096),
        (2_020_000, Op::Read, 8 * 4096, 8192),
        (2_040_000, Op::Trim, 16 * 4096, 4 * 4096),
        (2_040_000, Op::Trim, 32 * 4096, 8 * 4096),
        (3_000_000, Op::Flush, 0, 0),
    ];
    let seen: Vec<_> = all.iter().map(|(r, _)| (r.time_ns, r.op, r.offset, r.len)).collect();
    assert_eq!(seen, expected);
    assert!(
        all.iter().all(|(_, contents)| contents.is_none()),
        "nobody knows whose bytes they are"
    );
    assert_eq!(
        warnings,
        [
            "1 row left out: SCSI commands that are neither reads, writes, trims nor cache flushes",
            "1 row left out: commands that the device refused; the host repeats what it needs",
            "reads and writes whose bytes were not captured whole: 2",
        ]
    );
}

#[test]
fn a_sector_size_that_nobody_told_is_assumed_aloud() {
    let mut session = Session::default();
    attached(&mut session, 1000, 1, ten(0x2a, 7, 2));
    sense(&mut session, 1100, 1, 0);
    let (all, warnings) = read_session(&session, &ReadOptions::default());
    assert_eq!((all[0].0.offset, all[0].0.len), (7 * 512, 1024));
    assert!(warnings[0].contains("--sector-size"), "{warnings:?}");

    let given = ReadOptions { sector_size: Some(4096), ..ReadOptions::default() };
    let (all, warnings) = read_session(&session, &given);
    assert_eq!((all[0].0.offset, all[0].0.len), (7 * 4096, 8192));
    assert_eq!(warnings, [""; 0]);
}

#[test]
fn what_the_disk_says_of_its_sectors_goes_before_what_is_seen() {
    let mut session = Session::default();
    // The capture begins late, and the stick is asked again when a medium is put in.
    session.command(1000, STICK, (0, 1), ten(0x2a, 3, 2), Data::Out(pattern(1, 4096)), 0);
    session.command(2000, STICK, (0, 2), ten(0x25, 0, 0), Data::In(capacity(99, 512)), 0);
    session.command(3000, STICK, (0, 3), ten(0x2a, 3, 2), Data::Out(pattern(2, 1024)), 0);
    let (all, _) = read_session(&session, &with_contents());
    let places: Vec<_> = all.iter().map(|(r, _)| (r.offset, r.len)).collect();
    assert_eq!(places, [(3 * 2048, 4096), (3 * 512, 1024)]);
    assert_eq!(all[1].1, Some(pattern(2, 1024)));
}

#[test]
fn commands_that_no_disk_can_do_are_left_out() {
    let mut session = Session::default();
    let mut far = vec![0x8a, 0];
    far.extend(u64::MAX.to_be_bytes());
    far.extend(8_u32.to_be_bytes());
    session.command(1000, STICK, (0, 1), cdb(&far), Data::Out(pattern(1, 4096)), 0);
    session.command(2000, STICK, (0, 2), ten(0x2a, 5, 0), Data::None, 0);
    // An answer to another command: the host resets the stick and asks anew.
    session.wrapper(3000, STICK, (0, 3), ten(0x2a, 5, 1), &Data::Out(pattern(2, 512)));
    session.status(3500, STICK, 77, 0);
    session.command(4000, STICK, (0, 4), ten(0x2a, 5, 1), Data::Out(pattern(3, 512)), 0);
    let lists = unmap_list(&[(1, 1), (u64::MAX, 9), (3, 0), (5, 2)]);
    session.command(5000, STICK, (0, 5), ten(0x42, 0, lists.len() as u16), Data::Out(lists), 0);
    let (all, warnings) = read_session(&session, &with_contents());
    let seen: Vec<_> = all.iter().map(|(r, _)| (r.time_ns, r.op, r.offset)).collect();
    assert_eq!(
        seen,
        [(4_000_000, Op::Write, 2560), (5_000_000, Op::Trim, 512), (5_000_000, Op::Trim, 2560)]
    );
    assert_eq!(
        warnings,
        [
            "2 rows left out: commands to sectors past the end of any device",
            "1 row left out: reads, writes and trims of 0 sectors",
            "1 row left out: commands without an answer in the capture",
        ]
    );
}

#[test]
fn a_list_of_ranges_too_long_for_text_is_counted() {
    let mut session = Session::default();
    let list = unmap_list(&[(8, 8), (32, 8)]);
    session.command(1000, STICK, (0, 1), ten(0x2a, 5, 1), Data::Out(pattern(1, 512)), 0);
    session.command(2000, STICK, (0, 2), ten(0x42, 0, list.len() as u16), Data::Out(list), 0);
    let mut reader = open(&session.text(true), &ReadOptions::default()).expect("opens");
    let (all, _) = drain(&mut reader, 100);
    assert_eq!((all.len(), all[1].offset, all[1].len), (2, 4096, 4096));
    assert_eq!(
        reader.warnings(),
        ["1 row left out: UNMAP commands whose ranges were not all captured"]
    );
}

#[test]
fn damaged_captures_give_what_is_good_and_name_the_packet() {
    for file in files() {
        let bytes = two_sticks().capture(file);
        // Cut within the last packet: captures are stopped when they are no longer needed.
        let mut reader = open(&bytes[..bytes.len() - 3], &ReadOptions::default()).expect("opens");
        let (requests, error) = drain(&mut reader, 100);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(requests.len(), 6);
        let warnings = reader.warnings();
        assert!(warnings.iter().any(|w| w.contains("ends within a packet")), "{warnings:?}");
    }
    let file = pcap();
    let mut bytes = two_sticks().capture(file);
    let end = bytes.len();
    file.packet(&mut bytes, 40_000, &[0; 64]);
    // An interface that was never described.
    bytes[end + 8] = 9;
    let mut reader = open(&bytes, &ReadOptions::default()).expect("opens");
    let (requests, error) = drain(&mut reader, 100);
    assert_eq!(requests.len(), 6);
    let packets = 2 * two_sticks().urbs.len() + 2;
    assert_eq!(
        error.expect("an error").to_string(),
        format!(
            "test: packet {packets}: interface 9 is not described; \
             the capture is damaged from here on; record it again"
        )
    );
    // A length that is less than what is in the block.
    bytes.truncate(end);
    file.packet(&mut bytes, 40_000, &[0; 64]);
    bytes[end + 20] = 200;
    let mut reader = open(&bytes, &ReadOptions::default()).expect("opens");
    let (requests, error) = drain(&mut reader, 3);
    assert_eq!(requests.len(), 6);
    assert!(error.expect("an error").to_string().contains("a block of type 6 and 96 bytes"));
    // A packet of 2 GiB.
    let mut bytes = two_sticks().capture(File { next: false, nanos: false, ..file });
    bytes.extend([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0x80]);
    bytes.resize(bytes.len() + (5 << 20), 0);
    let mut reader = open(&bytes, &ReadOptions::default()).expect("opens");
    let error = drain(&mut reader, 100).1.expect("an error").to_string();
    assert!(error.contains("longer than 4 MiB"), "{error}");
}

#[test]
fn captures_of_no_use_say_why() {
    let file = File { next: false, nanos: false, ..pcap() };
    let mut bytes = two_sticks().capture(file);
    bytes[20] = 10;
    bytes[21] = 1;
    let error = open(&bytes, &ReadOptions::default()).err().expect("refused").to_string();
    assert!(error.contains("link type 266, macOS"), "{error}");
    assert!(error.contains("usbmon1"), "{error}");

    // So short a snapshot that commands are cut.
    for (snap, why) in [(64 + 20, "at least 128 bytes"), (40, "within their USB header")] {
        let cut = two_sticks().capture(File { snap, ..file });
        let mut reader = open(&cut, &ReadOptions::default()).expect("opens");
        assert_eq!(drain(&mut reader, 100).0, []);
        let warnings = reader.warnings();
        assert!(warnings.iter().any(|warning| warning.contains(why)), "{warnings:?}");
        assert!(warnings.iter().any(|warning| warning.contains("lsusb")), "{warnings:?}");
    }
}

#[test]
fn bad_lines_of_text_are_named_and_can_be_skipped() {
    let text = String::from_utf8(two_sticks().text(true)).expect("text");
    for (from, to, says) in [
        (" S Bo:1:005:2 -115 31 =", " S Bo:1:005:2 -115 3x =", "field 6 (length) is \"3x\""),
        (" S Bo:1:005:2 ", " S Bo:1:0x5:2 ", "field 4 (address) is \"Bo:1:0x5:2\""),
        (" S Bo:1:005:2 ", " X Bo:1:005:2 ", "field 3 (event) is \"X\", neither S, C nor E"),
        ("= 55534243", "= 555342zz", "field data is \"555342zz\", not bytes in hexadecimal"),
    ] {
        let bad = text.replacen(from, to, 1);
        let mut reader = open(bad.as_bytes(), &ReadOptions::default()).expect("opens");
        let error = drain(&mut reader, 100).1.expect("an error").to_string();
        assert!(error.starts_with("test:4: ") && error.contains(says), "{error}");
        let options = ReadOptions { skip_bad_lines: true, ..ReadOptions::default() };
        let mut reader = open(bad.as_bytes(), &options).expect("opens");
        assert_eq!(drain(&mut reader, 100).0.len(), 6);
    }
    // What came before a bad line is delivered before the error.
    let bad = format!("{text}nonsense\n");
    let mut reader = open(bad.as_bytes(), &ReadOptions::default()).expect("opens");
    let (requests, error) = drain(&mut reader, 2);
    assert_eq!((requests.len(), error.is_some()), (6, true));
}

#[test]
fn other_traffic_on_the_bus_is_passed_over() {
    // A mouse, a serial adapter, and a network stick; none of them is a disk.
    let mut session = Session::default();
    for n in 0..50 {
        session.urb(n * 100, (1, 9), true, vec![0; 13]);
        session.urb(n * 100 + 30, (1, 9), false, vec![1; 32]);
        session.urb(n * 100 + 60, (1, 8), false, vec![0x55; 31]);
    }
    let (all, warnings) = read_session(&session, &ReadOptions::default());
    assert_eq!(all.len(), 0);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let usb = usb::two_sticks();
    session.urbs.extend(usb.urbs);
    let (all, _) = read_session(&session, &ReadOptions::default());
    assert_eq!(all.len(), 6);
}
