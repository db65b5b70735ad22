//! Compares the fast parser of rows with the slow one: both give the same result for any bytes.

use std::io::Cursor;

use proptest::prelude::*;

use super::{
    Format, ReadOptions, TimeUnit,
    lines::{QUICK_ROWS, SLOWLY},
    open_stream,
};
use crate::{Request, Source};

/// A format with its options, a header, and typical rows.
struct Kind {
    format: &'static str,
    header: &'static str,
    rows: &'static [&'static str],
}

const fn kind(format: &'static str, header: &'static str, rows: &'static [&'static str]) -> Kind {
    Kind { format, header, rows }
}

/// Every text format.
const KINDS: &[Kind] = &[
    kind(
        "csv",
        "time_ns,op,volume,offset,len",
        &[
            "5000,write,8:16,4096,512",
            "6999,read,8:17,0,4096",
            "7000,trim,8:17,512,1024",
            "7,flush,a,0,0",
        ],
    ),
    kind(
        "msr",
        "",
        &[
            "128166385295514663,hm,0,Write,9056014336,2048,2833",
            "128166385295514878,usr,1,Read,512,4096,10",
        ],
    ),
    kind(
        "alibaba",
        "",
        &["727,W,4096,8192,1577808000000146", "0,R,126703661056,4096,1577808000000046"],
    ),
    kind("tencent", "", &["1538323200,4247200,128,1,1058", "1538323199,13896880,8,0,1063"]),
    kind("spc", "", &["0,20941264,8192,W,0.551706,Alpha/NT", "1, 55590, 3072, r, 0.600000"]),
    kind(
        "systor17",
        "Timestamp,Response,IOType,LUN,Offset,Size",
        &[
            "1456095145.133076000,0.000806000,R,0,899056122368,131072",
            "1456095145.126285000,,,6,4096,512",
        ],
    ),
    kind("k5cloud", "", &["3,0.000012000,R,4096,512", "4,1.500000000,W,8192,1024"]),
    kind(
        "nexus5",
        "time_s_unix,op,lba512,sectors,packed,session",
        &["1396928764.198090136,W,51155104,32,1,131_music", "1396928787.9,R,16,8,0,131_music"],
    ),
    kind(
        "rocksdb",
        "time_ns,op,lba,sectors,io_class",
        &["35081,D,1652552,256,19,76,256,241960,000014.sst", "35082,R,8,8,19,,,,", "35083,WS,8,8"],
    ),
    kind(
        "acsl",
        "proces,device,rw_flag,sector,size,timestamp",
        &["kworker/u16:1,8388608,W,128,8,0.100000001", "f2fs_discard-259:4,8388608,R,136,16,0.2"],
    ),
    kind(
        "biotracer",
        "",
        &[
            "51155104\t33\t16896\t1\t1396928764.198090136\t1396928764.1981\t1396928764.2\t1396928764.3",
            "16 8 4096 4 1396928765.5 1396928765.6 1396928765.7 1396928765.8",
        ],
    ),
    kind(
        "disksim",
        "",
        &["5265.313 0 6357144 8 0", "5297.450\t0\t33701824\t64\t13", " 1.1234567 1  2 3 1"],
    ),
    kind("flashsim", "", &["26.214000\t0\t303574\t1\t0", "26.3\t1\t303590\t2\t1"]),
    kind("ssdsim", "", &["26214000 1 240840 6 1", "0 0 303567 7 0"]),
    kind(
        "blkreplay",
        "converted on Fr 4. Mai 14:04:16 2012",
        &[
            "   1.000000001 ;     37766853 ;   64 ; W ; 0.0 ; 0.0",
            "0.449518165 ; 0 ; 1 ; R ; 0.0 ; 0.0",
        ],
    ),
    kind("fio-iolog", "", &["0, 4096, 512", "1, 8192, 1024"]),
    kind(
        "fio-iolog",
        "fio version 2 iolog",
        &[
            "/dev/sdb write 4096 8192",
            "/dev/sdb wait 1500",
            "/dev/sdc trim 0 4096",
            "/dev/sdb sync",
        ],
    ),
    kind(
        "fio-iolog",
        "fio version 3 iolog",
        &[
            "20 /dev/sdb write 4096 8192",
            "30 /dev/sdc read 0 512",
            "40 /dev/sdb fsync",
            "9 a close",
        ],
    ),
    kind(
        "blkparse",
        "",
        &[
            "  8,16   5        5     0.000013000 18615  D   R 1444645666 + 256 [java]",
            "  8,17   5        7     0.000030000 18615  D WSM 8 + 16 [a b]",
            "  8,16   5        3     0.000020000     0 UT   N [java] 1",
            "  8,17   5        9     0.000050000 18615  D FWS 0 + 0 [jbd2/sda]",
            "  8,16   5        2     0.000001850 18615  Q   R 1444645666 + 256 [java]",
            "  8,16   5       10     0.000060000   100  D   R 36 (12 00 00 00 24 00 ..) [smartd]",
            "CPU5 (8,16):",
        ],
    ),
    kind(
        "ftrace",
        "# tracer: nop",
        &[
            "     kworker/0:1-21    [000] d..1 10.000010: block_rq_issue: 8,0 W 4096 () 2048 + 8 [kworker/0:1]",
            "          <idle>-0     [000] d.h1 10.000100: block_rq_complete: 8,0 W () 2048 + 8 [0]",
            "            bash-9     [001] d..1 10.000300: block_rq_issue: 8,0 FF 0 () 18446744073709551615 + 0 [bash]",
            " dd  77 [001]  1.5:  block:block_rq_issue: 8,16 RA 4096 () 4096 + 16 [dd]",
            " dd  77 [001]  1.5:  block_rq_issue: 8,16 RA () 4096 + 16 [dd]",
            " dd  77 [001]  1.5:  block_rq_issue: 8,16 R 4096 + 16 [dd]",
        ],
    ),
    kind(
        "biosnoop",
        "TIME(s)     COMM           PID    DISK      T SECTOR     BYTES  LAT(ms)",
        &[
            "0.000004001 supervise      1950   xvda1     W 13092560   4096      0.74",
            "0.001000000 Web Content    1950   xvda2     R 16         8192      0.01    1.00",
            "0.001000000 x              1950   xvda2     R 16         8192      0.01    1.00",
        ],
    ),
    kind(
        "biosnoop",
        "TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   P QUE(ms) LAT(ms)",
        &[
            "0.000000    jbd2/sda2-8    447     sda     FWS  34898280   4096    0.02    2.90",
            "0.000100    kworker/0:1H   8       sda     FF   0          0       2.90",
            "0.000200    a              8       sda     WZS  8          4096    S 2.90",
            "17:58:57.8  mount          163467  sde     WSM  41944043   524288  1.422",
            "2026-06-25 09:57:11.309563 tar     1991698 sdb  R 903685432  16384     0.24",
        ],
    ),
    kind(
        "fiu",
        "",
        &[
            "89968195792462 20782 gzip 283193184 8 R 6 0 56f11b0123456789abcdef0123456789",
            "89968195793000 7 kjournald dash 63 16 W 8 1 0123456789abcdef",
        ],
    ),
    kind(
        "usbmon",
        "",
        &[
            "ffff880 500 S Bo:1:005:2 -115 31 = 55534243 00000001 00100000 80000a2a 00000008 00000800 00000000 000000",
            "ffff880 510 C Bo:1:005:2 0 31 >",
            "ffff880 520 S Bo:1:005:2 -115 4096 = 00000000 00000000",
            "ffff880 530 C Bo:1:005:2 0 4096 >",
            "ffff880 540 S Bi:1:005:1 -115 13 <",
            "ffff880 550 C Bi:1:005:1 0 13 = 55534253 00000001 00000000 00",
            "ffff880 560 S Ci:1:001:0 s a3 00 0000 0003 0004 4 <",
            "ffff880 560 E Bo:1:001:0 -19 0",
        ],
    ),
    kind(
        "nbdkit",
        "2026-11-20 22:24:30.069296 Ready thread_model=3",
        &[
            "2026-11-20 22:24:30.113337 connection=1 Write id=1 offset=0x1000 count=0x1000 fua=0 ...",
            "2026-11-20 22:24:30.113377 connection=1 ...Write id=1 return=0",
            "2026-11-20 22:24:30.113486 connection=1 Zero id=4 offset=0x10000 count=0x1000 trim=1 ...",
            "2026-11-21 22:24:30.1 connection=12 Pread id=6 offset=0x20000 count=0x2000 ...",
            "2026-11-20 22:24:30.113655 connection=1 Flush id=7 ...",
        ],
    ),
    kind(
        "xperf",
        "BeginHeader",
        &[
            "       DiskReadInit,        100,   System (   4),       16, 0xfffffa8000000001",
            "           DiskRead,        120,   System (   4),       16, 0xfffffa8000000001, 0x0000001000, 0x00002000,         20,        1, 0x060043, \"C:\\a,b\"",
            "          DiskWrite,        130.5,   System (   4),       16, 0xfffffa8000000002, 0x0000000200, 0x00000200,         20,        0",
            "          DiskFlush,        140,   System (   4),       16, 0xfffffa8000000003,         20,        0, 0x060043",
            "           DiskRead,  TimeStamp,     Process Name ( PID),   ThreadID,             IrpPtr,   ByteOffset,     IOSize, ElapsedTime,  DiskNum",
        ],
    ),
    kind(
        "diskmon",
        "",
        &[
            "0\t0.012500\t0.00000763\t0\tWrite\t6291512\t8",
            "1\t0,025\t0,00000763\t1\tRead\t64\t16",
            "2\t9:41:07.125 PM\t0.1\t0\tRead\t8\t8",
        ],
    ),
    kind(
        "wpaexporter",
        "IO Type;Process;Init Time (s);Size (B);Min Offset;Disk;Count",
        &[
            "Read;System;1,079943800;16.384;0x0000000000000200;0;1",
            "Write;a;1,5;512;0x10;1;1",
            "Flush;System;1.718,742;0;0xFFFFFFFFFFFFFFFF;0;1",
        ],
    ),
    kind(
        "wpaexporter",
        "Disk,Min Offset,Size (B),Init Time (s),IO Type",
        &["0,0x0000000000000200,16384,1.079943800,Read", "1,0xFF,512,1.5,Write"],
    ),
    kind(
        "columns:sep=comma,time=5:us,op=2:W/R/D,offset=3:sectors:hex,size=4:4k,volume=6-7",
        "a,b,c,d,e,f,g",
        &["1,W,1f,16,2.5,x,y", "2,R, 0x20,1,3,x , z", "2,D,7,1,3.1234,x,y,rest"],
    ),
    kind(
        "columns:time=1,op=3,offset=4,size=5,volume=6-7",
        "t,process,op,offset,size,host,disk",
        &[
            "0.5,\"a, b\",W,4096,8192,h,0",
            "1,x,FWS,0,0,\"h\",\"0\"",
            "1.5,\"a \"\"b\"\", c\",WZS,4096e3,4096.0,\"h,1\",0",
            "2,y,N,0,0,h,1",
        ],
    ),
    kind(
        "columns:time=1,op=2,offset=3,size=4,hint=5",
        "t,op,offset,size,stream",
        &["0.5,W,4096,8192,7", "1,R,0,512,", "2,W,0,512,65535", "3,W,512,512,0"],
    ),
    kind(
        "columns:sep=semicolon,decimal=comma,time=1:ms,op=2,offset=3,size=4:sectors",
        "t;op;offset;size",
        &["0,5;W;4096;8", "1.000,25;R;1.048.576;16", "2;D;0;1"],
    ),
    kind(
        "columns:sep=semicolon,decimal=point,time=1:us,op=2,offset=3,size=4",
        "t;op;offset;size",
        &["0.5;W;4096;512", "1,000.25;R;1,048,576;16"],
    ),
    kind("columns:sep=blank,time=1:100ns,op=2,offset=3,size=3", "a b c", &["1.25 W 16", "2 r 8 x"]),
    kind(
        "columns:sep=tab,time=1:ns,all=write,offset=2,size=3,volume=4",
        "a\tb\tc\td",
        &["1500\t16\t8\tx", "2501\t8\t8\t\"x\""],
    ),
];

/// Replacements and insertions for parts of a row: edge cases of numbers, other notations of them,
/// and separators.
const PIECES: &[&str] = &[
    "",
    "0",
    "1",
    "00000001",
    "18446744073709551615",
    "18446744073709551616",
    "9999999999999999999",
    "10000000000000000000",
    "36028797018963967",
    "36028797018963968",
    "99999999",
    "100000000",
    "9999999999999999",
    "00000000000000000000000000000017",
    "-1",
    "+1",
    "1e3",
    "4096e3",
    "4096.0",
    "1.000",
    "1,000",
    "1.000,5",
    ".5",
    "7.",
    "1.2.3",
    "0.123456789",
    "0.1234567891",
    "0.12345678901234567890123",
    "18446744073.709551615",
    "18446744073.709551616",
    "18446744073.71",
    "1,5",
    "1.048.576",
    "0x",
    "0x1F",
    "0xffffffffffffffff",
    "0x10000000000000000",
    "ffffffffffffffff",
    "abcdefg",
    "nan",
    "2026-03-01T12:30:05.25Z",
    "12:30:05.25",
    "23:59:60.5",
    " ",
    "  ",
    "\t",
    "\r",
    "\r\n",
    "\n",
    ",",
    ";",
    ", ",
    " ,",
    "\"",
    "\"1\"",
    "\"a,b\"",
    "\"a;b\"",
    "\"a b\"",
    "\"a\"\",b\"",
    "#",
    "R",
    "W",
    "w",
    "read",
    "Read",
    "WRITE",
    "reads",
    "writer",
    "WS",
    "FWFS",
    "FF",
    "WZS",
    "N",
    "ZR",
    "D",
    "F",
    "trim",
    "sync",
    "()",
    " + ",
    "+",
    "(",
    "[",
    ":",
    "connection=1",
    "...",
    "offset=0x1",
    "block_rq_issue: ",
    "\x0b",
    "\x0c",
    "\x1b",
    "é",
    "8,16",
    "a process with blanks",
];

/// A corruption of a row.
#[derive(Clone, Debug)]
enum Change {
    /// A word is replaced by a piece.
    Word(prop::sample::Index, usize),
    /// A piece is inserted.
    Piece(prop::sample::Index, usize),
    /// A byte is replaced.
    Byte(prop::sample::Index, u8),
    /// Bytes are removed.
    Cut(prop::sample::Index, usize),
    /// A number is replaced.
    Number(prop::sample::Index, u64),
    /// A separator is doubled.
    Double(prop::sample::Index),
    /// A separator becomes a tab.
    Tab(prop::sample::Index),
    /// The row ends like a line of Windows.
    Return,
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<prop::sample::Index>;
    prop_oneof![
        4 => (at(), 0..PIECES.len()).prop_map(|(at, piece)| Change::Word(at, piece)),
        3 => (at(), 0..PIECES.len()).prop_map(|(at, piece)| Change::Piece(at, piece)),
        2 => (at(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        1 => (at(), 1..6usize).prop_map(|(at, bytes)| Change::Cut(at, bytes)),
        2 => (at(), any::<u64>(), 0..64u32).prop_map(|(at, n, bits)| Change::Number(at, n >> bits)),
        2 => at().prop_map(Change::Double),
        1 => at().prop_map(Change::Tab),
        1 => Just(Change::Return),
    ]
}

/// Start and end of the words of a row, which consist of bytes for which `is_part` is true.
fn words(row: &[u8], is_part: impl Fn(u8) -> bool) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = None;
    for (at, &byte) in row.iter().chain([&b'\n']).enumerate() {
        match (start, is_part(byte)) {
            (None, true) => start = Some(at),
            (Some(from), false) => {
                found.push((from, at));
                start = None;
            }
            _ => {}
        }
    }
    found
}

fn spoil(row: &mut Vec<u8>, change: &Change) {
    let put =
        |row: &mut Vec<u8>, at: &prop::sample::Index, parts: Vec<(usize, usize)>, piece: &[u8]| {
            if !parts.is_empty() {
                let (from, to) = parts[at.index(parts.len())];
                row.splice(from..to, piece.iter().copied());
            }
        };
    match change {
        Change::Word(at, piece) => {
            let parts = words(row, |b| !matches!(b, b' ' | b'\t' | b',' | b';' | b'\n' | b'='));
            put(row, at, parts, PIECES[*piece].as_bytes());
        }
        Change::Number(at, number) => {
            let parts = words(row, |b| b.is_ascii_digit());
            put(row, at, parts, number.to_string().as_bytes());
        }
        Change::Piece(at, piece) => {
            let at = at.index(row.len() + 1);
            row.splice(at..at, PIECES[*piece].bytes());
        }
        Change::Byte(at, byte) if !row.is_empty() => {
            let at = at.index(row.len());
            row[at] = *byte;
        }
        Change::Cut(at, bytes) => {
            let at = at.index(row.len() + 1);
            row.drain(at..row.len().min(at + bytes));
        }
        Change::Double(at) | Change::Tab(at) => {
            let separators: Vec<_> =
                (0..row.len()).filter(|&at| !row[at].is_ascii_alphanumeric()).collect();
            if !separators.is_empty() {
                let at = separators[at.index(separators.len())];
                match change {
                    Change::Tab(_) => row[at] = b'\t',
                    _ => row.insert(at, row[at]),
                }
            }
        }
        Change::Return => row.push(b'\r'),
        Change::Byte(..) => {}
    }
}

/// A trace: rows of a kind, some of them corrupted, between valid ones.
fn trace(kind: &Kind, rows: &[(prop::sample::Index, Vec<Change>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    if !kind.header.is_empty() {
        bytes.extend_from_slice(kind.header.as_bytes());
        bytes.push(b'\n');
    }
    let sound = |bytes: &mut Vec<u8>| {
        for row in kind.rows {
            bytes.extend_from_slice(row.as_bytes());
            bytes.push(b'\n');
        }
    };
    sound(&mut bytes);
    for (which, changes) in rows {
        let mut row = kind.rows[which.index(kind.rows.len())].as_bytes().to_vec();
        changes.iter().for_each(|change| spoil(&mut row, change));
        // Twice, because some readers remember words.
        for _ in 0..2 {
            bytes.extend_from_slice(&row);
            bytes.push(b'\n');
        }
    }
    // The slow parser reads the last rows of a block.
    sound(&mut bytes);
    bytes
}

/// The complete result of reading a trace.
#[derive(Debug, PartialEq)]
struct Made {
    requests: Vec<Request>,
    error: Option<String>,
    volumes: Vec<String>,
    warnings: Vec<String>,
}

fn made(bytes: &[u8], options: &ReadOptions, slowly: bool) -> Made {
    SLOWLY.set(slowly);
    let mut made =
        Made { requests: Vec::new(), error: None, volumes: Vec::new(), warnings: Vec::new() };
    let stream = Cursor::new(bytes.to_vec());
    let mut reader = open_stream(stream, "trace", options).expect("a named format opens");
    let mut batch = Vec::new();
    loop {
        match reader.next_batch(&mut batch, 3) {
            Ok(()) if batch.is_empty() => break,
            Ok(()) => made.requests.extend_from_slice(&batch),
            Err(error) => {
                made.error = Some(error.to_string());
                break;
            }
        }
    }
    SLOWLY.set(false);
    made.volumes = reader.volumes().to_vec();
    made.warnings = reader.warnings();
    made
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: std::env::var("PROPTEST_CASES").ok().and_then(|n| n.parse().ok()).unwrap_or(2_000),
        ..ProptestConfig::default()
    })]

    #[test]
    fn quick_and_lenient_parsers_agree_on_any_trace(
        kind in 0..KINDS.len(),
        rows in prop::collection::vec(
            (any::<prop::sample::Index>(), prop::collection::vec(change(), 0..3)), 1..8),
        skip_bad_lines in any::<bool>(),
        unit in prop_oneof![
            4 => Just(None), 1 => Just(Some(TimeUnit::Picoseconds)), 1 => Just(Some(TimeUnit::Ticks)),
            1 => Just(Some(TimeUnit::Milliseconds)), 1 => Just(Some(TimeUnit::Seconds)),
        ],
        sector_size in prop_oneof![3 => Just(None), 1 => (1..10_000u32).prop_map(Some)],
    ) {
        let kind = &KINDS[kind];
        let bytes = trace(kind, &rows);
        let options = ReadOptions {
            format: Some(kind.format.parse::<Format>().expect("a known format")),
            time_unit: unit,
            sector_size,
            skip_bad_lines,
            ..ReadOptions::default()
        };
        let (quick, slow) = (made(&bytes, &options, false), made(&bytes, &options, true));
        prop_assert_eq!(quick, slow, "{}:\n{}", kind.format, String::from_utf8_lossy(&bytes));
    }
}

#[test]
fn the_quick_parser_reads_valid_rows_of_every_text_format() {
    for kind in KINDS {
        let bytes = trace(kind, &[]);
        let options = ReadOptions {
            format: Some(kind.format.parse::<Format>().expect("a known format")),
            ..ReadOptions::default()
        };
        QUICK_ROWS.set(0);
        let made = made(&bytes, &options, false);
        assert_eq!(made.error, None, "{}", kind.format);
        assert!(!made.requests.is_empty(), "{}", kind.format);
        // A column with two roles is left to the slow parser.
        let is_quick = !kind.format.contains("offset=3,size=3");
        assert_eq!(QUICK_ROWS.get() > 0, is_quick, "{}: {made:?}", kind.format);
    }
}
