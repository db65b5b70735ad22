//! USB captures beyond the common samples: the data of requests.

use std::io::Write as _;

use crate::common::{
    drain,
    known::{Known, known, pcap, read_session, with_contents},
    open,
    usb::{Data, File, Session, attached_disk, capacity, files, pattern, ten, two_sticks},
};
use thermocline_trace::{
    Op, Request, Source,
    read::{self, ReadOptions},
    transform::{
        Dedup, JoinVolumes, KeepOps, Limit, OpSet, Rebase, Repeat, SelectVolumes, Shift, ShiftBy,
        SortWindow, Window,
    },
};

const STICK: (u16, u8) = (1, 5);

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
fn packets_that_make_no_request_are_counted() {
    for bytes in [two_sticks().capture(pcap()), two_sticks().text(true)] {
        let mut reader = open(&bytes, &ReadOptions::default()).expect("opens");
        assert_eq!(drain(&mut reader, 100).0.len(), 6);
        assert_eq!(
            reader.warnings(),
            [
                "5 rows left out: SCSI commands that are neither reads, writes, trims nor cache \
                 flushes",
                "1 row left out: commands that the device refused; the host repeats what it needs",
                "1 row left out: commands without an answer in the capture: it ended, lost packets, or \
             saw a reset",
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

    // Packets cut off by the snapshot length: the requests are there, their data are not.
    let cut = session.capture(File { snap: 65_536, ..pcap() });
    let mut reader = open(&cut, &with_contents()).expect("opens");
    let all = known(&mut reader, 100);
    assert_eq!(all.len(), 4);
    assert!(all.iter().all(|(_, contents)| contents.is_none()));
    assert_eq!(reader.warnings(), ["reads and writes whose bytes were not captured whole: 4"]);
}

#[test]
fn a_batch_with_large_contents_ends_early() {
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
fn captures_know_how_large_disks_are() {
    fn sizes(mut source: impl Source) -> Vec<Option<u64>> {
        known(&mut source, 100);
        (0..4).map(|volume| source.volume_bytes(volume)).collect()
    }
    let expected = [Some(0x1e_0000 * 512), Some(0x100_0000 * 4096), None, None];
    for file in files() {
        let bytes = two_sticks().capture(file);
        let read = |options: &ReadOptions| open(&bytes, options).expect("opens");
        let usual = || read(&ReadOptions::default());
        assert_eq!(sizes(usual()), expected, "{file:?}");
        assert_eq!(sizes(KeepOps::new(usual(), OpSet::of(&[Op::Flush]))), expected);
        assert_eq!(sizes(SelectVolumes::new(usual(), vec!["1.6".into()])), expected);
        assert_eq!(sizes(Shift::new(usual(), ShiftBy(512))), expected);
        assert_eq!(sizes(SortWindow::new(usual(), Window::Requests(4))), expected);
        assert_eq!(sizes(Dedup::new(Rebase::new(Box::new(usual())), 1)), expected);
        assert_eq!(sizes(Limit::new(&mut usual(), 3))[..2], expected[..2]);
        // A user's sector size that contradicts the disk's also overrides the disk's size.
        let other = ReadOptions { sector_size: Some(1024), ..ReadOptions::default() };
        assert_eq!(sizes(read(&other)), [None; 4]);
    }
    let disk = attached_disk().capture(pcap());
    assert_eq!(sizes(open(&disk, &with_contents()).expect("opens"))[0], Some(100_000 * 4096));
    // More sectors than fit the short reply.
    let mut session = Session::default();
    session.command(1000, STICK, (0, 1), ten(0x25, 0, 0), Data::In(capacity(u32::MAX, 512)), 0);
    session.command(3000, STICK, (0, 2), ten(0x28, 0, 1), Data::In(pattern(1, 512)), 0);
    let full = session.capture(pcap());
    assert_eq!(sizes(open(&full, &with_contents()).expect("opens"))[0], None);
}

#[test]
fn transformations_keep_contents_with_their_requests() {
    let bytes = two_sticks().capture(pcap());
    let read = || open(&bytes, &with_contents()).expect("opens");
    let contents =
        |all: Known| -> Vec<_> { all.into_iter().map(|(_, contents)| contents).collect() };
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
