//! Inputs in typical shapes: each is read as intended, or refused with the line to type.

use std::io::Write as _;

use flate2::{Compression, write::GzEncoder};
use thermocline_trace::{
    Op::{self, Flush, Read, Trim, Write},
    read::{self, ReadOptions, TimeUnit},
};

use crate::common::{blktrace_record, drain, open};

/// Time in nanoseconds, operation, offset, length.
type Row = (u64, Op, u64, u64);

/// All rows of a trace, its volumes and its warnings.
fn rows(bytes: &[u8], format: &str) -> (Vec<Row>, Vec<String>, Vec<String>) {
    let format = (!format.is_empty()).then(|| format.parse().expect("a format"));
    let mut reader = open(bytes, &ReadOptions { format, ..ReadOptions::default() })
        .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(bytes)));
    let (requests, error) = drain(&mut reader, 3);
    assert!(error.is_none(), "{error:?}");
    let rows = requests.iter().map(|r| (r.time_ns, r.op, r.offset, r.len)).collect();
    (rows, reader.volumes().to_vec(), reader.warnings())
}

fn read_rows(text: &str, format: &str) -> Vec<Row> {
    rows(text.as_bytes(), format).0
}

/// Why a trace is refused, when it is opened or where it is read.
fn refusal(bytes: &[u8]) -> String {
    match open(bytes, &ReadOptions::default()) {
        Ok(mut reader) => drain(&mut reader, 100).1.expect("refused").to_string(),
        Err(error) => error.to_string(),
    }
}

const MS: u64 = 1_000_000;
const S: u64 = 1_000 * MS;

#[test]
fn numbers_in_scientific_notation_are_numbers() {
    let text = "timestamp,op,offset,size\n0.1,W,4096,4096\n0.2,W,8192,4096\n0.3,W,4096e3,4096\n\
                0.4,W,12288,512e3\n";
    let expected = [
        (100 * MS, Write, 4096, 4096),
        (200 * MS, Write, 8192, 4096),
        (300 * MS, Write, 4_096_000, 4096),
        (400 * MS, Write, 12_288, 512_000),
    ];
    assert_eq!(read_rows(text, ""), expected);
    // As tables of floats are written.
    let text = "ts_s,op,offset,size\n1e-1,W,4.096e+03,4096.0\n0.2,R,1.048576e6,512.0\n";
    let expected = [(100 * MS, Write, 4096, 4096), (200 * MS, Read, 1 << 20, 512)];
    assert_eq!(read_rows(text, ""), expected);
    // Other letters are those of hexadecimal numbers.
    let text = "ts_s,op,lba,len\n0.1,W,12e4,4096\n0.2,R,1f00,512\n";
    assert_eq!(read_rows(text, "")[0].2, 0x12e4 * 512);
    let text = "ts_s,op,offset,size\n0.1,W,4096,512\n0.2,W,1e30,512\n";
    assert!(refusal(text.as_bytes()).contains("field 3 (offset) is \"1e30\", more than 64 bits"));
}

#[test]
fn separators_within_quotes_separate_nothing() {
    let text =
        "timestamp,process,op,offset,size\n0.5,\"worker, 1\",W,4096,8192\n1.5,plain,R,0,4096\n";
    let expected = [(500 * MS, Write, 4096, 8192), (1500 * MS, Read, 0, 4096)];
    assert_eq!(read_rows(text, ""), expected);
    let columns = "columns:time=timestamp:s,op=op,offset=offset:bytes,size=size:bytes";
    assert_eq!(read_rows(text, columns), expected);
    // The same by any separator, with the quotes doubled, with all in quotes, and in the header.
    for separator in [";", "\t", "|"] {
        let text = text.replace(',', separator).replace("worker", "the \"\"worker\"\"");
        assert_eq!(read_rows(&text, ""), expected, "{separator:?}");
    }
    let text = "\"timestamp\",\"process, thread\",\"op\",\"offset\",\"size\"\n\
                \"0.5\",\"a, b\",\"W\",\"4096\",\"8192\"\n\"1.5\",\"\",\"R\",\"0\",\"4096\"\n";
    assert_eq!(read_rows(text, ""), expected);
    let (_, volumes, _) = rows(
        b"0.5,\"sda, old\",W,0,512\n1,\"sda, old\",W,0,512\n",
        "columns:time=1,volume=2,op=3,offset=4,size=5",
    );
    assert_eq!(volumes, ["sda, old"]);
    // Words in quotes between blanks.
    let text = "0.5 \"my disk\" W 0 512\n0.6 \"my disk\" W 512 512\n";
    let read = read_rows(text, "columns:sep=space,time=1,op=3,offset=4,size=5");
    assert_eq!(read, [(500 * MS, Write, 0, 512), (600 * MS, Write, 512, 512)]);
    let wpa = "\"IO Type\",\"Process\",\"Init Time (s)\",\"Size (B)\",\"Min Offset\",\"Disk\"\n\
               Write,\"a, b\",0.5,512,0x200,0\n";
    assert_eq!(read_rows(wpa, ""), [(500 * MS, Write, 512, 512)]);
}

#[test]
fn a_header_may_come_again_where_files_were_joined() {
    let systor = "Timestamp,Response,IOType,LUN,Offset,Size\n1.5,0.1,W,0,4096,4096\n";
    let expected = [(1500 * MS, Write, 4096, 4096); 2];
    let twice = format!("{systor}{systor}");
    assert_eq!(read_rows(&twice, ""), expected);
    assert_eq!(read_rows(&twice, "systor17"), expected);
    // With the byte order mark of each file, and the line ends of Windows.
    let windows = format!("\u{feff}{systor}").replace('\n', "\r\n").repeat(2);
    assert_eq!(read_rows(&windows, "systor17"), expected);
    let named = "when;rw;at;len\n0.5;W;0;512\n";
    let columns = "columns:sep=semicolon,time=when,op=rw,offset=at,size=len";
    assert_eq!(read_rows(&named.repeat(3), columns), [(500 * MS, Write, 0, 512); 3]);
    let counted = "columns:sep=semicolon,skip=1,time=1,op=2,offset=3,size=4";
    assert_eq!(read_rows(&named.repeat(3), counted), [(500 * MS, Write, 0, 512); 3]);
    // A header that says something else is no row either.
    let other = format!("{named}at;rw;when;len\n0;W;0.5;512\n");
    let format = Some(columns.parse().expect("a description"));
    let mut reader =
        open(other.as_bytes(), &ReadOptions { format, ..ReadOptions::default() }).expect("opens");
    let error = drain(&mut reader, 10).1.expect("refused").to_string();
    assert!(error.starts_with("test:3: "), "{error}");
    // Outputs of tools, one behind the other.
    let iolog = "fio version 2 iolog\n/dev/a write 0 512\n";
    assert_eq!(read_rows(&iolog.repeat(2), "").len(), 2);
    let blkparse = "8,16 1 1 0.5 7 D W 8 + 8 [x]\nCPU0 (8,16):\n Reads Queued: 0, 0KiB\n";
    assert_eq!(read_rows(&blkparse.repeat(2), "").len(), 2);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("writes");
    encoder.finish().expect("ends")
}

/// A member of a tar archive.
fn member(name: &str, kind: u8, bytes: &[u8], magic: &[u8]) -> Vec<u8> {
    let mut header = [0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..136].copy_from_slice(format!("{:011o}\0", bytes.len()).as_bytes());
    header[156] = kind;
    header[257..257 + magic.len()].copy_from_slice(magic);
    header[148..156].fill(b' ');
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let mut member = header.to_vec();
    member.extend(bytes);
    member.resize(member.len().next_multiple_of(512), 0);
    member
}

fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = member("a/", b'5', b"", b"ustar\0");
    for (name, bytes) in files {
        archive.extend(member(name, b'0', bytes, b"ustar\0"));
    }
    archive.resize(archive.len() + 1024, 0);
    archive
}

/// A zip archive; sizes stand before the files, or behind them as streams have it.
fn zip(files: &[(&str, &[u8])], is_deflated: bool, is_stream: bool) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, bytes) in files {
        let packed = if is_deflated {
            let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(bytes).expect("writes");
            encoder.finish().expect("ends")
        } else {
            bytes.to_vec()
        };
        let mut crc = flate2::Crc::new();
        crc.update(bytes);
        let sizes =
            [crc.sum(), packed.len() as u32, bytes.len() as u32].map(u32::to_le_bytes).concat();
        archive.extend(b"PK\x03\x04\x14\0");
        archive.extend([
            if is_stream { 8 } else { 0 },
            0,
            if is_deflated { 8 } else { 0 },
            0,
            0,
            0,
            0,
            0,
        ]);
        archive.extend(if is_stream { vec![0; 12] } else { sizes.clone() });
        archive.extend((name.len() as u16).to_le_bytes());
        archive.extend([0, 0]);
        archive.extend(name.as_bytes());
        archive.extend(packed);
        if is_stream {
            archive.extend(b"PK\x07\x08");
            archive.extend(sizes);
        }
    }
    archive.extend(b"PK\x01\x02 the directory, which nobody reads");
    archive
}

const ONE: &[u8] = b"128166372003061629,hm,0,Write,4096,8192,1\n";
const TWO: &[u8] = b"128166372013061629,hm,0,Read,0,4096,1";

#[test]
fn nested_archives_and_compressions_are_read() {
    let expected = rows(&[ONE, TWO].concat(), "");
    let gz = (gzip(ONE), gzip(TWO));
    let files: [(&str, &[u8]); 2] = [("hm_0.csv.gz", &gz.0), ("b/hm_0.csv.gz", &gz.1)];
    let plain: [(&str, &[u8]); 2] = [("hm_0.csv", ONE), ("b/hm_0.csv", TWO)];
    let xz = [ONE, TWO].map(|bytes| zstd::encode_all(bytes, 1).expect("compresses"));
    let inner = tar(&plain);
    for (name, bytes) in [
        ("files of gzip in tar", tar(&files)),
        ("the same in gzip", gzip(&tar(&files))),
        ("files of zstd in tar", tar(&[("a", &xz[0]), ("b", &xz[1])])),
        ("zip", zip(&plain, true, false)),
        ("zip as a stream", zip(&plain, true, true)),
        ("zip that packs nothing", zip(&plain, false, false)),
        ("files of gzip in zip", zip(&files, false, false)),
        ("zip of gzip as a stream", zip(&files, true, true)),
        ("tar in zip", zip(&[("a.tar", &inner)], true, false)),
        ("zip in tar", tar(&[("a.zip", &zip(&plain, true, true))])),
        ("gzip in gzip", gzip(&gzip(&[ONE, TWO].concat()))),
        ("tar before POSIX", [member("a", b'0', ONE, b""), member("b", 0, TWO, b"")].concat()),
    ] {
        assert_eq!(rows(&bytes, ""), expected, "{name}");
    }
    // What stands beside the traces is passed over, and said.
    let beside: [(&str, &[u8]); 5] = [
        ("README.txt", b"hello"),
        ("a.csv", ONE),
        ("__MACOSX/._a.csv", b"\0"),
        (".DS_Store", b"\0"),
        ("b", TWO),
    ];
    for bytes in [tar(&beside), zip(&beside, true, false)] {
        let (read, _, said) = rows(&bytes, "");
        assert_eq!(read, expected.0);
        let names = "README.txt, __MACOSX/._a.csv, .DS_Store";
        assert_eq!(said, [format!("3 files of the archive passed over, no traces: {names}")]);
    }
}

#[test]
fn tar_members_take_their_size_from_a_preceding_pax_header() {
    let mut large = member("b", b'0', b"", b"ustar\0");
    large.extend(TWO);
    large.resize(large.len().next_multiple_of(512), 0);
    let record = format!("{} size={}\n", 11 + TWO.len().ilog10(), TWO.len());
    let archive = [
        member("a", b'0', ONE, b"ustar\0"),
        member("x", b'x', record.as_bytes(), b"ustar\0"),
        large,
    ];
    assert_eq!(rows(&archive.concat(), ""), rows(&[ONE, TWO].concat(), ""));
}

#[test]
fn damaged_archives_are_named() {
    let plain: [(&str, &[u8]); 2] = [("hm_0.csv", ONE), ("b/hm_0.csv", TWO)];
    let whole = zip(&plain, true, false);
    for length in [40, 60, whole.len() - 40] {
        assert!(
            refusal(&whole[..length]).starts_with("test: the zip archive ends early"),
            "{length}"
        );
    }
    let stored = zip(&plain, false, false);
    let mut wrong = stored.clone();
    wrong[40] ^= 1;
    assert!(
        refusal(&wrong).contains("hm_0.csv in the zip archive is damaged"),
        "{}",
        refusal(&wrong)
    );
    let mut locked = stored.clone();
    locked[6] = 1;
    assert!(
        refusal(&locked).contains("hm_0.csv in the zip archive is encrypted; unpack the archive")
    );
    let mut other = stored;
    other[8] = 93;
    assert!(refusal(&other).contains("packed by zstd within zip"));
    let gz = gzip(ONE);
    let cut = tar(&[("a", &gz[..gz.len() - 3])]);
    assert!(refusal(&cut).starts_with("test: the gzip stream ends early"), "{}", refusal(&cut));
    let deep = (0..9).fold(ONE.to_vec(), |bytes, _| gzip(&bytes));
    assert!(refusal(&deep).contains("more than 8 archives are one within the other"));
}

#[test]
fn the_letters_of_block_tracing_are_words_everywhere() {
    let text = "COMM         PID    TYPE DEV      BLOCK        BYTES     LATms\n\
                writer       446    WS   8,0      34898224     28672      0.26\n\
                journal      447    FWS  8,0      34898280     4096       2.90\n\
                zeroer       448    WZS  8,0      34898288     65536      0.10\n\
                flusher      449    FF   8,0      0            0          0.10\n\
                flusher      449    FWS  8,0      0            0          0.10\n\
                eraser       450    DES  8,0      8            4096       0.10\n\
                zone         451    ZR   8,0      8            0          0.10\n";
    let at = 34_898_224 * 512;
    let expected = [
        (0, Write, at, 28_672),
        (0, Write, at + 28_672, 4096),
        (0, Write, at + 32_768, 65_536),
        (0, Flush, 0, 0),
        (0, Flush, 0, 0),
        (0, Trim, 4096, 4096),
    ];
    let columns = "columns:sep=space,skip=1,op=3,offset=5:sectors,size=6";
    let (read, _, said) = rows(text.as_bytes(), columns);
    assert_eq!(read, expected);
    assert_eq!(said, ["1 row left out: neither read, write, discard nor flush"]);
    // A flush has no place, for which some kernels print -1; tools say a word before they begin.
    let spoken = "Tracing block I/O. Ctrl-C to end.\n\
                COMM         PID    TYPE DEV      BLOCK        BYTES     LATms\n\
                jbd2/dm-8-44 446    FWS  8,0      18446744073709551615 0          2.90\n\
                kworker/0:0  26852  WS   8,0      8            4096       0.10\n";
    assert_eq!(read_rows(spoken, ""), [(0, Flush, 0, 0), (0, Write, 4096, 4096)]);
    // Recognised by its header too, as perf-tools' iosnoop prints it.
    assert_eq!(read_rows(text, ""), expected);
    let timed = "STARTs         ENDs           COMM         PID    TYPE DEV      BLOCK        BYTES     LATms\n\
                 5982800.302061 5982800.302679 supervise    1809   FWS  202,1    17039600     4096       0.62\n\
                 5982800.302423 5982800.302842 supervise    1809   RM   202,1    17039608     4096       0.42\n";
    let expected = [
        (5_982_800_302_061_000, Write, 17_039_600 * 512, 4096),
        (5_982_800_302_423_000, Read, 17_039_608 * 512, 4096),
    ];
    assert_eq!(read_rows(timed, ""), expected);
}

#[test]
fn every_biosnoop_is_read_by_its_columns() {
    let write = |time, sector: u64, len| (time, Write, sector * 512, len);
    for (text, expected) in [
        (
            "TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   LAT(ms)\n\
             0.000000    jbd2/sda2-8    447     sda     FWS  34898280   4096    2.90\n\
             0.100000    kworker/0:1H   8       sda     FF   0          0       2.90\n",
            vec![write(0, 34_898_280, 4096), (100 * MS, Flush, 0, 0)],
        ),
        (
            "TIME(s)     COMM           PID     DISK    T    SECTOR     BYTES   QUE(ms) LAT(ms)\n\
             0.1         Web Content    447     sda     WSM  8          4096    0.1     2.90\n",
            vec![write(100 * MS, 8, 4096)],
        ),
        (
            "TIMESTAMP    COMM           PID     DISK    T    SECTOR     BYTES   LAT(ms)\n\
             23:59:59.900 mount          163467  sde     WSM  41944043   524288    1.422\n\
             00:00:00.100 mount          163467  sde     WSM  41945067   524288    1.429\n",
            vec![
                write(86_399_900 * MS, 41_944_043, 524_288),
                write(86_400_100 * MS, 41_945_067, 524_288),
            ],
        ),
        (
            "TIME(s)     COMM           PID     DISK      T SECTOR     BYTES  P LAT(ms)\n\
             11.269319   kworker/u16:4  2784813 vda       W 113638304  8192   R    5.49\n",
            vec![write(11_269_319_000, 113_638_304, 8192)],
        ),
        (
            "TIME                       COMM           PID     DISK      T SECTOR     BYTES  LAT(ms)\n\
             1970-01-02 00:00:11.309563 my tar         1991698 sdb       W 903685432  16384     0.24\n",
            vec![write(86_411_309_563_000, 903_685_432, 16_384)],
        ),
    ] {
        let (read, volumes, _) = rows(text.as_bytes(), "");
        assert_eq!(read, expected, "{text}");
        assert_eq!(volumes.len(), 1, "{volumes:?}");
        assert!(volumes[0].len() == 3, "{volumes:?}");
    }
    let bpftrace = b"TIME(ms)     DISK    COMM             PID    LAT(ms)\n611          sda     bash             4179        10\n";
    let said = refusal(bpftrace);
    assert!(
        said.contains("bpftrace's biosnoop.bt prints neither sectors nor sizes; record with"),
        "{said}"
    );
}

#[test]
fn decimal_commas_and_grouping_commas_are_distinguished() {
    let text = "timestamp;op;offset;size\n0,5;W;4096;8192\n1,25;R;0;4096\n";
    let expected = [(500 * MS, Write, 4096, 8192), (1250 * MS, Read, 0, 4096)];
    assert_eq!(read_rows(text, ""), expected);
    let quoted = "timestamp,op,offset,size\n\"0,5\",W,4096,8192\n\"1,25\",R,0,4096\n";
    assert_eq!(read_rows(quoted, ""), expected);
    let grouped = "timestamp;op;offset;size\n0,5;W;4.096;8.192\n1.000,25;R;1.048.576;4.096\n";
    let expected = [(500 * MS, Write, 4096, 8192), (1_000_250 * MS, Read, 1 << 20, 4096)];
    assert_eq!(read_rows(grouped, ""), expected);
    let english = "timestamp;op;offset;size\n0.5;W;4,096;8,192\n\"1,000.25\";R;1,048,576;4,096\n";
    assert_eq!(read_rows(english, ""), expected);
    // What may be either is not guessed.
    let unclear = "time_ms;op;offset;size\n1,500;W;4096;512\n2,250;W;4096;512\n";
    let said = refusal(unclear.as_bytes());
    let line = "‹columns 'sep=semicolon,time=time_ms:ms,op=op,offset=offset:bytes,size=size:bytes,decimal=comma'›, \
                with decimal=point for thousands";
    assert!(said.contains(line), "{said}");
    let columns = "columns:sep=semicolon,time=time_ms:ms,op=op,offset=offset,size=size,decimal=";
    let time = |mark: &str| read_rows(unclear, &format!("{columns}{mark}"))[0].0;
    assert_eq!((time("comma"), time("point")), (1_500_000, 1500 * MS));
    assert!(format!("{columns}dot").parse::<read::Format>().is_err());
    // Without a word a point is a decimal mark, and three digits behind it may be a group.
    assert!(
        refusal(b"ts_s,op,lba,size\n0.5,W,8,4096\n1,W,1.024,512\n")
            .contains("\"1.024\", not a whole number")
    );
}

#[test]
fn a_header_that_names_units_is_believed_whatever_the_rows_look_like() {
    let expected = [(MS, Write, 8 * 512, 8 * 512), (6 * MS, Read, 16 * 512, 8 * 512)];
    for separator in [";", ",", "\t", "|", " "] {
        let text = "timestamp_ms;lba;count;type\n1;8;8;W\n6;16;8;R\n".replace(';', separator);
        assert_eq!(read_rows(&text, ""), expected, "{text}");
    }
    // The rows of Alibaba's traces, in other units.
    let text =
        "device_id,opcode,offset_sectors,length_bytes,timestamp_ms\n3,W,8,4096,1\n3,R,16,4096,6\n";
    assert_eq!(read_rows(text, ""), [(MS, Write, 4096, 4096), (6 * MS, Read, 8192, 4096)]);
    // In the same units the format is the better reader: it knows the volumes.
    let text = "device_id,opcode,offset,length,timestamp_us\n3,W,4096,4096,1\n3,R,8192,4096,6\n";
    let reader = open(text.as_bytes(), &ReadOptions::default()).expect("opens");
    assert_eq!(reader.guess().format.name(), "alibaba");
}

#[test]
fn an_ambiguous_unit_of_time_is_refused_with_the_option_to_give() {
    let said = refusal(b"time,op,lba,size\n0,W,8,4096\n1000,W,16,4096\n2500,R,8,4096\n");
    assert_eq!(
        said,
        "test: the times in column \"time\" may be of any unit (0, 1000, 2500); say which by ‹columns \
         'time=time:us,op=op,offset=lba:sectors,size=size:bytes'›, with ns, ms or s in place of us"
    );
    let time_unit = Some(TimeUnit::Milliseconds);
    let options = ReadOptions { time_unit, ..ReadOptions::default() };
    let text = b"time,op,lba,size\n0,W,8,4096\n1000,W,16,4096\n";
    let mut reader = open(text, &options).expect("opens");
    assert_eq!(drain(&mut reader, 10).0[1].time_ns, S);
    // Fractions are those of seconds, and clocks that count from an epoch are as far as today's.
    for (first, ns) in [
        ("0.5", 500 * MS),
        ("1700000000", 1_700_000_000 * S),
        ("1700000000000", 1_700_000_000 * S),
        ("1700000000000000", 1_700_000_000 * S),
        ("1700000000000000000", 1_700_000_000 * S),
        ("128166372003061629", 12_816_637_200_306_162_900),
    ] {
        let text = format!("time,op,lba,size\n{first},W,8,4096\n");
        assert_eq!(read_rows(&text, ""), [(ns, Write, 4096, 4096)], "{first}");
    }
    // Nanoseconds or microseconds since a machine was started come as far, with long pauses.
    for (first, second) in [
        (1_234_567_890_123_u64, 1_234_577_890_123_u64),
        (1_234_567_890_123_456, 1_234_567_900_123_456),
        (1_234_567_890, 1_234_577_890),
    ] {
        let text = format!("ts,op,lba,size\n{first},W,8,4096\n{second},W,16,4096\n");
        let said = refusal(text.as_bytes());
        assert!(said.contains("the times in column \"ts\" may be of any unit"), "{said}");
    }
}

#[test]
fn a_clock_that_wraps_is_carried_on() {
    // 32 bits of microseconds, a millisecond between requests, and the wrap in their midst.
    let wrap = (1_u64 << 32) * 1000;
    let text: String = (0..4000)
        .map(|n| {
            let us = ((1_u64 << 32) - 2_000_000 + 1000 * n) % (1 << 32);
            format!("{}.{:06},W,{},4096\n", us / 1_000_000, us % 1_000_000, 4096 * n)
        })
        .collect();
    let (read, _, said) = rows(format!("timestamp,op,offset,size\n{text}").as_bytes(), "");
    assert!(read.is_sorted_by_key(|row| row.0));
    assert_eq!(read[3999].0, wrap + 1_999 * MS);
    let told = "the clock wraps at 4294.967296 s, 32 bits of microseconds; it was carried on there";
    assert_eq!(said, [told]);
    // Each file of several has a clock of its own.
    let folder = tempfile::tempdir().expect("a folder");
    let files = ["a", "b"].map(|name| folder.path().join(name));
    for file in &files {
        std::fs::write(file, format!("timestamp,op,offset,size\n{text}")).expect("written");
    }
    let mut reader = read::open_many(&files, &ReadOptions::default()).expect("opens");
    let (requests, _) = drain(&mut reader, 100);
    assert!(requests.len() == 8000 && requests.is_sorted_by_key(|request| request.time_ns));
    assert_eq!(reader.warnings(), [told]);
}

#[test]
fn times_that_are_no_numbers_are_refused_as_such() {
    for word in ["NaN", "nan", "inf", "-inf", "Infinity"] {
        let text = format!("timestamp,op,offset,size\n0.5,W,0,512\n{word},W,0,512\n");
        let said = refusal(text.as_bytes());
        assert!(said.contains(&format!("field 1 (time) is \"{word}\", not a time")), "{said}");
    }
}

#[test]
fn a_missing_blktrace_file_of_a_cpu_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = blktrace_record(false, 1, 10, 512, 0x42 << 16 | 7, 8 << 20, 0);
    for cpu in [0, 1, 3] {
        std::fs::write(folder.path().join(format!("sda.blktrace.{cpu}")), &record)
            .expect("written");
    }
    let said = |path: &std::path::Path| {
        let mut reader = read::open(path, &ReadOptions::default()).expect("opens");
        drain(&mut reader, 10);
        reader.warnings()
    };
    let gone =
        "files of processors are missing: sda.blktrace.2; what they issued is not in the trace";
    assert_eq!(said(folder.path()), [gone]);
    assert_eq!(said(&folder.path().join("sda")), [gone]);
    let one = said(&folder.path().join("sda.blktrace.1"));
    let beside = "other processors' files lie beside it and are not read: sda.blktrace.0, sda.blktrace.3; \
                  name the folder, or ";
    assert!(one[0].starts_with(beside) && one[1] == gone, "{one:?}");
    std::fs::write(folder.path().join("sda.blktrace.2"), b"").expect("written");
    assert!(said(folder.path()).is_empty());
}

/// The shapes of docs/trace-inputs.md that no test above has: what a format is named, what is read, or why not.
#[test]
fn inputs_from_public_reports_are_read_or_refused_as_recorded() {
    let place = |sector: u64| sector * 512;
    let good: [(&str, &str, &str, Vec<Row>); 12] = [
        (
            "biosnoop without its header",
            "0.25 paranoid 17553 sdb W 8 4096 0.20\n0.5 paranoid 17553 sdb R 16 4096 0.20\n",
            "columns:sep=space,time=1:s,op=5,offset=6:sectors,size=7,volume=4",
            vec![(250 * MS, Write, place(8), 4096), (500 * MS, Read, place(16), 4096)],
        ),
        (
            "perf script",
            "   dmcrypt  9587 [004] 7.5:      block:block_bio_queue: 8,16 WFS 4112 + 4 [dmcrypt]\n   \
             dmcrypt  9587 [004] 7.6:       block:block_rq_issue: 8,16 WS 2048 () 4112 + 4 [dmcrypt]\n   \
             swapper     0 [000] 7.7:    block:block_rq_complete: 8,16 WS () 4112 + 4 [0]\n",
            "",
            vec![(7600 * MS, Write, place(4112), 2048)],
        ),
        (
            "ftrace with priorities",
            "  kworker/0:1-21 [000] d..1. 1.5: block_rq_issue: 8,0 WS 4096 () 2048 + 8 be,0,4 [kworker/0:1]\n",
            "",
            vec![(1500 * MS, Write, place(2048), 4096)],
        ),
        (
            "blkparse",
            "8,16 1 1 1.4 5529 Q WS 274432 + 8\n8,16 1 2 1.5 5529 G WS 274432 + 8\n\
             8,16 1 3 1.6 5529 D WS 274432 + 8\n8,16 1 4 1.7 5529 C WS 274432 + 8\n",
            "",
            vec![(1600 * MS, Write, place(274_432), 4096)],
        ),
        (
            "fio version 2 without waits",
            "fio version 2 iolog\n/d add\n/d open\n/d write 20480 4000\n/d read 8192 2048\n",
            "",
            vec![(0, Write, 20_480, 4000), (0, Read, 8192, 2048)],
        ),
        (
            "fio version 3 without add and open",
            "fio version 3 iolog\n100 /dev/nvme0n1 read 1000 4096\n",
            "",
            vec![(100_000, Read, 1000, 4096)],
        ),
        (
            "a log of fio with offsets",
            "1, 4096, 1, 4096, 12288\n3, 4096, 0, 4096, 0\n",
            "columns:time=1:ms,op=3:1/0/2,size=4,offset=5",
            vec![(MS, Write, 12_288, 4096), (3 * MS, Read, 0, 4096)],
        ),
        (
            "three columns",
            "8,4096,0.5\n16,4096,1.5\n",
            "columns:skip=0,time=3:s,all=write,offset=1:sectors,size=2",
            vec![(500 * MS, Write, place(8), 4096), (1500 * MS, Write, place(16), 4096)],
        ),
        (
            "MQSim",
            "4851300 0 5 8 1\n4862200 0 13 8 0\n",
            "",
            vec![(4_851_300, Read, place(5), 4096), (4_862_200, Write, place(13), 4096)],
        ),
        (
            "IODA",
            "1.5 0 4096 8192 0\n2.5 0 0 4096 1\n",
            "columns:sep=space,time=1:ms,op=5:0/1,offset=3,size=4",
            vec![(1_500_000, Write, 4096, 8192), (2_500_000, Read, 0, 4096)],
        ),
        (
            "SCSI in CSV",
            "1,5633898,2a,512,42932745\n1,5633899,28,512,42932746\n",
            "columns:time=2:s,op=3:2a/28,size=4,offset=5:sectors",
            vec![
                (5_633_898 * S, Write, place(42_932_745), 512),
                (5_633_899 * S, Read, place(42_932_746), 512),
            ],
        ),
        (
            "Alibaba with a header",
            "device_id,opcode,offset,length,timestamp\n3,W,4096,8192,1577808000000146\n",
            "",
            vec![(1_577_808_000_000_146_000, Write, 4096, 8192)],
        ),
    ];
    for (name, text, format, expected) in good {
        assert_eq!(read_rows(text, format), expected, "{name}");
    }
    let objects = b"# timestamp (ms), op type, object id, object size\n0,1,A,8371\n103,1,B,31\n";
    assert!(refusal(objects).contains("no known trace format begins with"), "{}", refusal(objects));
}

/// A guess that would be wrong by a power of ten is an error with the line to type, and that line reads the trace.
#[test]
fn guesses_that_the_rows_speak_against_are_refused_with_the_line_to_type() {
    let read = |text: &str, options: ReadOptions| {
        let mut reader = open(text.as_bytes(), &options).unwrap_or_else(|error| panic!("{error}"));
        let (requests, error) = drain(&mut reader, 3);
        assert!(error.is_none(), "{error:?}");
        (requests[0].time_ns, requests[0].op, requests[0].offset, requests[0].len)
    };
    let bytes = ReadOptions { sector_size: Some(1), ..ReadOptions::default() };
    let us = ReadOptions { time_unit: Some(TimeUnit::Microseconds), ..ReadOptions::default() };
    let ms = ReadOptions { time_unit: Some(TimeUnit::Milliseconds), ..ReadOptions::default() };
    let of = |format: &str| ReadOptions {
        format: Some(format.parse().expect("a format")),
        ..ReadOptions::default()
    };
    for (text, said, options, expected) in [
        // Bytes in a format of sectors.
        (
            "0.25 0 4096 8192 0\n1.5 0 8192 4096 1\n",
            "this looks like DiskSim ASCII, but all offsets and sizes are multiples of 512, as bytes are; say \
             ‹sector-size 1› if they are bytes, or ‹trace-format disksim› if it is so",
            bytes.clone(),
            (MS / 4, Write, 4096, 8192),
        ),
        (
            "1538323200,6610407424,65536,0,1063\n1538323200,3208032256,4096,1,1071\n",
            "this looks like Tencent CBS, but all offsets and sizes are multiples of 512",
            bytes,
            (1_538_323_200 * S, Read, 6_610_407_424, 65_536),
        ),
        // Microseconds in a format of nanoseconds.
        (
            "7 0 2048 8 0\n15 0 4096 8 1\n31 0 2056 16 0\n",
            "this looks like SSDSim ASCII, but its 3 requests come within 24 ns; say ‹time-unit us›, ms or s",
            us,
            (7_000, Write, 2048 * 512, 4096),
        ),
        // Milliseconds in formats that count microseconds or tenths of them from a date.
        (
            "3,W,4096,4096,1577808144360\n3,R,8192,4096,1577808144367\n",
            "this looks like Alibaba Cloud 2020, but its times are no dates of the last decades, as that format's are; say \
             their unit by ‹time-unit›, or ‹trace-format alibaba› if it is so",
            ms.clone(),
            (1_577_808_144_360 * MS, Write, 4096, 4096),
        ),
        (
            "500,hm,0,Read,4096,4096,10\n600,hm,0,Write,0,4096,10\n",
            "but its times are no dates of the last decades",
            ms,
            (500 * MS, Read, 4096, 4096),
        ),
        // Sectors in a format of bytes, and columns in another order.
        (
            "v1,0.5,W,8,8\nv2,1.5,R,16,8\n",
            "this looks like K5cloud, but all sizes are below 512 bytes, as numbers of sectors are",
            of("columns:skip=0,volume=1,time=2:s,op=3,offset=4:sectors,size=5:sectors"),
            (S / 2, Write, 4096, 4096),
        ),
        (
            "0.000000,0,W,8,8\n0.000100,0,R,16,8\n",
            "no known trace format begins with \"0.000000,0,W,8,8\"",
            of("columns:skip=0,time=1:s,op=3,offset=4:sectors,size=5:sectors"),
            (0, Write, 4096, 4096),
        ),
        (
            "0.5,661,D,W,1024,8\n0.6,661,D,R,2048,16\n",
            "no known trace format begins with \"0.5,661,D,W,1024,8\"",
            of("columns:skip=0,time=1:s,op=4,offset=5:sectors,size=6:sectors"),
            (S / 2, Write, 1024 * 512, 4096),
        ),
        // Places under names without a unit.
        (
            "ts_us,op,offset,size\n100,W,1024,8\n200,R,2048,16\n",
            "columns \"offset\" (1024, 2048) and \"size\" (8, 16) may count bytes or sectors; say which by \
             ‹columns 'time=ts_us:us,op=op,offset=offset:sectors,size=size:sectors'›, with bytes in place of \
             sectors where they are",
            of("columns:time=ts_us:us,op=op,offset=offset:sectors,size=size:sectors"),
            (100_000, Write, 1024 * 512, 4096),
        ),
        (
            "ts_us,op,offset,size\n100,W,100,3000\n200,R,3100,600\n",
            "columns \"offset\" (100, 3100) and \"size\" (3000, 600) may count bytes or sectors",
            of("columns:time=ts_us:us,op=op,offset=offset,size=size"),
            (100_000, Write, 100, 3000),
        ),
        // Files are written at any byte, and devices are not; blocks of some devices are no sectors.
        (
            "ts_us,op,offset,size\n100,W,1000,4096\n200,R,2000,4096\n",
            "columns \"offset\" (1000, 2000) and \"size\" (4096, 4096) may count bytes or sectors",
            of("columns:time=ts_us:us,op=op,offset=offset,size=size"),
            (100_000, Write, 1000, 4096),
        ),
        (
            "ts_us,op,lba,size\n100,W,1001,8192\n200,R,1003,4096\n",
            "column \"lba\" (1001, 1003) may count sectors of 512 bytes or blocks of 4 KiB; say which by ‹columns \
             'time=ts_us:us,op=op,offset=lba:sectors,size=size:bytes'›, with 4k in place of its sectors",
            of("columns:time=ts_us:us,op=op,offset=lba:4k,size=size"),
            (100_000, Write, 1001 << 12, 8192),
        ),
        // A time of which the unit is unknown is not left out.
        (
            "time_ticks,op,lba,size\n100,W,8,4096\n200,R,16,4096\n",
            "column \"time_ticks\" (100, 200) may be the time; say which by ‹columns \
             'time=time_ticks:us,op=op,offset=lba:sectors,size=size:bytes'›, with the unit that it has",
            of("columns:time=time_ticks:ms,op=op,offset=lba:sectors,size=size"),
            (100 * MS, Write, 4096, 4096),
        ),
        (
            "op,lba,size,elapsed_ms,response_time_us\nW,8,4096,100,7\nR,16,4096,200,7\n",
            "column \"elapsed_ms\" (100, 200) may be the time; say which by ‹columns \
             'time=elapsed_ms:ms,op=op,offset=lba:sectors,size=size:bytes'›",
            of("columns:time=elapsed_ms:ms,op=op,offset=lba:sectors,size=size"),
            (100 * MS, Write, 4096, 4096),
        ),
        // A decimal comma between columns that commas part: not the five fields of another format.
        (
            "timestamp,op,offset,size\n0,5,W,4096,8192\n1,25,R,0,4096\n",
            "its header names 4 columns, and its rows have 5 fields; write decimals with a point",
            of("k5cloud"),
            (5 * S, Write, 4096, 8192),
        ),
        // Two columns of one name.
        (
            "ts_us,op,offset,size,Size\n100,W,4096,512,1\n200,R,8192,1024,2\n",
            "columns 4 and 5 are both named \"size\"; say which by ‹columns \
             'time=ts_us:us,op=op,offset=offset:bytes,size=4:bytes'›, with the number of the other column in its place",
            of("columns:time=ts_us:us,op=op,offset=offset,size=4"),
            (100_000, Write, 4096, 512),
        ),
        // Words that nobody knows.
        (
            "ts_us,op,offset,size\n100,1,4096,512\n200,2,8192,512\n",
            "column \"op\" has words that are no operations (1); say which by ‹columns \
             'time=ts_us:us,op=op:WRITE/READ,offset=offset:bytes,size=size:bytes'›, with the trace's own words",
            of("columns:time=ts_us:us,op=op:2/1,offset=offset,size=size"),
            (100_000, Read, 4096, 512),
        ),
    ] {
        let refused = refusal(text.as_bytes());
        assert!(refused.contains(said), "{refused}");
        assert_eq!(read(text, options), expected, "{text}");
    }
    for (text, said) in [
        (
            "ts_us,op,offset,size\n100,W,4K,8K\n",
            "column \"offset\" (4K) is not of whole numbers; write them without units, such as 4096",
        ),
        (
            "time,op,offset,size\n3/1/2026 12:30:05 PM,W,0,512\n",
            "the times in column \"time\" are neither numbers nor dates such as 2026-03-01T12:30:05.25 \
             (3/1/2026 12:30:05 PM); write them so, or as numbers",
        ),
        (
            "{\"ts\":100,\"op\":\"W\",\"offset\":4096}\n",
            "this is JSON with the keys of no known format",
        ),
        (
            "# tracer: nop\n kworker/8:0H-80 [008] ..... 89.106063: ufshcd_command: send_req: 0:0:0:4: tag: 10, \
             size: 524288, IS: 0, LBA: 1085538, opcode: 0x8a (WRITE_16)\n",
            "these are a driver's events, which do not say how large their blocks are; record those of the block layer",
        ),
        (
            "fio-3551 [002] ..... 233.047335: nvme_setup_cmd: nvme0: disk=nvme0n1, qid=15, nsid=3, \
             cmd=(nvme_cmd_write slba=3631996, len=0, ctrl=0x2000)\n",
            "these are a driver's events",
        ),
        (
            "Linux 6.1 (host)\n\nDevice  r/s  rkB/s  w/s  wkB/s  %util\nsda  1.00  4.00  2.00  8.00  0.10\n",
            "these are counters of disks, as of iostat and /proc/diskstats, and not requests",
        ),
        (
            " 259 0 nvme1n1 231544 7 8254881 83306 713011 263473 18267876 1060882 0 10721680 11021360 0 0 0 0\n",
            "these are counters of disks",
        ),
    ] {
        let refused = refusal(text.as_bytes());
        assert!(refused.contains(said), "{refused}");
    }
    // Names that say so are believed, and sequential requests of whole megabytes are sectors where a format is named.
    let expected = (MS, Write, 1 << 20, 1 << 20);
    assert_eq!(read("1.0 0 2048 2048 0\n2.0 0 4096 2048 0\n", of("disksim")), expected);
    let named = "ts_ms,op,start_sector,sectors\n1,W,2048,2048\n2,W,4096,2048\n";
    assert_eq!(read(named, ReadOptions::default()), expected);
}

#[test]
fn units_in_brackets_times_of_day_and_words_with_flags_are_read() {
    let text = "Timestamp (us);Operation;Offset (sectors);Size (KiB)\n100;WRITE_FUA;8;4\n200;Read-ahead;0;8\n";
    let expected = [(100_000, Write, 4096, 4096), (200_000, Read, 0, 8192)];
    assert_eq!(read_rows(text, ""), expected);
    for unit in ["\u{b5}s", "\u{3bc}s", "usecs", "micros"] {
        let text = format!("time ({unit});op;LBA;sectors\n1000;W;8;8\n2000;R;16;8\n");
        let expected = [(MS, Write, 4096, 4096), (2 * MS, Read, 8192, 4096)];
        assert_eq!(read_rows(&text, ""), expected, "{unit}");
    }
    // In another encoding it is no second, and a `t` of numbers is a time.
    let said = refusal(b"time (\xb5s);op;LBA;sectors\n1000;W;8;8\n2000;R;16;8\n");
    assert!(said.contains("may be the time; say which by"), "{said}");
    let said = refusal(b"t,op,lba,len\n0.5,W,8,8\n0.7,R,16,8\n");
    assert!(said.contains("column \"t\" (0.5, 0.7) may be the time"), "{said}");
    // A tool with one table for all its events names them before a point, and leaves columns of others empty.
    let text = "device.id,file.offset,file.size,header.timestamp_ns,io.lba,io.len,io.operation\n\
                7,,,1000,2210402464,256,Write\n7,,,2000,2210402720,8,Read\n";
    let said = refusal(text.replace("timestamp_ns", "timestamp").as_bytes());
    assert!(
        said.contains("'time=header.timestamp:us,op=io.operation,offset=io.lba:sectors"),
        "{said}"
    );
    let (read, volumes, _) = rows(text.as_bytes(), "");
    let expected =
        [(1000, Write, 2_210_402_464 * 512, 256 * 512), (2000, Read, 2_210_402_720 * 512, 4096)];
    assert_eq!((&read[..], &volumes[..]), (&expected[..], &["7".to_owned()][..]));
    let (read, _, said) = rows(
        b"time,op,offset,size\n23:59:59.5,W,4096,4096\n23:59:59.9,UNMAP,8192,4096\n00:00:00.1,datasync,0,0\n",
        "",
    );
    let day = 86_400 * S;
    let expected = [
        (day - 500 * MS, Write, 4096, 4096),
        (day - 100 * MS, Trim, 8192, 4096),
        (day + 100 * MS, Flush, 0, 0),
    ];
    assert_eq!(read, expected);
    assert_eq!(said, ["the clock wraps at midnight; it was carried on there"]);
    // A line under the table is told where it stands, not as the format of all of it.
    let body: String = (0..20).map(|n| format!("{n}.5,W,{},4096\n", 4096 * n)).collect();
    let said = refusal(format!("time,op,offset,size\n{body}Total,20,,81920\n").as_bytes());
    assert!(said.contains("test:22: field 2 (op) is \"20\", no operation"), "{said}");
}
