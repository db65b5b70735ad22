//! USB captures beyond the common samples: concurrent commands, and errors.

use crate::common::{
    drain,
    known::{pcap, read_session, with_contents},
    open,
    usb::{
        self, Data, File, Session, attached_disk, capacity, cdb, files, pattern, ten, two_sticks,
        unmap_list,
    },
};
use thermocline_trace::{Op, read::ReadOptions};

const STICK: (u16, u8) = (1, 5);

#[test]
fn concurrent_uas_commands_are_separated() {
    let (all, warnings) = read_session(&attached_disk(), &with_contents());
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
fn an_unknown_sector_size_is_assumed_with_a_warning() {
    let mut session = Session::default();
    session.unit(STICK, 1000, 1, ten(0x2a, 7, 2));
    session.sense(STICK, 1100, 1, 0);
    let (all, warnings) = read_session(&session, &ReadOptions::default());
    assert_eq!((all[0].0.offset, all[0].0.len), (7 * 512, 1024));
    assert!(warnings[0].contains("‹sector-size›"), "{warnings:?}");

    let given = ReadOptions { sector_size: Some(4096), ..ReadOptions::default() };
    let (all, warnings) = read_session(&session, &given);
    assert_eq!((all[0].0.offset, all[0].0.len), (7 * 4096, 8192));
    assert_eq!(warnings, [""; 0]);
}

#[test]
fn a_reported_sector_size_overrides_an_observed_one() {
    let mut session = Session::default();
    // The capture begins late, and the capacity is read again when a medium is inserted.
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
    // An answer to another command: the host resets the stick and retries.
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
            "1 row left out: commands without an answer in the capture: it ended, lost packets, or \
             saw a reset",
            "answers to commands that are not in the capture (it began late, or lost packets): 1",
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
        // Cut off within the last packet, as usual when a capture is stopped.
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
    // An interface without a description.
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
    // A length that is less than the content of the block.
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
fn captures_without_requests_say_why() {
    let file = File { next: false, nanos: false, ..pcap() };
    let mut bytes = two_sticks().capture(file);
    bytes[20] = 10;
    bytes[21] = 1;
    let error = open(&bytes, &ReadOptions::default()).expect_err("refused").to_string();
    assert!(error.contains("link type 266, macOS"), "{error}");
    assert!(error.contains("usbmon1"), "{error}");

    // A snapshot length that cuts off commands.
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
    // Requests before an invalid line are delivered before the error.
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

#[test]
fn lost_packets_are_reported_for_both_ends() {
    let mut session = Session::default();
    session.status(500, STICK, 0, 0);
    for n in 1..=4_u32 {
        let at_us = u64::from(n) * 1000;
        let data = Data::Out(pattern(n as u8, 512));
        session.command(at_us, STICK, (0, n), ten(0x2a, n, 1), data, 0);
    }
    // The command of the second, the data of the third, the answer of the fourth.
    session.urbs.retain(|urb| ![2000, 3100, 4900].contains(&urb.submitted_us));
    let (all, warnings) = read_session(&session, &with_contents());
    let seen: Vec<_> = all.iter().map(|(r, c)| (r.offset, c.is_some())).collect();
    assert_eq!(seen, [(512, true), (3 * 512, false)]);
    assert_eq!(
        warnings,
        [
            "1 row left out: commands without an answer in the capture: it ended, lost packets, or \
             saw a reset",
            "answers to commands that are not in the capture (it began late, or lost packets): 2",
            "reads and writes whose bytes were not captured whole: 1",
        ]
    );
}
