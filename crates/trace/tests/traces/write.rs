//! The exact output of the text writers.

use std::{io::Cursor, path::Path};
use thermocline_trace::{
    Op, Request, Source, TraceError,
    read::{ReadOptions, open_stream},
    write::{FioVersion, OutputFormat},
};

fn sample() -> Vec<Request> {
    let request =
        |time_ns, op, volume, offset, len| Request { time_ns, offset, len, volume, op, hint: 0 };
    vec![
        request(5_000, Op::Write, 0, 4096, 512),
        request(6_999, Op::Read, 1, 0, 4096),
        request(6_000, Op::Trim, 1, 1 << 40, 1 << 30),
        request(8_000, Op::Flush, 0, 0, 0),
        request(u64::MAX, Op::Write, 2, u64::MAX, 1),
    ]
}

fn write(format: OutputFormat) -> String {
    let mut bytes = Vec::new();
    let names = ["hm,\"0\"".to_string(), "a b".into()];
    {
        let mut writer = format.writer(&mut bytes, Path::new("-"), None).expect("memory");
        let requests = sample();
        writer.write_batch(&requests[..1], &names[..1]).expect("memory");
        writer.write_batch(&requests[1..], &names).expect("memory");
        writer.finish().expect("memory");
    }
    String::from_utf8(bytes).expect("text")
}

#[test]
fn csv_rows_carry_time_operation_volume_offset_and_length() {
    assert_eq!(
        write(OutputFormat::Csv),
        "time_ns,op,volume,offset,len\n\
         5000,write,hm::0:,4096,512\n\
         6999,read,a b,0,4096\n\
         6000,trim,a b,1099511627776,1073741824\n\
         8000,flush,hm::0:,0,0\n\
         18446744073709551615,write,2,18446744073709551615,1\n"
    );
}

#[test]
fn hints_have_a_column_where_there_are_any() {
    let request = |hint| Request { hint, ..sample()[0] };
    let write = |batches: &[&[Request]]| {
        let mut bytes = Vec::new();
        let mut writer = OutputFormat::Csv.writer(&mut bytes, Path::new("-"), None)?;
        batches.iter().try_for_each(|batch| writer.write_batch(batch, &[]))?;
        writer.finish()?;
        drop(writer);
        Ok::<_, TraceError>(String::from_utf8(bytes).expect("text"))
    };
    let text = write(&[&[request(0), request(65535)], &[request(3)]]).expect("memory");
    assert_eq!(
        text,
        "time_ns,op,volume,offset,len,hint\n5000,write,0,4096,512,0\n5000,write,0,4096,512,65535\n\
         5000,write,0,4096,512,3\n"
    );
    let mut reader = open_stream(Cursor::new(text), "x.csv", &ReadOptions::default()).expect("csv");
    let mut back = Vec::new();
    reader.next_batch(&mut back, 10).expect("rows");
    assert_eq!(back, [request(0), request(65535), request(3)]);
    let late = write(&[&[request(0)], &[request(3)]]).expect_err("no column").to_string();
    assert!(late.contains("native format"), "{late}");
    assert_eq!(write(&[]).expect("memory"), "time_ns,op,volume,offset,len\n");
}

#[test]
fn fio_version_2_separates_requests_by_waits() {
    assert_eq!(
        write(OutputFormat::Fio(FioVersion::V2)),
        "fio version 2 iolog\n\
         hm,\"0\" add\nhm,\"0\" open\n\
         hm,\"0\" write 4096 512\n\
         a_b add\na_b open\n\
         a_b wait 1 0\n\
         a_b read 0 4096\n\
         a_b trim 1099511627776 1073741824\n\
         hm,\"0\" wait 2 0\n\
         hm,\"0\" sync 0 0\n\
         volume2 add\nvolume2 open\n\
         volume2 wait 18446744073709543 0\n\
         volume2 write 18446744073709551615 1\n\
         hm,\"0\" close\na_b close\nvolume2 close\n"
    );
}

#[test]
fn fio_version_3_stamps_every_request() {
    let text = write(OutputFormat::Fio(FioVersion::V3));
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(
        lines[..6],
        [
            "fio version 3 iolog",
            "0 hm,\"0\" add",
            "0 hm,\"0\" open",
            "0 hm,\"0\" write 4096 512",
            "0 a_b add",
            "0 a_b open",
        ]
    );
    assert_eq!(
        lines[6..9],
        ["1 a_b read 0 4096", "1 a_b trim 1099511627776 1073741824", "3 hm,\"0\" sync 0 0"]
    );
    assert!(!text.contains("wait"));
}

#[test]
fn every_output_format_is_found_by_its_name() {
    for format in OutputFormat::ALL {
        assert_eq!(format.to_string().parse::<OutputFormat>().expect("its own name"), format);
    }
    assert_eq!("FIO-v2".parse::<OutputFormat>().expect("alias"), OutputFormat::ALL[2]);
    let error: Result<OutputFormat, TraceError> = "xlsx".parse();
    assert!(error.expect_err("unknown").to_string().contains("expected native, csv, fio"));
}

#[test]
fn a_full_disk_is_an_io_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for format in OutputFormat::ALL {
        let error = format.writer(Full, Path::new("out.x"), None).err().expect("full").to_string();
        assert!(error.starts_with("out.x: "), "{error}");
    }
}

/// Reads the formats with this crate's own readers, which were written for other tools' files.
#[test]
fn every_output_format_reads_back_as_written() {
    let request =
        |time_ns, op, volume, offset, len| Request { time_ns, offset, len, volume, op, hint: 0 };
    let requests: Vec<_> = (0..2000u64)
        .map(|i| match i % 50 {
            7 => request(i * 3000, Op::Flush, (i % 2) as u32, 0, 0),
            9 => request(i * 3000, Op::Trim, 0, i << 20, 1 << 20),
            _ if i % 3 == 0 => request(i * 3000, Op::Read, 0, i << 12, 8192),
            _ => request(i * 3000, Op::Write, 1, i << 9, 512),
        })
        .collect();
    let names = ["sda".to_string(), "sdb".into()];
    let columns = "columns:skip=1,time=time_ns:ns,op=op,volume=volume,offset=offset,size=len";
    for (format, named) in [
        (OutputFormat::Native, None),
        (OutputFormat::Csv, Some(columns)),
        (OutputFormat::Fio(FioVersion::V2), None),
        (OutputFormat::Fio(FioVersion::V3), None),
    ] {
        let options = ReadOptions {
            format: named.map(|name| name.parse().unwrap_or_else(|error| panic!("{error}"))),
            ..ReadOptions::default()
        };
        let mut bytes = Vec::new();
        {
            let mut writer = format.writer(&mut bytes, Path::new("-"), None).expect("memory");
            writer.write_batch(&requests, &names).expect("memory");
            writer.finish().expect("memory");
        }
        let mut reader = open_stream(Cursor::new(bytes), "-", &options)
            .unwrap_or_else(|error| panic!("{format}: {error}"));
        let (mut back, mut batch) = (Vec::new(), Vec::new());
        loop {
            reader.next_batch(&mut batch, 100).unwrap_or_else(|error| panic!("{format}: {error}"));
            if batch.is_empty() {
                break;
            }
            back.extend_from_slice(&batch);
        }
        assert_eq!(Source::volumes(&reader), names, "{format}");
        assert_eq!(back.len(), requests.len(), "{format}");
        for (found, written) in back.iter().zip(&requests) {
            assert_eq!(found, written, "{format}");
        }
    }
}
