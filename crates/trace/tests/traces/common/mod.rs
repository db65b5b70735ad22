//! Samples of every format, a few rows each, with their requests.

// Each test file uses only a part of it.
#![allow(dead_code)]

pub mod known;
pub mod usb;

use std::io::Cursor;

use thermocline_trace::{
    Op::{self, Flush, Read, Trim, Write},
    Request, Source, TraceError,
    read::{self, ReadOptions, Reader},
};

/// A sample: its format's name, its bytes, its requests, its volumes.
pub struct Sample {
    pub format: &'static str,
    /// The format that is guessed, if it cannot be distinguished from another.
    pub guessed: Option<&'static str>,
    pub bytes: Vec<u8>,
    pub requests: Vec<Request>,
    pub volumes: &'static [&'static str],
}

type Row = (u64, Op, u64, u64, u32);

fn sample(
    format: &'static str,
    bytes: impl Into<Vec<u8>>,
    rows: &[Row],
    volumes: &'static [&'static str],
) -> Sample {
    let requests = rows
        .iter()
        .map(|&(time_ns, op, offset, len, volume)| Request {
            time_ns,
            op,
            offset,
            len,
            volume,
            hint: 0,
        })
        .collect();
    Sample { format, guessed: Some(format), bytes: bytes.into(), requests, volumes }
}

macro_rules! data {
    ($name:literal) => {
        include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/", $name)).to_vec()
    };
}

/// All samples.
pub fn samples() -> Vec<Sample> {
    let mut all = csv();
    all.extend(text());
    all.extend(phones_and_windows());
    all.extend(simulators());
    all.extend(binary());
    all.extend(usb());
    all
}

const S: u64 = 512;

fn csv() -> Vec<Sample> {
    vec![
        sample(
            "csv",
            data!("csv.csv"),
            &[
                (5000, Write, 4096, 512, 0),
                (6999, Read, 0, 4096, 1),
                (7000, Trim, 1 << 40, 1 << 30, 1),
                (8000, Flush, 0, 0, 0),
            ],
            &["8:16", "8:17"],
        ),
        sample(
            "msr",
            data!("msr.csv"),
            &[
                (12_816_638_529_551_466_300, Write, 9_056_014_336, 2048, 0),
                (12_816_638_529_551_487_800, Read, 11_855_351_808, 512, 0),
                (12_816_638_529_551_487_800, Read, 512, 4096, 1),
            ],
            &["hm:0", "usr:1"],
        ),
        sample(
            "spc",
            data!("spc.csv"),
            &[
                (551_706_000, Write, 20_941_264 * S, 8192, 0),
                (600_000_000, Read, 55_590 * S, 3072, 1),
            ],
            &["0", "1"],
        ),
        sample(
            "alibaba",
            data!("alibaba.csv"),
            &[
                (1_577_808_000_000_046_000, Read, 126_703_661_056, 4096, 0),
                (1_577_808_000_000_146_000, Write, 4096, 8192, 1),
            ],
            &["0", "727"],
        ),
        sample(
            "tencent",
            data!("tencent.csv"),
            &[
                (1_538_323_200_000_000_000, Write, 4_247_200 * S, 128 * S, 0),
                (1_538_323_199_000_000_000, Read, 13_896_880 * S, 8 * S, 1),
            ],
            &["1058", "1063"],
        ),
        sample(
            "systor17",
            data!("systor17.csv"),
            &[
                (1_456_095_145_133_076_000, Read, 899_056_122_368, 131_072, 0),
                (1_456_095_145_126_285_000, Write, 4096, 512, 1),
            ],
            &["0", "6"],
        ),
        sample(
            "k5cloud",
            data!("k5cloud.csv"),
            &[(12_000, Read, 4096, 512, 0), (1_500_000_000, Write, 8192, 1024, 0)],
            &["3"],
        ),
        sample(
            "rocksdb",
            data!("rocksdb.csv"),
            &[
                (0, Write, 1_652_296 * S, 256 * S, 0),
                (35_081, Trim, 1_652_552 * S, 256 * S, 0),
                (35_082, Read, 8 * S, 8 * S, 0),
            ],
            &["0"],
        ),
    ]
}

fn text() -> Vec<Sample> {
    vec![
        sample(
            "fiu",
            data!("fiu.txt"),
            &[
                (89_968_195_792_462, Read, 283_193_184 * S, 8 * S, 0),
                (89_968_195_793_000, Write, 63 * S, 16 * S, 1),
            ],
            &["6,0", "8,1"],
        ),
        sample(
            "blkparse",
            data!("blkparse.txt"),
            &[
                (13_000, Read, 1_444_645_666 * S, 256 * S, 0),
                (30_000, Write, 8 * S, 16 * S, 0),
                (40_000, Trim, 2048 * S, 8 * S, 1),
                (50_000, Flush, 0, 0, 0),
            ],
            &["8,16", "8,17"],
        ),
        sample(
            "ftrace",
            data!("ftrace.txt"),
            &[
                (10_000_010_000, Write, 2048 * S, 8 * S, 0),
                (10_000_200_000, Read, 4096 * S, 16 * S, 0),
                (10_000_300_000, Flush, 0, 0, 0),
            ],
            &["8,0"],
        ),
        sample(
            "biosnoop",
            data!("biosnoop.txt"),
            &[(4_001, Write, 13_092_560 * S, 4096, 0), (1_000_000, Read, 16 * S, 8192, 1)],
            &["xvda1", "xvda2"],
        ),
        sample(
            "biosnoop",
            data!("biosnoop-queue.txt"),
            &[(4_001, Write, 13_092_560 * S, 4096, 0)],
            &["xvda1"],
        ),
        sample(
            "fio-iolog",
            data!("fio1.iolog"),
            &[(0, Read, 4096, 512, 0), (0, Write, 8192, 1024, 0)],
            &["0"],
        ),
        sample(
            "fio-iolog",
            data!("fio2.iolog"),
            &[
                (0, Write, 4096, 8192, 0),
                (1_500_000, Read, 0, 512, 0),
                (1_500_000, Flush, 0, 0, 0),
                (1_500_000, Trim, 65_536, 4096, 0),
            ],
            &["/dev/sdb"],
        ),
        sample(
            "fio-iolog",
            data!("fio3.iolog"),
            &[
                (20_000, Write, 4096, 8192, 0),
                (1_520_000, Read, 0, 512, 0),
                (1_530_000, Flush, 0, 0, 0),
                (1_540_000, Trim, 65_536, 4096, 1),
            ],
            &["/dev/sdb", "/dev/sdc"],
        ),
        sample(
            "blkreplay",
            data!("blkreplay.load"),
            &[(0, Write, 37_766_853 * S, 64 * S, 0), (449_518_165, Read, 0, S, 0)],
            &["0"],
        ),
        sample(
            "nbdkit",
            data!("nbdkit.log"),
            &[
                (1_795_213_470_113_337_000, Write, 0x1000, 0x1000, 0),
                (1_795_213_470_113_414_000, Read, 0x1000, 0x200, 0),
                (1_795_213_470_113_446_000, Write, 0x2000, 0x400, 0),
                (1_795_213_470_113_486_000, Trim, 0x10000, 0x1000, 0),
                (1_795_213_470_113_508_000, Write, 0x10000, 0x1000, 0),
                (1_795_213_470_113_537_000, Trim, 0x20000, 0x2000, 0),
                (1_795_213_470_113_655_000, Flush, 0, 0, 0),
            ],
            &["0"],
        ),
    ]
}

fn phones_and_windows() -> Vec<Sample> {
    vec![
        sample(
            "biotracer",
            data!("biotracer.txt"),
            &[
                // 33 sectors are 32 of data and the header of a packed write.
                (1_396_928_764_198_090_136, Write, 51_155_104 * S, 32 * S, 0),
                (1_396_928_765_500_000_000, Read, 16 * S, 8 * S, 0),
            ],
            &["0"],
        ),
        sample(
            "nexus5",
            data!("nexus5.csv"),
            &[
                (1_396_928_764_198_090_136, Write, 51_155_104 * S, 32 * S, 0),
                (1_396_928_787_900_000_000, Read, 16 * S, 8 * S, 0),
            ],
            &["0"],
        ),
        sample(
            "acsl",
            data!("acsl.csv"),
            &[
                (100_000_001, Write, 128 * S, 8 * S, 0),
                (100_000_002, Trim, 136 * S, 16 * S, 0),
                (200_000_000, Read, 8 * S, 8 * S, 1),
            ],
            &["8388608", "8388624"],
        ),
        sample(
            "wpaexporter",
            data!("wpaexporter.csv"),
            &[
                (1_079_943_800, Read, 512, 16_384, 0),
                (1_500_000_000, Write, 16, 512, 1),
                (1_718_742_000_000, Flush, 0, 0, 0),
            ],
            &["0", "1"],
        ),
        sample(
            "xperf",
            data!("xperf.csv"),
            &[
                (120_000, Read, 4096, 8192, 0),
                (130_500, Write, 512, 512, 1),
                (140_000, Flush, 0, 0, 1),
            ],
            &["1", "0"],
        ),
        sample(
            "diskmon",
            data!("diskmon.log"),
            &[
                (12_500_000, Write, 6_291_512 * S, 8 * S, 0),
                (25_000_000, Read, 64 * S, 16 * S, 1),
                (78_067_125_000_000, Read, 8 * S, 8 * S, 0),
            ],
            &["0", "1"],
        ),
    ]
}

fn simulators() -> Vec<Sample> {
    let ssdsim: &[Row] =
        &[(0, Write, 303_567 * S, 7 * S, 0), (26_214_000, Read, 240_840 * S, 6 * S, 1)];
    let mut mqsim = sample("mqsim", data!("ssdsim.txt"), ssdsim, &["0", "1"]);
    mqsim.guessed = Some("ssdsim");
    vec![
        sample(
            "disksim",
            data!("disksim.txt"),
            &[
                (5_265_313_000, Write, 6_357_144 * S, 8 * S, 0),
                (5_265_703_000, Read, 6_307_768 * S, 8 * S, 1),
                (5_297_450_000, Read, 33_701_824 * S, 64 * S, 0),
            ],
            &["0", "1"],
        ),
        sample("ssdsim", data!("ssdsim.txt"), ssdsim, &["0", "1"]),
        mqsim,
        sample(
            "flashsim",
            data!("flashsim.txt"),
            &[
                (26_214_000, Write, 303_574 * S, 4096, 0),
                (26_214_001, Read, 303_582 * S, 4096, 0),
                (26_300_000, Write, 303_590 * S, 4096, 0),
                (26_400_000, Write, 303_598 * S, 8192, 0),
            ],
            &["0"],
        ),
    ]
}

fn binary() -> Vec<Sample> {
    let vscsi: &[Row] = &[
        (1_000_000, Read, 63 * S, 4096, 0),
        (2_000_000, Write, 71 * S, 8192, 0),
        (3_000_000, Flush, 0, 0, 0),
    ];
    let commands =
        [(0x28, 4096, 63, 1000), (0x2a, 8192, 71, 2000), (0x35, 0, 0, 3000), (0x12, 36, 0, 4000)];
    let mut first = Vec::new();
    let mut second = Vec::new();
    for (command, len, block, time_us) in commands {
        first.extend(vscsi1(command, len, block, time_us));
        second.extend(vscsi2(command, len, block, time_us));
    }
    let blktrace: &[Row] = &[
        (200, Read, 100 * S, 4096, 0),
        (400, Write, 200 * S, 8192, 0),
        (500, Flush, 0, 0, 1),
        (600, Trim, 300 * S, 65_536, 0),
    ];
    let devices: &[&str] = &["8,17", "8,0"];
    let srt: &[Row] =
        &[(5_000_007_000, Read, 1056 * 256, 4096, 0), (6_000_000_000, Write, 10 * 1024, 512, 1)];
    let kinds = sample("srt-kinds", srt_sample(), srt, &["0-metadata", "1-paging"]);
    vec![
        sample("vscsi", first, vscsi, &["0"]),
        sample("vscsi", second, vscsi, &["0"]),
        sample("lcs", lcs(2, 8192), LCS, &["0", "7"]),
        sample("lcs", lcs(3, 1024), LCS, &["0", "7"]),
        sample("lcs", lcs(6, 8192), LCS, &["0", "7"]),
        sample("blktrace", blktrace_sample(false), blktrace, devices),
        sample("blktrace", blktrace_sample(true), blktrace, devices),
        sample("srt", srt_sample(), srt, &["0", "1"]),
        Sample { guessed: Some("srt"), ..kinds },
    ]
}

/// Two sticks, in every form of a capture.
fn usb() -> Vec<Sample> {
    let sticks: &[Row] = &[
        (10_000_000, Write, 2048 * S, 4096, 0),
        (10_200_000, Read, 3 * 4096, 4096, 1),
        (21_000_000, Read, 63 * S, 1024, 0),
        (22_000_000, Flush, 0, 0, 0),
        (23_000_000, Trim, 4096 * S, 131_072, 0),
        (24_000_000, Write, 7 * 2048, 2048, 2),
    ];
    let session = usb::two_sticks();
    let mut all = vec![
        sample("usbmon", session.text(true), sticks, &["1.5", "1.6", "1.6.1"]),
        sample("usbmon", session.text(false), sticks, &["5", "6", "6.1"]),
    ];
    for file in usb::files() {
        let volumes = &["1.5", "1.6", "1.6.1"];
        all.push(sample("usb-pcap", session.capture(file), sticks, volumes));
    }
    const LARGE: u64 = 4096;
    let attached: &[Row] = &[
        (2_010_000, Write, 7 * LARGE, LARGE, 0),
        (2_020_000, Read, 8 * LARGE, 2 * LARGE, 0),
        (2_040_000, Trim, 16 * LARGE, 4 * LARGE, 0),
        (2_040_000, Trim, 32 * LARGE, 8 * LARGE, 0),
        (3_000_000, Flush, 0, 0, 0),
    ];
    let disk = usb::attached_disk();
    all.push(sample("usb-pcap", disk.capture(usb::files()[0]), attached, &["1.5"]));
    all
}

const LCS: &[Row] = &[
    (1_000_000_000, Write, 8 * S, 4096, 0),
    (2_000_000_000, Read, 16 * S, 512, 1),
    (2_000_000_000, Trim, 8 * S, 4096, 0),
];

/// The same requests in a version of LCS, and one without an operation on a device.
pub fn lcs(version: u64, header: usize) -> Vec<u8> {
    let magic = 0x1234_5678_9abc_def0_u64.to_le_bytes();
    let mut file = vec![0; header];
    file[..8].copy_from_slice(&magic);
    file[8..16].copy_from_slice(&version.to_le_bytes());
    file[header - 8..].copy_from_slice(&magic);
    for (seconds, object, size, op, tenant) in [
        (1_u32, 8_u64, 4096_u32, 13_u32, 0_u32),
        (2, 16, 512, 12, 7),
        (2, 1, 1, 0, 0),
        (2, 8, 4096, 9, 0),
    ] {
        file.extend(seconds.to_le_bytes());
        file.extend(object.to_le_bytes());
        file.extend(size.to_le_bytes());
        if version > 1 {
            file.extend(&[0; 4][..if version > 2 { 4 } else { 0 }]);
            file.extend((op | tenant << 8).to_le_bytes());
            file.extend(&[0; 4][..if version > 2 { 4 } else { 0 }]);
        }
        file.extend((-1_i64).to_le_bytes());
        if version > 3 {
            file.extend(vec![0; 4 << (version - 4)]);
        }
    }
    file
}

fn vscsi1(command: u16, len: u32, block: u64, time_us: u64) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend(7_u32.to_le_bytes());
    record.extend(len.to_le_bytes());
    record.extend(1_u32.to_le_bytes());
    record.extend(command.to_le_bytes());
    record.extend(0x100_u16.to_le_bytes());
    record.extend(block.to_le_bytes());
    record.extend(time_us.to_le_bytes());
    record
}

fn vscsi2(command: u16, len: u32, block: u64, time_us: u64) -> Vec<u8> {
    let mut record = Vec::new();
    record.extend(command.to_le_bytes());
    record.extend(0x200_u16.to_le_bytes());
    record.extend(7_u32.to_le_bytes());
    record.extend(len.to_le_bytes());
    record.extend(1_u32.to_le_bytes());
    record.extend(block.to_le_bytes());
    record.extend(time_us.to_le_bytes());
    record.extend(99_u64.to_le_bytes());
    record
}

/// A record of blktrace with a payload of `payload` bytes.
pub fn blktrace_record(
    big: bool,
    time: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
    payload: u16,
) -> Vec<u8> {
    let mut record = Vec::new();
    let mut word = |value: u64, size: usize| match big {
        true => record.extend(&value.to_be_bytes()[8 - size..]),
        false => record.extend(&value.to_le_bytes()[..size]),
    };
    word(0x6561_7407, 4);
    word(1, 4);
    word(time, 8);
    word(sector, 8);
    word(u64::from(bytes), 4);
    word(u64::from(action), 4);
    word(77, 4);
    word(u64::from(device), 4);
    word(3, 4);
    word(0, 2);
    word(u64::from(payload), 2);
    record.extend(std::iter::repeat_n(b'x', usize::from(payload)));
    record
}

fn blktrace_sample(big: bool) -> Vec<u8> {
    let device = 8 << 20 | 17;
    let record = |time, sector, bytes, action: u32, category: u32| {
        blktrace_record(big, time, sector, bytes, category << 16 | action, device, 0)
    };
    let mut all = Vec::new();
    // A process name, a queued and an issued read, a completion, a write with a payload, a flush of
    // another device, a discard, a SCSI command.
    all.extend(blktrace_record(big, 0, 0, 0, 0x400 << 16, device, 8));
    all.extend(record(100, 100, 4096, 1, 0x11));
    all.extend(record(200, 100, 4096, 7, 0x41));
    all.extend(record(300, 100, 4096, 8, 0x81));
    all.extend(blktrace_record(big, 400, 200, 8192, 0x42 << 16 | 7, device, 16));
    all.extend(blktrace_record(big, 500, 0, 0, 0x46 << 16 | 7, 8 << 20, 0));
    all.extend(record(600, 300, 65_536, 7, 0x2042));
    all.extend(record(700, 0, 36, 7, 0x241));
    all
}

fn srt_sample() -> Vec<u8> {
    let mut all = b"$$TR_IOREC-1.3 (IOAdaptor Upgrade Version)\nversion = 1.3;\ndisks = {\n\
        \t0 -> {\n\t\tadaptor = 1 -> { hp_ib , 1.2 , 250 },\n\t\tsectorsize  = 256,\n\t},\n\
        \t1 -> {\n\t\tsectorsize  = 1024,\n\t}\n};\n\x0c"
        .to_vec();
    let mut record = |words: &[u32]| all.extend(words.iter().flat_map(|word| word.to_be_bytes()));
    record(&[56, 0x4_0001, 5, 7, 174, 19_687, 4096, 1056, 0x0800_0007, 4, 1, 27, 0x23_000d, 1]);
    // A text record, then a write in a record of version 3.
    record(&[12, 0x4_0003, 0x6869_2121]);
    record(&[52, 0x3_0001, 6, 0, 1, 2, 512, 10, 0x0800_0107, 4, 0, 26, 0x7_0000]);
    all
}

/// Opens bytes as a trace.
pub fn open(bytes: &[u8], options: &ReadOptions) -> Result<Reader, TraceError> {
    read::open_stream(Cursor::new(bytes.to_vec()), "test", options)
}

/// All requests of a reader, and its final error.
pub fn drain(reader: &mut Reader, limit: usize) -> (Vec<Request>, Option<TraceError>) {
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        match reader.next_batch(&mut batch, limit) {
            Ok(()) if batch.is_empty() => return (all, None),
            Ok(()) => {
                assert!(batch.len() <= limit, "a batch of {} of {limit}", batch.len());
                all.extend_from_slice(&batch);
            }
            Err(error) => {
                assert!(batch.is_empty(), "an error beside requests");
                return (all, Some(error));
            }
        }
    }
}
