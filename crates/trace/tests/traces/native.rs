//! The native format: written data are read back, and damage is detected.

use proptest::prelude::*;
use thermocline_trace::{
    Op, Request, Source, TraceError,
    generate::{Generator, GeneratorOptions},
    native::{MAGIC, NativeReader, NativeWriter},
    write::{TraceWriter, copy},
};

fn write(batches: &[Vec<Request>], volumes: &[String]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = NativeWriter::with_origin(&mut bytes, "-", Some(1_234)).expect("memory");
    for batch in batches {
        writer.write_batch(batch, volumes).expect("memory");
    }
    writer.finish().expect("memory");
    drop(writer);
    bytes
}

fn read(bytes: &[u8]) -> Result<(Vec<Request>, Vec<String>), TraceError> {
    let mut reader = NativeReader::new(bytes, "trace.tct")?;
    let (mut all, mut batch) = (Vec::new(), Vec::new());
    loop {
        reader.next_batch(&mut batch, 1000)?;
        if batch.is_empty() {
            return Ok((all, reader.volumes().to_vec()));
        }
        all.extend_from_slice(&batch);
    }
}

fn sample(requests: u64) -> Vec<Request> {
    let mut state = 1u64;
    let mut next = move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    };
    (0..requests)
        .map(|i| Request {
            time_ns: i * 1_000_000 + next() % 500 * 1000,
            offset: next() % 100_000 * 4096,
            len: (1 + next() % 8) * 4096,
            volume: (next() % 3) as u32,
            op: [Op::Read, Op::Write][(next() % 2) as usize],
            hint: 0,
        })
        .collect()
}

#[test]
fn names_origin_and_requests_survive_the_native_format() {
    let requests = sample(40_000);
    let names = ["src1:0".to_string(), "ünï".into()];
    let batches: Vec<_> = requests.chunks(777).map(<[Request]>::to_vec).collect();
    let bytes = write(&batches, &names);
    assert_eq!(bytes[..8], MAGIC);
    let (back, volumes) = read(&bytes).expect("what was written");
    assert_eq!(back, requests);
    assert_eq!(volumes, ["src1:0", "ünï", "2"], "unnamed volumes are called by their number");
    let reader = NativeReader::new(&bytes[..], "-").expect("a header");
    assert_eq!(reader.origin_unix_ns(), Some(1_234));
    let per_request = bytes.len() as f64 / requests.len() as f64;
    assert!(per_request < 6.0, "{per_request} bytes a request");
}

#[test]
fn hints_that_stay_the_same_take_no_room() {
    let plain = sample(4_000);
    let hinted: Vec<_> = plain.iter().map(|request| Request { hint: 7, ..*request }).collect();
    let bytes = write(std::slice::from_ref(&hinted), &[]);
    assert_eq!(read(&bytes).expect("what was written").0, hinted);
    assert!(bytes.len() < write(&[plain], &[]).len() + 64, "{}", bytes.len());
}

#[test]
fn an_empty_trace_is_written_and_read() {
    assert_eq!(read(&write(&[], &[])).expect("empty"), (vec![], vec![]));
    let named = read(&write(&[vec![]], &["sda".into()])).expect("empty");
    assert_eq!(named, (vec![], vec!["sda".to_string()]));
}

#[test]
fn what_is_flushed_can_be_read_at_once() {
    let requests = sample(10);
    let mut bytes = Vec::new();
    let mut writer = NativeWriter::new(&mut bytes, "-").expect("memory");
    writer.write_batch(&requests, &[]).expect("memory");
    writer.flush().expect("memory");
    drop(writer);
    let mut reader = NativeReader::new(&bytes[..], "live").expect("a header");
    let mut batch = Vec::new();
    reader.next_batch(&mut batch, 100).expect("the block is complete");
    assert_eq!(batch, requests);
    let error = reader.next_batch(&mut batch, 100).expect_err("no end").to_string();
    assert!(
        error.contains(&format!("live: byte {}: the trace is cut off", bytes.len())),
        "{error}"
    );
    reader.next_batch(&mut batch, 100).expect("nothing follows an error");
    assert!(batch.is_empty());
}

#[test]
fn every_truncation_is_noticed() {
    let bytes = write(&[sample(300)], &["a".into()]);
    for end in 0..bytes.len() {
        let error = read(&bytes[..end]).expect_err("cut off").to_string();
        let expected = if end < 8 { "does not begin with TCTRACE1" } else { "cut off" };
        assert!(error.starts_with("trace.tct") && error.contains(expected), "{end}: {error}");
    }
}

#[test]
fn every_flipped_bit_is_noticed() {
    let bytes = write(&[sample(300)], &["a".into()]);
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(read(&damaged).is_err(), "bit {bit}");
    }
}

#[test]
fn damage_is_located() {
    let mut bytes = write(&[sample(40_000)], &[]);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    let error = read(&bytes).expect_err("damaged").to_string();
    let at: usize = error
        .split(": byte ")
        .nth(1)
        .and_then(|rest| rest.split(':').next()?.parse().ok())
        .expect("a byte offset");
    assert!(at < middle && middle - at < 100_000, "{error}");
    assert!(error.contains("checksum") && error.contains("is intact"), "{error}");
    let mut twice = write(&[sample(3)], &[]);
    twice.extend_from_within(..);
    assert!(read(&twice).expect_err("glued").to_string().contains("something follows the end"));
}

#[test]
fn sequential_writes_compress_to_almost_nothing() {
    let spec = "sequential".parse().expect("a workload");
    let options = GeneratorOptions { bytes: Some(100_000 << 12), ..GeneratorOptions::new(1 << 30) };
    let mut bytes = Vec::new();
    let mut writer = NativeWriter::new(&mut bytes, "-").expect("memory");
    let mut generator = Generator::new(&spec, &options).expect("a workload");
    assert_eq!(copy(&mut generator, &mut writer).expect("memory"), 100_000);
    drop(writer);
    assert!(bytes.len() < 1500, "{} bytes", bytes.len());
}

fn wild() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(0),
        Just(u64::MAX),
        any::<u64>(),
        0..100_000u64,
        (0..1000u64).prop_map(|n| n * 512)
    ]
}

fn any_request() -> impl Strategy<Value = Request> {
    let hint = prop_oneof![Just(0u16), 1..4u16, any::<u16>()];
    let all = (wild(), wild(), wild(), 0..20u32, 0..4usize, hint);
    all.prop_map(|(time_ns, offset, len, volume, op, hint)| {
        let op = [Op::Read, Op::Write, Op::Trim, Op::Flush][op];
        Request { time_ns, offset, len, volume, op, hint }
    })
}

proptest! {
    #[test]
    fn any_requests_survive_the_native_format(
        batches in prop::collection::vec(prop::collection::vec(any_request(), 0..50), 0..10),
        names in prop::collection::vec(".{0,9}", 0..25),
    ) {
        let (back, volumes) = read(&write(&batches, &names)).expect("what was written");
        prop_assert_eq!(back, batches.concat());
        // Names are written with the batches.
        let named = if batches.is_empty() { 0 } else { names.len() };
        prop_assert_eq!(&volumes[..named], &names[..named]);
    }

    #[test]
    fn regular_requests_survive_their_units(
        time_unit in 1..1_000_000u64, byte_unit in 1..100_000u64, base in any::<u32>(),
        steps in prop::collection::vec((0..50u64, 0..50u64, 0..9u64, 0..4usize), 1..200),
    ) {
        let requests: Vec<_> = steps.iter().map(|&(time, offset, len, op)| Request {
            time_ns: u64::from(base) + time * time_unit,
            offset: offset * byte_unit,
            len: len * byte_unit,
            volume: 0,
            op: [Op::Read, Op::Write, Op::Trim, Op::Flush][op], hint: 0,
        }).collect();
        let (back, _) = read(&write(std::slice::from_ref(&requests), &[])).expect("what was written");
        prop_assert_eq!(back, requests);
    }

    #[test]
    fn noise_is_refused_as_a_native_trace(noise in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(noise);
        prop_assert!(read(&bytes).is_err());
    }
}
