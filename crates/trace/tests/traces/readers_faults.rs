//! Errors for broken traces: position, field, and remedy, after all valid requests.

use std::io::{self, Cursor, Read, Write};

use crate::common::{drain, open, samples};
use thermocline_trace::{
    TraceError,
    read::{self, Format, ReadOptions},
};

fn named(format: &str) -> ReadOptions {
    let format = format.parse::<Format>().expect("a known format");
    ReadOptions { format: Some(format), ..ReadOptions::default() }
}

/// The number of valid requests, and the error for the first invalid one.
fn fault(format: &str, text: &[u8]) -> (usize, String) {
    let mut reader = open(text, &named(format)).expect("opens");
    let (requests, error) = drain(&mut reader, 4096);
    (requests.len(), error.expect("an error").to_string())
}

#[test]
fn a_bad_line_is_named_by_line_field_and_remedy() {
    let good = "128166385295514663,hm,0,Write,9056014336,2048,2833\n".repeat(999);
    let text = format!("{good}128166385295514663,hm,0,Write,12a4,2048,2833\n{good}");
    let (before, message) = fault("msr", text.as_bytes());
    assert_eq!(before, 999);
    assert_eq!(
        message,
        "test:1000: field 5 (Offset) is \"12a4\", not a whole number; \
         mend the line, or skip bad lines with ‹skip-bad-lines›"
    );
    let options = ReadOptions { skip_bad_lines: true, ..named("msr") };
    let mut reader = open(text.as_bytes(), &options).expect("opens");
    assert_eq!(drain(&mut reader, 4096).0.len(), 1998);
    assert_eq!(
        reader.warnings(),
        ["1 bad line skipped, the first is line 1000: field 5 (Offset) is \"12a4\", \
          not a whole number"]
    );
}

#[test]
fn faults_of_every_kind_are_named() {
    for (format, text, says) in [
        ("msr", "1,hm,0,Write,1\n", "field 6 (Size) is missing, the line has 5 of 7 fields"),
        ("msr", "1,hm,0,Erase,1,2,3\n", "field 4 (Type) is \"Erase\""),
        ("msr", "1,hm,0,Read,-1,2,3\n", "a negative number"),
        ("msr", "1,hm,0,Read,18446744073709551615,2,3\n", "past 2^64 bytes"),
        ("tencent", "1,36028797018963968,1,1,1\n", "past the end of any device"),
        ("tencent", "1,1,1,2,1\n", "neither 0 nor 1"),
        ("spc", "0,1,512,W,-3\n", "a negative time"),
        ("spc", "0,1,512,W,\n", "field 5 (Timestamp) is empty"),
        ("alibaba", "1,R,1,1,99999999999999999999\n", "more than 584 years"),
        ("fio-iolog", "fio version 2 iolog\nf chew 1 2\n", "no action of a fio iolog"),
        ("fio-iolog", "fio version 2 iolog\nf write 1\n", "length is missing"),
        ("fio-iolog", "fio version 9 iolog\n", "neither version 2 nor 3"),
        ("blkparse", "8,0 1 1 0.1 7 D W x + 8 [a]\n", "field 8 (sector) is \"x\""),
        ("blkparse", "what is this\n", "not major,minor"),
        ("wpaexporter", "IO Type;Size (B)\n", "no column \"Init Time (s)\""),
        ("nbdkit", "yesterday 1:2:3 connection=1 Flush id=1 ...\n", "no date"),
        (
            "columns:all=write,offset=1,size=2,hint=3",
            "0,512,1\n0,512,65536\n",
            "field 3 (hint) is \"65536\", not a hint: a number from 0, which is none, to 65535",
        ),
        ("columns:all=write,offset=1,size=2,hint=3", "0,512,hot\n", "not a whole number"),
        ("disksim", "1.5 0 8 8 g\n", "not a hexadecimal number"),
    ] {
        let (_, message) = fault(format, text.as_bytes());
        assert!(message.contains(says), "{format}: {message}");
        assert!(!message.contains('\n'), "one line: {message}");
    }
}

#[test]
fn a_line_without_end_is_refused_in_bounded_memory() {
    let endless = Cursor::new(b"1,hm,0,Write,1,1,1\n").chain(io::repeat(b'7'));
    let mut reader = read::open_stream(endless, "test", &named("msr")).expect("opens");
    let (requests, error) = drain(&mut reader, 4096);
    assert_eq!(requests.len(), 1);
    let message = error.expect("an error").to_string();
    assert!(message.contains("longer than 1 MiB"), "{message}");
    assert!(message.starts_with("test:2:"), "{message}");
}

#[test]
fn a_cut_binary_trace_is_an_error_at_its_byte() {
    for sample in samples() {
        if !["vscsi", "blktrace", "srt"].contains(&sample.format) {
            continue;
        }
        let cut = &sample.bytes[..sample.bytes.len() - 1];
        let mut reader = open(cut, &named(sample.format)).expect("opens");
        let (requests, error) = drain(&mut reader, 4096);
        let message = error.expect("an error").to_string();
        assert!(message.starts_with("test: byte "), "{message}");
        assert!(message.contains("truncated"), "{message}");
        assert!(sample.requests.starts_with(&requests));
    }
}

/// The rows to be compressed: enough to fill several blocks of every compressor.
fn rows() -> Vec<u8> {
    (0..60_000_u64)
        .flat_map(|n| {
            let offset = n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
            format!("{},W,{offset},4096,{}\n", n % 7, 1_577_808_000_000_000 + n).into_bytes()
        })
        .collect()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut to = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    to.write_all(bytes).expect("writes");
    to.finish().expect("ends")
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("compresses")
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut to = liblzma::write::XzEncoder::new(Vec::new(), 0);
    to.write_all(bytes).expect("writes");
    to.finish().expect("ends")
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut to = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    to.write_all(bytes).expect("writes");
    to.finish().expect("ends")
}

type Compressor = fn(&[u8]) -> Vec<u8>;

const COMPRESSORS: [(&str, Compressor); 4] =
    [("gzip", gzip), ("zstd", zstd), ("xz", xz), ("bzip2", bzip2)];

#[test]
fn compressed_traces_read_like_plain_ones() {
    let rows = rows();
    let half = rows.len() / 2;
    let options = ReadOptions::default();
    let plain = drain(&mut open(&rows, &options).expect("opens"), 4096).0;
    assert_eq!(plain.len(), 60_000);
    for (name, compress) in COMPRESSORS {
        let mut reader = open(&compress(&rows), &options).expect("opens");
        assert_eq!(reader.guess().format.name(), "alibaba", "{name}");
        assert!(drain(&mut reader, 4096).0 == plain, "{name}");
        // Two members, frames or streams in one file.
        let mut two = compress(&rows[..half]);
        two.extend(compress(&rows[half..]));
        assert!(drain(&mut open(&two, &options).expect("opens"), 4096).0 == plain, "{name} twice");
    }
}

#[test]
fn a_cut_compressed_trace_is_an_error_after_what_is_good() {
    let rows = rows();
    let options = ReadOptions::default();
    let plain = drain(&mut open(&rows, &options).expect("opens"), 4096).0;
    for (name, compress) in COMPRESSORS {
        let whole = compress(&rows);
        let tiny = open(&compress(&rows[..4000])[..500], &options);
        let error = tiny.map_or_else(Some, |mut reader| drain(&mut reader, 4096).1);
        let message = error.unwrap_or_else(|| panic!("{name}")).to_string();
        assert!(message.contains("stream ends early"), "{name}: {message}");
        for cut in [whole.len() - 1, whole.len() - 5, whole.len() / 2, whole.len() / 10 * 9] {
            let mut reader = open(&whole[..cut], &options).expect("opens");
            let (requests, error) = drain(&mut reader, 4096);
            let message = error.unwrap_or_else(|| panic!("{name} at {cut}")).to_string();
            let says = format!("test: the {name} stream ends early; the file is truncated");
            assert!(message.starts_with(&says), "{name}: {message}");
            assert!(plain.starts_with(&requests), "{name}");
            assert!(!requests.is_empty(), "{name}");
        }
    }
}

#[test]
fn a_damaged_compressed_trace_is_an_error() {
    let rows = rows();
    let options = ReadOptions::default();
    for (name, compress) in COMPRESSORS {
        let mut bytes = compress(&rows);
        let middle = bytes.len() / 2;
        for byte in &mut bytes[middle..middle + 64] {
            *byte ^= 0x55;
        }
        // Formats with a checksum at the end may deliver damaged data before it.
        let mut reader = open(&bytes, &options).expect("opens");
        let (_, error) = drain(&mut reader, 4096);
        assert!(matches!(error, Some(TraceError::Malformed { .. })), "{name}: {error:?}");
    }
}

#[test]
fn unusable_files_are_refused_with_the_reason() {
    let says = |bytes: &[u8], expected: &str| {
        let error = open(bytes, &ReadOptions::default()).expect_err("refused");
        assert!(matches!(error, TraceError::Format { .. }), "{error:?}");
        assert!(error.to_string().contains(expected), "{error}");
    };
    says(b"", "the trace is empty");
    says(b"hello world\nhow are you\n", "no known trace format begins with \"hello world\"");
    says(b"42 8 0 1\n50 8 0 2\n", "ARC .lis");
    says(b"\xff\xfe1\0,\x002\0", "UTF-16");
    says(&0x1234_5678_9abc_def0_u64.to_le_bytes(), "LCS");
    says(&crate::common::lcs(1, 8192), "no operation");
    says(b"when,what,where\n1,W,8\n", "no known trace format has the columns when, what, where");
    let mut oracle = Vec::new();
    for n in 0_u64..100 {
        oracle.extend((n as u32 / 3).to_le_bytes());
        oracle.extend((n * 7919).to_le_bytes());
        oracle.extend(4096_u32.to_le_bytes());
        oracle.extend((-1_i64).to_le_bytes());
    }
    says(&oracle, "no operation, so writes cannot be told from reads");
}

#[test]
fn a_missing_file_is_named() {
    let error = read::open("no/such/trace.csv", &ReadOptions::default()).expect_err("not there");
    assert!(matches!(error, TraceError::Io { .. }));
    assert!(error.to_string().starts_with("no/such/trace.csv: "), "{error}");
}

#[test]
fn an_error_of_the_system_is_not_taken_for_a_damaged_stream() {
    struct Failing(Cursor<Vec<u8>>);
    impl Read for Failing {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            match self.0.read(into)? {
                0 => Err(io::Error::other("the disk is on fire")),
                n => Ok(n),
            }
        }
    }
    let rows = rows();
    for (name, compress) in COMPRESSORS {
        let whole = compress(&rows);
        let half = Failing(Cursor::new(whole[..whole.len() / 2].to_vec()));
        let mut reader = read::open_stream(half, "test", &ReadOptions::default()).expect("opens");
        let (_, error) = drain(&mut reader, 4096);
        assert!(matches!(error, Some(TraceError::Io { .. })), "{name}: {error:?}");
    }
}

/// A tar archive of files, preceded by a directory as archivers write it.
fn tar(files: &[&[u8]]) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut member = |kind: u8, bytes: &[u8]| {
        let mut header = [0; 512];
        header[..1].copy_from_slice(b"t");
        header[124..136].copy_from_slice(format!("{:011o}\0", bytes.len()).as_bytes());
        header[156] = kind;
        header[257..263].copy_from_slice(b"ustar\0");
        archive.extend(header);
        archive.extend(bytes);
        archive.resize(archive.len().next_multiple_of(512), 0);
    };
    member(b'5', b"");
    member(b'x', b"17 comment=hello\n");
    for file in files {
        member(b'0', file);
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}

#[test]
fn the_files_of_a_tar_archive_are_one_trace() {
    let options = ReadOptions::default();
    let whole = b"1538323200,8,8,1,1058\n1538323200,16,8,0,1058\n1538323201,8,8,1,7";
    let plain = drain(&mut open(whole, &options).expect("opens"), 4096).0;
    let archive = tar(&[&whole[..44], b"", &whole[45..]]);
    for bytes in [archive.clone(), gzip(&archive)] {
        let mut reader = open(&bytes, &options).expect("opens");
        let (requests, error) = drain(&mut reader, 4096);
        assert!(error.is_none(), "{error:?}");
        assert_eq!(requests, plain);
    }
    let cut = 512 * 5 + 20;
    let mut reader = open(&archive[..cut], &options).expect("opens");
    let error = drain(&mut reader, 4096).1.expect("an error").to_string();
    assert!(error.starts_with("test: the tar archive ends early; the file is trunc"), "{error}");
}

#[test]
fn a_cut_last_line_does_not_hide_the_format() {
    let text = b"128166385295514661,hm,0,Write,512,512,3\n128166385295514662,hm,0,Write,512,512,3\n3,hm,0,Wr";
    let rows = [&text[..80].repeat(10)[..], &text[80..]].concat();
    let mut reader = open(&rows, &ReadOptions::default()).expect("opens");
    assert_eq!(reader.guess().format.name(), "msr");
    let (requests, error) = drain(&mut reader, 4096);
    assert_eq!(requests.len(), 20);
    assert!(error.expect("an error").to_string().starts_with("test:21: "));
}
