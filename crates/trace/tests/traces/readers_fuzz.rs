//! Readers on mutated samples: for any bytes they terminate without a panic, in bounded batches.
//!
//! Deterministic. `THERMOCLINE_FUZZ_SECONDS` runs every format for its share of this many seconds
//! instead of a fixed number of cases.

use std::{
    io::{Cursor, Write},
    time::{Duration, Instant},
};

use crate::common::samples;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};
use thermocline_trace::{
    Source,
    read::{self, Format, ReadOptions},
};

/// Cases for each format without a time limit.
const CASES: u32 = 2_000;

/// Requests in a batch. A small number makes batches end at unusual positions.
const LIMIT: usize = 7;

/// When to stop.
#[derive(Clone, Copy)]
struct Budget {
    seconds: Option<f64>,
    formats: usize,
}

impl Budget {
    fn of(formats: usize) -> Budget {
        let seconds = std::env::var("THERMOCLINE_FUZZ_SECONDS").ok();
        let seconds = seconds.map(|text| text.parse().expect("a number of seconds"));
        Budget { seconds, formats }
    }

    /// True until the format's share of cases or time is used up.
    fn left(self, case: u32, since: Instant) -> bool {
        match self.seconds {
            None => case < CASES,
            Some(seconds) => {
                since.elapsed() < Duration::from_secs_f64(seconds / self.formats as f64)
            }
        }
    }
}

/// Pieces that are edge cases for parsers: extreme numbers, separators, words of formats.
const PIECES: [&[u8]; 24] = [
    b"18446744073709551615",
    b"18446744073709551616",
    b"-1",
    b"9223372036854775808",
    b"0x",
    b"0xFFFFFFFFFFFFFFFF",
    b"1e308",
    b"nan",
    b".",
    b"",
    b"\"",
    b",",
    b";",
    b"\t",
    b"\r\n",
    b"\n\n",
    b"#",
    b"\xff\xfe",
    b"\x0c",
    b"+",
    b" + ",
    b"99999999999999999999.999999999999999999999",
    b"FWFSM",
    b"F",
];

/// A number below `bound`, which is small enough for the bias not to matter.
fn below(rng: &mut Xoshiro256PlusPlus, bound: usize) -> usize {
    (rng.next_u64() % bound as u64) as usize
}

/// A sample with one to eight mutations.
fn mutated(rng: &mut Xoshiro256PlusPlus, all: &[Vec<u8>], of: usize) -> Vec<u8> {
    let mut bytes = all[of].clone();
    for _ in 0..=below(rng, 8) {
        let at = below(rng, bytes.len() + 1);
        match below(rng, 8) {
            0 if at < bytes.len() => bytes[at] ^= 1 << below(rng, 8),
            1 if at < bytes.len() => bytes[at] = rng.next_u32() as u8,
            2 => bytes.truncate(at),
            3 => {
                let other = &all[below(rng, all.len())];
                let from = below(rng, other.len() + 1);
                let to = from + below(rng, other.len() + 1 - from);
                bytes.splice(at..at, other[from..to].iter().copied());
            }
            4 => {
                let to = bytes.len().min(at + below(rng, 40));
                bytes.drain(at..to);
            }
            5 => {
                let piece = PIECES[below(rng, PIECES.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            6 => {
                let to = bytes.len().min(at + below(rng, 16));
                let piece = PIECES[below(rng, PIECES.len())];
                bytes.splice(at..to, piece.iter().copied());
            }
            _ => {
                let noise: Vec<u8> = (0..below(rng, 64)).map(|_| rng.next_u32() as u8).collect();
                bytes.splice(at..at, noise);
            }
        }
        // Splices must not grow a case without bound.
        bytes.truncate(64 << 10);
    }
    bytes
}

/// Reads bytes to their end and checks the guarantees of a reader.
fn check(bytes: &[u8], options: &ReadOptions) {
    let Ok(mut reader) = read::open_stream(Cursor::new(bytes.to_vec()), "fuzz", options) else {
        return;
    };
    let mut batch = Vec::new();
    // No format yields more than one request for each byte.
    for _ in 0..=bytes.len() {
        let result = reader.next_batch(&mut batch, LIMIT);
        assert!(batch.len() <= LIMIT, "a batch of {}", batch.len());
        for (at, request) in batch.iter().enumerate() {
            if let Some(bytes) = reader.contents().of(at) {
                assert_eq!(bytes.len() as u64, request.len, "{request:?} and its contents");
            }
            assert!(request.offset.checked_add(request.len).is_some(), "{request:?} wraps");
            assert!(
                (request.volume as usize) < reader.volumes().len(),
                "{request:?} has no volume"
            );
        }
        match result {
            Ok(()) if !batch.is_empty() => {}
            Ok(()) => {
                reader.next_batch(&mut batch, LIMIT).expect("nothing after the end");
                assert!(batch.is_empty(), "requests after the end");
                reader.warnings();
                return;
            }
            Err(error) => {
                assert!(batch.is_empty(), "requests beside an error");
                assert!(!error.to_string().contains('\n'), "{error}");
                reader.next_batch(&mut batch, LIMIT).expect("nothing after an error");
                assert!(batch.is_empty(), "requests after an error");
                return;
            }
        }
    }
    panic!("the reader does not end");
}

#[test]
fn readers_survive_any_bytes() {
    let samples = samples();
    let all: Vec<Vec<u8>> = samples.iter().map(|sample| sample.bytes.clone()).collect();
    let budget = Budget::of(samples.len());
    for (of, sample) in samples.iter().enumerate() {
        let named = sample.format.parse::<Format>().expect("a known format");
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(of as u64);
        let since = Instant::now();
        let mut case = 0;
        while budget.left(case, since) {
            case += 1;
            let bytes = mutated(&mut rng, &all, of);
            let options = ReadOptions {
                format: Some(named.clone()),
                skip_bad_lines: case % 2 == 0,
                contents: case % 3 == 0,
                ..ReadOptions::default()
            };
            check(&bytes, &options);
            if case % 4 == 0 {
                check(&bytes, &ReadOptions { format: None, ..options });
            }
        }
    }
}

#[test]
fn every_format_survives_every_other_ones_traces() {
    let samples = samples();
    for format in Format::all() {
        for sample in &samples {
            for skip_bad_lines in [false, true] {
                let format = Some(format.clone());
                check(
                    &sample.bytes,
                    &ReadOptions { format, skip_bad_lines, ..ReadOptions::default() },
                );
            }
        }
    }
}

#[test]
fn descriptions_of_columns_survive_any_text() {
    let seed = "columns:sep=comma,skip=1,time=1:s,op=2:W/R/D,offset=3:sectors,size=4:4k,volume=5-6";
    let rows = b"a,b,c,d,e,f\n1.5,W,8,16,x,y\n2,R,8,16,x,y\n";
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(99);
    for _ in 0..CASES {
        let bytes = mutated(&mut rng, &[seed.as_bytes().to_vec()], 0);
        if let Ok(format) = String::from_utf8_lossy(&bytes).parse::<Format>() {
            check(rows, &ReadOptions { format: Some(format), ..ReadOptions::default() });
        }
    }
}

#[test]
fn decompressors_survive_any_bytes() {
    let rows = b"0,R,126703661056,4096,1577808000000046\n".repeat(200);
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 0);
    let mut bzip2 = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    for to in [&mut gzip as &mut dyn Write, &mut xz, &mut bzip2] {
        to.write_all(&rows).expect("writes");
    }
    let all = [
        gzip.finish().expect("ends"),
        xz.finish().expect("ends"),
        bzip2.finish().expect("ends"),
        zstd::encode_all(&rows[..], 1).expect("compresses"),
    ];
    let budget = Budget::of(samples().len());
    for of in 0..all.len() {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1000 + of as u64);
        let since = Instant::now();
        let mut case = 0;
        while budget.left(case, since) {
            case += 1;
            let bytes = mutated(&mut rng, &all, of);
            let mut reader = match read::open_stream(Cursor::new(bytes), "fuzz", &alibaba()) {
                Ok(reader) => reader,
                Err(_) => continue,
            };
            let mut batch = Vec::new();
            // A spliced stream may contain the rows several times, but not endlessly.
            let ended = (0..1_000_000).any(|_| {
                let result = reader.next_batch(&mut batch, 4096);
                assert!(batch.len() <= 4096);
                result.is_err() || batch.is_empty()
            });
            assert!(ended, "the reader does not end");
        }
    }
}

fn alibaba() -> ReadOptions {
    ReadOptions {
        format: Some("alibaba".parse().expect("a known format")),
        skip_bad_lines: true,
        ..ReadOptions::default()
    }
}
