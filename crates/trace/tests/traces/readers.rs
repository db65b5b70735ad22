//! Every format, on its own sample: the requests are right, and the format is recognised.

use crate::common::{blktrace_record, drain, open, samples};
use thermocline_trace::{
    Op, Source,
    read::{self, Action, Format, ReadOptions, TimeUnit},
};

#[test]
fn every_sample_reads_as_its_format() {
    for sample in samples() {
        let format = sample.format.parse().expect("a known format");
        let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
        for limit in [1, 2, 4096] {
            let mut reader = open(&sample.bytes, &options).expect("opens");
            let (requests, error) = drain(&mut reader, limit);
            assert!(error.is_none(), "{}: {error:?}", sample.format);
            assert_eq!(requests, sample.requests, "{}", sample.format);
            assert_eq!(reader.volumes(), sample.volumes, "{}", sample.format);
        }
    }
}

#[test]
fn every_sample_is_recognised() {
    for sample in samples() {
        let mut reader = open(&sample.bytes, &ReadOptions::default())
            .unwrap_or_else(|error| panic!("{}: {error}", sample.format));
        let guess = reader.guess().clone();
        assert_eq!(Some(guess.format.name()), sample.guessed);
        assert!(guess.to_string().contains("guessed from"), "{guess}");
        assert_eq!(drain(&mut reader, 100).0, sample.requests, "{}", sample.format);
    }
}

#[test]
fn every_format_has_a_sample_and_a_name_that_finds_it() {
    let sampled: Vec<_> = samples().iter().map(|sample| sample.format).collect();
    for format in Format::all() {
        let name = format.name();
        assert!(!format.about().is_empty() && !format.source().is_empty(), "{name}");
        if !["columns", "native", "parquet", "arrow"].contains(&name) {
            assert!(sampled.contains(&name), "no sample of {name}");
            assert_eq!(name.parse::<Format>().expect("a known name"), format);
            assert_eq!(format.to_string(), name);
        }
    }
    assert!("msd".parse::<Format>().is_err());
    assert!("msr:1".parse::<Format>().is_err());
}

#[test]
fn line_ends_blank_lines_and_comments_do_not_matter() {
    let plain = b"0,R,4096,512,1577808000000046\n7,W,8192,512,1577808000000047\n";
    let other = b"\xef\xbb\xbf\r\n# a comment\r\n0,R,4096,512,1577808000000046\r\n\r\n7,W,8192,512,1577808000000047";
    let options = ReadOptions::default();
    let expected = drain(&mut open(plain, &options).expect("opens"), 10).0;
    let mut reader = open(other, &options).expect("opens");
    assert_eq!(reader.guess().format.name(), "alibaba");
    assert_eq!(drain(&mut reader, 10).0, expected);
}

#[test]
fn one_action_counts_and_the_user_chooses_it() {
    let all = samples();
    for name in ["blkparse", "ftrace"] {
        let sample = all.iter().find(|sample| sample.format == name).expect("a sample");
        for (action, times) in [(Action::Queue, 1), (Action::Complete, 1)] {
            let options = ReadOptions { action: Some(action), ..ReadOptions::default() };
            let mut reader = open(&sample.bytes, &options).expect("opens");
            assert_eq!(drain(&mut reader, 10).0.len(), times, "{name} {action}");
        }
    }
    let queued = b"8,0 1 1 0.5 7 Q W 8 + 8 [x]\n8,0 1 2 0.6 7 G W 8 + 8 [x]\n";
    let mut reader = open(queued, &ReadOptions::default()).expect("opens");
    assert_eq!(drain(&mut reader, 10).0.len(), 1, "without D, Q counts");
}

#[test]
fn units_and_polarity_can_be_overridden() {
    let options = ReadOptions {
        time_unit: Some(TimeUnit::Microseconds),
        sector_size: Some(4096),
        invert_ops: true,
        ..ReadOptions::default()
    };
    let mut reader = open(b"5 0 3 2 0\n6 0 5 1 1\n", &options).expect("opens");
    let (requests, _) = drain(&mut reader, 10);
    assert_eq!(requests[0].time_ns, 5000);
    assert_eq!((requests[0].offset, requests[0].len), (12_288, 8192));
    assert_eq!((requests[0].op, requests[1].op), (Op::Read, Op::Write));
}

#[test]
fn suspicious_traces_are_warned_of() {
    let rows: String = (0..2000).map(|n| format!("{n}000 0 {n} 8 1\n")).collect();
    let mut reader = open(rows.as_bytes(), &ReadOptions::default()).expect("opens");
    drain(&mut reader, 100);
    assert!(reader.warnings()[0].contains("inverted"), "{:?}", reader.warnings());

    let systor = samples().into_iter().find(|sample| sample.format == "systor17").expect("one");
    let mut reader = open(&systor.bytes, &ReadOptions::default()).expect("opens");
    drain(&mut reader, 100);
    let warnings = reader.warnings();
    assert_eq!(
        warnings,
        [
            "1 row left out: the operation is empty, so unknown",
            "the clock goes back 1 time; sort the trace if order matters",
        ]
    );
}

#[test]
fn a_description_of_columns_reads_any_table() {
    let read = |spec: &str, text: &str| {
        let format = spec.parse::<Format>().unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(format.to_string(), spec);
        let options = ReadOptions { format: Some(format), ..ReadOptions::default() };
        let mut reader = open(text.as_bytes(), &options).expect("opens");
        let (requests, error) = drain(&mut reader, 10);
        assert!(error.is_none(), "{error:?}");
        let rows: Vec<_> =
            requests.iter().map(|r| (r.time_ns, r.op, r.offset, r.len, r.volume)).collect();
        (rows, reader.volumes().to_vec())
    };
    let (rows, volumes) = read(
        "columns:sep=comma,skip=1,time=1:s,op=2:W/R/D,offset=3:sectors,size=4:bytes,volume=5",
        "t,o,l,s,v 1\n0.5,W,8,4096,sda\n1,R,16,512,sdb\n2,D,0,512,sda\n",
    );
    assert_eq!(
        rows,
        [
            (500_000_000, Op::Write, 4096, 4096, 0),
            (1_000_000_000, Op::Read, 8192, 512, 1),
            (2_000_000_000, Op::Trim, 0, 512, 0),
        ]
    );
    assert_eq!(volumes, ["sda", "sdb"]);
    let (rows, _) = read(
        "columns:sep=blank,op=kind,offset=lba:4k,size=n:4k,time=us:us",
        "us lba  n kind\n7 1 2 write\n",
    );
    assert_eq!(rows, [(7_000, Op::Write, 4096, 8192, 0)]);
    let (rows, _) = read("columns:sep=blank,offset=1:512,size=2:512,all=write", "8 1 0 0\n");
    assert_eq!(rows, [(0, Op::Write, 4096, 512, 0)]);
    let (rows, _) = read(
        "columns:time=when,op=DIR,offset=Addr:hex,size=n:sectors:hex",
        "when,dir,addr,n\n2026-03-01T00:00:00.5Z,W,1f00,10\n2026-03-01 00:00:01,r,0x200,0x8\n",
    );
    let day = 1_772_323_200_000_000_000;
    assert_eq!(
        rows,
        [
            (day + 500_000_000, Op::Write, 0x1f00, 8192, 0),
            (day + 1_000_000_000, Op::Read, 512, 4096, 0)
        ]
    );
    let (rows, _) = read("columns:time=1,op=2,offset=3,size=4", "1,W,0x1000,4096\n");
    assert_eq!(rows, [(1_000_000_000, Op::Write, 4096, 4096, 0)]);
    for wrong in [
        "columns:op=1,offset=2:sectors:hax,size=3",
        "columns",
        "columns:op=1,size=2",
        "columns:op=1,offset=0,size=2",
        "columns:op=1,offset=99,size=2",
        "columns:op=1,offset=2,size=3,sep=x",
        "columns:op=1,offset=2:0,size=3",
        "columns:op=1,offset=2,size=3,time=4:weeks",
        "columns:nonsense",
    ] {
        assert!(wrong.parse::<Format>().is_err(), "{wrong}");
    }
}

#[test]
fn a_header_line_gives_the_columns_and_the_guess_can_be_repeated() {
    let text = b"ts_us;dir;lba;len;disk\n100;Write;8;4096;a\n250;Read;16;512;b\n";
    let mut reader = open(text, &ReadOptions::default()).expect("opens");
    let kept = "sep=semicolon,time=ts_us:us,op=dir,offset=lba:sectors,size=len:bytes,volume=disk";
    assert_eq!(reader.guess().columns(), format!("‹columns '{kept}'›"));
    assert!(reader.guess().to_string().contains(kept), "{}", reader.guess());
    let (guessed, error) = drain(&mut reader, 10);
    assert!(error.is_none(), "{error:?}");
    let row = |time_ns, op, offset, len, volume| thermocline_trace::Request {
        time_ns,
        op,
        offset,
        len,
        volume,
        hint: 0,
    };
    assert_eq!(
        guessed,
        [row(100_000, Op::Write, 4096, 4096, 0), row(250_000, Op::Read, 8192, 512, 1)]
    );
    let format = Some(format!("columns:{kept}").parse().expect("a description"));
    let mut named = open(text, &ReadOptions { format, ..ReadOptions::default() }).expect("opens");
    assert_eq!(drain(&mut named, 10).0, guessed);
    for (trace, columns) in [
        (
            "timestamp_us,rw,lba,size_bytes\n1000,W,8,4096\n2000,R,16,4096\n",
            "time=timestamp_us:us,op=rw,offset=lba:sectors,size=size_bytes:bytes",
        ),
        (
            "Time;IOType;Offset;Size;Disk\n2026-03-01 12:00:00.5;Write;8192;512;sda\n",
            "sep=semicolon,time=Time,op=IOType,offset=Offset:bytes,size=Size:bytes,volume=Disk",
        ),
        (
            "id\tstart sector\tsectors\tis_write\n1\t10\t8\t1\n2\t18\t8\t0\n",
            "sep=tab,op=is_write:1/0,offset=start sector:sectors,size=sectors:sectors",
        ),
        (
            "ts,op,addr,len\n1672531200123456,read,ff00,8\n1672531200123999,write,0a,16\n",
            "time=ts:us,op=op,offset=addr:sectors:hex,size=len:sectors",
        ),
        (
            "ts,op,addr,len\n0.1,read,0x1000,512\n0.25,write,0x2000,1024\n",
            "time=ts:s,op=op,offset=addr:bytes,size=len:bytes",
        ),
    ] {
        let mut reader = open(trace.as_bytes(), &ReadOptions::default()).expect("opens");
        assert_eq!(reader.guess().columns(), format!("‹columns '{columns}'›"));
        assert!(drain(&mut reader, 10).1.is_none(), "{trace}");
    }
    for trace in
        ["a,b,c\n1,2,3\n", "time,op,offset,size\n1,maybe,0,512\n", "time,offset,size\n1,0,512\n"]
    {
        let guessed = open(trace.as_bytes(), &ReadOptions::default());
        assert!(guessed.map_or(true, |it| it.guess().columns().is_empty()), "{trace}");
    }
    // A text that looks like SPC by chance is read by its header.
    let text = b"time,offset,size,op,cpu\n0.5,0,8192,W,3\n";
    let mut reader = open(text, &ReadOptions::default()).expect("opens");
    assert_eq!(drain(&mut reader, 10).0, [row(500_000_000, Op::Write, 0, 8192, 0)]);
}

#[cfg(feature = "tables")]
mod tables {
    use std::sync::Arc;

    use arrow_array::{
        ArrayRef, BooleanArray, DictionaryArray, RecordBatch, StringArray,
        TimestampMicrosecondArray, UInt64Array, types::Int8Type,
    };
    use thermocline_trace::Request;

    use super::*;

    /// Two batches with one request a row, and an unused column.
    fn batches() -> [RecordBatch; 2] {
        [0_u64, 2].map(|first| {
            let rows = first..first + 2;
            let columns: [(&str, ArrayRef); 6] = [
                ("note", Arc::new(StringArray::from(vec![Some("x"), None]))),
                (
                    "Time",
                    Arc::new(
                        rows.clone()
                            .map(|n| Some(1_000 + n as i64))
                            .collect::<TimestampMicrosecondArray>(),
                    ),
                ),
                ("is_write", Arc::new(BooleanArray::from(vec![true, false]))),
                ("sector", Arc::new(rows.map(|n| n * 8).collect::<UInt64Array>())),
                ("size", Arc::new(UInt64Array::from(vec![4096, 512]))),
                ("disk", Arc::new(["b", "a"].into_iter().collect::<DictionaryArray<Int8Type>>())),
            ];
            RecordBatch::try_from_iter(columns).expect("a batch")
        })
    }

    fn parquet() -> Vec<u8> {
        let [one, two] = batches();
        let mut bytes = Vec::new();
        let mut writer =
            parquet::arrow::ArrowWriter::try_new(&mut bytes, one.schema(), None).expect("a writer");
        writer.write(&one).and_then(|()| writer.write(&two)).expect("written");
        writer.close().expect("closed");
        bytes
    }

    fn arrow(as_stream: bool) -> Vec<u8> {
        let [one, two] = batches();
        let mut bytes = Vec::new();
        if as_stream {
            let mut writer = arrow_ipc::writer::StreamWriter::try_new(&mut bytes, &one.schema())
                .expect("a writer");
            writer.write(&one).and_then(|()| writer.write(&two)).expect("written");
            writer.finish().expect("closed");
        } else {
            let mut writer = arrow_ipc::writer::FileWriter::try_new(&mut bytes, &one.schema())
                .expect("a writer");
            writer.write(&one).and_then(|()| writer.write(&two)).expect("written");
            writer.finish().expect("closed");
        }
        bytes
    }

    #[test]
    fn tables_in_memory_are_read_by_the_rules_of_files() {
        let words: DictionaryArray<Int8Type> = ["write", "FWS", "read"].into_iter().collect();
        let numbers = |numbers: [u64; 3]| Arc::new(UInt64Array::from(numbers.to_vec())) as ArrayRef;
        let named = |names: &[(&str, ArrayRef)]| {
            let batch = RecordBatch::try_from_iter(names.iter().cloned()).expect("a batch");
            read::open_table(&batch.schema(), vec![batch], "x", &ReadOptions::default())
        };
        let disks: ArrayRef = Arc::new(StringArray::from(vec!["a", "b", "a"]));
        let mut reader = named(&[
            ("time", numbers([1, 2, 3])),
            ("op", Arc::new(words)),
            ("offset", numbers([7, 0, 512])),
            ("length", numbers([100, 0, 512])),
            ("volume", disks.clone()),
            ("process", disks.clone()),
        ])
        .expect("opens");
        let request = |time_ns, op, offset, len, volume| Request {
            time_ns,
            op,
            offset,
            len,
            volume,
            hint: 0,
        };
        let expected = [
            request(1, Op::Write, 7, 100, 0),
            request(2, Op::Flush, 0, 0, 1),
            request(3, Op::Read, 512, 512, 0),
        ];
        assert_eq!(drain(&mut reader, 2).0, expected);
        assert_eq!(reader.volumes(), ["a", "b"]);
        assert_eq!(
            reader.warnings(),
            ["columns without a meaning for it are passed over: process"]
        );
        let hinted = |column: &str, hints: ArrayRef| {
            let three = numbers([1, 2, 3]);
            let rows = [("offset", three.clone()), ("length", three), (column, hints)];
            drain(&mut named(&rows).expect("opens"), 10)
                .0
                .iter()
                .map(|r| r.hint)
                .collect::<Vec<_>>()
        };
        assert_eq!(hinted("hint", numbers([0, 7, 65535])), [0, 7, 65535]);
        // Missing values make pandas turn whole numbers into fractions.
        let floats = arrow_array::Float64Array::from(vec![Some(4.0), None, Some(2.0)]);
        assert_eq!(hinted("ruh", Arc::new(floats)), [4, 0, 2]);
        assert_eq!(hinted("stream", disks), [0, 0, 0], "words are no hints");
        // Operations may be missing or be numbers. Other names give their units.
        let codes = numbers([0, 1, 2]);
        let mut reader = named(&[
            ("time_us", numbers([1, 2, 3])),
            ("op", codes.clone()),
            ("lba", numbers([8, 16, 24])),
            ("size_bytes", numbers([4096, 512, 512])),
        ])
        .expect("opens");
        let (requests, _) = drain(&mut reader, 10);
        assert_eq!(requests[0], request(1000, Op::Read, 4096, 4096, 0));
        assert_eq!(requests[2].op, Op::Trim);
        let mut reader = named(&[("offset", codes.clone()), ("length", codes)]).expect("opens");
        assert_eq!(drain(&mut reader, 10).0[1], request(0, Op::Write, 1, 1, 0));
        let unclear = named(&[
            ("timestamp", numbers([1, 2, 3])),
            ("offset", numbers([1, 2, 3])),
            ("length", numbers([1, 2, 3])),
        ]);
        let error = unclear.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.contains("time=timestamp:us,all=write,offset=offset:bytes"), "{error}");
    }

    #[test]
    fn tables_are_read_by_the_names_of_their_columns() {
        let row = |n: u64| Request {
            time_ns: (1_000 + n) * 1_000,
            op: if n.is_multiple_of(2) { Op::Write } else { Op::Read },
            offset: n * 4096,
            len: if n.is_multiple_of(2) { 4096 } else { 512 },
            volume: (n % 2) as u32,
            hint: 0,
        };
        let folder = tempfile::tempdir().expect("a folder");
        for (name, bytes) in
            [("parquet", parquet()), ("arrow", arrow(false)), ("arrow", arrow(true))]
        {
            let file = folder.path().join("trace");
            std::fs::write(&file, &bytes).expect("written");
            let of_file = read::open(&file, &ReadOptions::default()).expect("opens");
            let of_pipe = open(&bytes, &ReadOptions::default()).expect("opens");
            for mut reader in [of_file, of_pipe] {
                assert_eq!(reader.guess().format.name(), name);
                let (requests, error) = drain(&mut reader, 3);
                assert!(error.is_none(), "{name}: {error:?}");
                assert_eq!(requests, [row(0), row(1), row(2), row(3)], "{name}");
                assert_eq!(reader.volumes(), ["b", "a"]);
                let found = "time=Time:us,op=is_write:1/0,offset=sector:sectors,size=size:bytes,volume=disk";
                let said = reader.warnings().join("\n");
                assert!(said.contains(&format!("‹columns '{found}'›")), "{said}");
            }
            let format =
                Some("columns:op=is_write:1/0,offset=SECTOR:4k,size=size".parse().expect("good"));
            let mut reader =
                open(&bytes, &ReadOptions { format, ..ReadOptions::default() }).expect("opens");
            assert_eq!(
                drain(&mut reader, 10).0[1],
                Request { time_ns: 0, offset: 8 * 4096, volume: 0, ..row(1) }
            );
            let format = Some("columns:op=is_write,offset=lba,size=size".parse().expect("good"));
            let refused = open(&bytes, &ReadOptions { format, ..ReadOptions::default() });
            let Err(error) = refused else { panic!("a column that is not there is refused") };
            assert!(error.to_string().contains("no column \"lba\", but note, Time"), "{error}");
            let cut = open(&bytes[..bytes.len() / 2], &ReadOptions::default());
            let failed = cut.map(|mut reader| drain(&mut reader, 10).1.is_some());
            assert!(failed.unwrap_or(true), "{name}: half a table is an error");
        }
    }
}

#[test]
fn files_of_several_cpus_are_merged_by_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let issue = 0x42 << 16 | 7;
    for (cpu, times) in [(1, [10, 40]), (2, [20, 30]), (10, [5, 50])] {
        let bytes: Vec<u8> = times
            .iter()
            .flat_map(|&time| blktrace_record(false, time, time, 512, issue, 8 << 20, 0))
            .collect();
        std::fs::write(folder.path().join(format!("sda.blktrace.{cpu}")), bytes).expect("writes");
    }
    std::fs::write(folder.path().join("sda.blktrace.0"), b"").expect("writes");
    for path in [folder.path().to_owned(), folder.path().join("sda")] {
        let mut reader = read::open(path, &ReadOptions::default()).expect("opens");
        let (requests, error) = drain(&mut reader, 4);
        assert!(error.is_none(), "{error:?}");
        let times: Vec<_> = requests.iter().map(|request| request.time_ns).collect();
        assert_eq!(times, [5, 10, 20, 30, 40, 50]);
        assert_eq!(Source::volumes(&reader), ["8,0"]);
    }
}

#[test]
fn a_log_that_nbdkit_wrote_is_read_whole() {
    // mkfs.ext4 and the first files on it over four connections, as logged by nbdkit 1.32.5. The
    // figures are those of a script that shares no code with the reader.
    let log = include_bytes!("../data/nbdkit-ext4.log.zst");
    let mut reader = open(log, &ReadOptions::default()).expect("opens");
    assert_eq!(reader.guess().format.name(), "nbdkit");
    let (requests, error) = drain(&mut reader, 100);
    assert!(error.is_none(), "{error:?}");
    let sums = |op| {
        let of = requests.iter().filter(|request| request.op == op);
        of.fold((0, 0, 0), |(n, bytes, places), r| (n + 1, bytes + r.len, places + r.offset))
    };
    assert_eq!(sums(Op::Read), (13, 62_464, 429_122_560));
    assert_eq!(sums(Op::Write), (546, 44_707_840, 64_845_729_792));
    // Four of them are zero requests that may punch a hole.
    assert_eq!(sums(Op::Trim), (219, 877_600_768, 30_819_786_752));
    assert_eq!(sums(Op::Flush), (18, 0, 0));
    let (first, last) = (&requests[0], &requests[requests.len() - 1]);
    let second = 1_000_000_000;
    assert_eq!(first.time_ns, 1_795_213_861 * second + 201_582_000);
    assert_eq!(last.time_ns, 1_795_213_863 * second + 482_979_000);
    assert!(requests.is_sorted_by_key(|request| request.time_ns));
    assert_eq!(reader.volumes(), ["0"]);
}

#[test]
fn native_traces_are_recognised_and_their_archives_checked() {
    use thermocline_trace::{native::NativeWriter, write::TraceWriter};
    let all = samples();
    let msr = all.iter().find(|sample| sample.format == "msr").expect("a sample");
    let mut bytes = Vec::new();
    let mut writer = NativeWriter::new(&mut bytes, "made").expect("writes");
    let volumes: Vec<String> = msr.volumes.iter().map(|&name| name.into()).collect();
    writer.write_batch(&msr.requests, &volumes).expect("writes");
    writer.finish().expect("ends");
    drop(writer);
    let mut reader = open(&bytes, &ReadOptions::default()).expect("opens");
    assert_eq!(reader.guess().format.name(), "native");
    assert_eq!(drain(&mut reader, 2).0, msr.requests);
    assert_eq!(reader.volumes(), msr.volumes);
    let archive = zstd::encode_all(&bytes[..], 1).expect("compresses");
    let mut cut = open(&archive[..archive.len() - 2], &ReadOptions::default());
    let error = match &mut cut {
        Ok(reader) => drain(reader, 100).1.expect("an error"),
        Err(_) => cut.expect_err("an error"),
    };
    assert!(error.to_string().starts_with("test: the zstd stream ends early"), "{error}");
}
