//! Ten printouts of each tool, modelled on public documentation and reports, and the findings in series of them.

use std::path::Path;

use thermocline_measured::{
    Imported, MeasuredError, Options, Reading, documents, formats, import, import_texts,
};

const UNIT: u64 = 512_000;
const MIB32: u64 = 32 << 20;
const GIB: u64 = 1 << 30;

fn data(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The readings of a file's printouts, and the remarks.
fn readings(name: &str) -> (Vec<Reading>, Vec<String>) {
    let texts = documents::files([data(name)]).expect("it is part of the crate");
    let mut notes = Vec::new();
    let documents = documents::split(&texts).expect("printouts");
    let read = documents.iter().flat_map(|one| formats::read(one, &mut notes).expect("known"));
    (read.collect(), notes)
}

type Expected = (Option<u64>, Option<u64>, Option<f64>);

fn says(reading: &Reading) -> Expected {
    let bytes = |count: &thermocline_measured::Count| {
        u64::try_from(count.raw * u128::from(count.unit)).expect("no drive wrote more")
    };
    (reading.host.as_ref().map(bytes), reading.physical.as_ref().map(bytes), reading.life_used)
}

fn check(name: &str, expected: [Expected; 10]) -> Vec<String> {
    let (readings, notes) = readings(name);
    let found: Vec<_> = readings.iter().map(says).collect();
    assert_eq!(found, expected, "{name}");
    notes
}

#[test]
fn data_units_of_nvme_are_thousands_of_512_bytes() {
    let host = |units: u64, used: f64| (Some(units * UNIT), None, Some(used));
    let notes = check(
        "nvme-smart-log.json",
        [
            host(64_663_716, 0.0),
            host(464_403_132, 3.0),
            host(1_474_968_593, 15.0),
            host(907_832, 0.0),
            host(27_054_698, 2.0),
            host(6_148_914_691, 101.0),
            host(118_830_112, 7.0),
            host(54_112_006, 1.0),
            host(1, 0.0),
            host(3_180_224, 44.0),
        ],
    );
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn physical_media_units_of_the_ocp_log_are_bytes() {
    let flash = |bytes: u64| (None, Some(bytes), None);
    let (readings, _) = readings("nvme-ocp-smart-add-log.json");
    // 2^64 and 5 bytes are more than 64 bits hold.
    let third = readings[2].physical.as_ref().expect("counted");
    assert_eq!(third.raw, (1 << 64) + 5);
    let rest: Vec<_> = readings.iter().enumerate().filter(|(at, _)| *at != 2).collect();
    let found: Vec<_> = rest.iter().map(|(_, reading)| says(reading)).collect();
    let expected = [
        flash(21_622_947_840),
        flash(2_068_700_589_752_320),
        flash(0),
        flash(104_857_600),
        flash(1 << 63),
        flash(130_199_846_912),
        flash(48_318_382_080),
        flash(41_842_507_776),
        (Some(40_001 * UNIT), Some(21_481_000_000), Some(0.0)),
    ];
    assert_eq!(found, expected);
    assert_eq!((readings[8].time, readings[9].time), (Some(30.0), Some(1_700_000_030.0)));
}

#[test]
fn attributes_count_in_the_units_of_their_names() {
    let notes = check(
        "smartctl.json",
        [
            // 64e9 sectors in 2e9 pages: 16 KiB each.
            (Some(64_000_000_000 * 512), Some(3_500_000_000 * 16384), Some(2.0)),
            (Some(2_856_519 * MIB32), Some(12_454_492 * MIB32), Some(3.0)),
            // Sectors by a general name, 32 MiB by what 225 says.
            (Some(129_493 * MIB32), None, Some(0.0)),
            (Some(3980 * GIB), Some(9790 * GIB), Some(12.0)),
            (Some(63_180_483_059 * 512), Some(64_213_448_960 * 512), Some(1.0)),
            (Some(4000 * GIB), Some(6000 * GIB), Some(1.0)),
            (Some(30_245 * MIB32), Some(137_733 * MIB32), None),
            (Some(216_456_537_880 * 512), None, Some(48.0)),
            (Some(27_054_698 * UNIT), None, Some(0.0)),
            (Some(118_830_112 * UNIT), None, Some(7.0)),
        ],
    );
    assert!(
        notes.iter().any(|note| note.contains("GB of the flash are taken as GiB")),
        "{notes:?}"
    );
    let (readings, _) = readings("smartctl.json");
    assert_eq!(readings[1].drive.as_deref(), Some("INTEL SSDSC2KB019T8"));
    let what = &readings[0].physical.as_ref().expect("counted").what;
    assert!(what.contains("16384 bytes") && what.contains("TN-FD-23"), "{what}");
}

#[test]
fn an_emmc_tells_its_life_in_steps_of_a_tenth() {
    let (mut readings, _) = readings("ext-csd.txt");
    readings.extend(self::readings("life_time").0);
    let lives: Vec<_> = readings.iter().map(|reading| reading.life_used).collect();
    let expected = [10.0, 20.0, 10.0, 30.0, 100.0, 110.0, 20.0, 60.0, 70.0, 40.0];
    assert_eq!(lives, expected.map(Some));
    assert_eq!((readings[0].place.line, readings[1].place.line), (2, 13));
}

fn text(text: &str) -> Result<Imported, MeasuredError> {
    import_texts([("run.csv", text)], &Options::default())
}

fn curve(imported: &Imported) -> Vec<(u64, u64)> {
    imported.measurement.curve().expect("both are counted")
}

#[test]
fn tables_are_read_whatever_their_columns_are_called() {
    let all = [
        "seconds,host_bytes,physical_bytes\n0,0,0\n30,1000,2000\n60,2000,4000\n",
        "seconds,host_bytes,physical_bytes\r\n0,0,0\r\n30,1000,2000\r\n60,2000,4000\r\n",
        "# drive: X\nseconds,host_bytes,physical_bytes\n0,0,0\n\n30,1000,2000\n60,2000,4000\n",
        "time_s;nand_bytes;host_bytes_written\n0;7;9\n30;2007;1009\n60;4007;2009\n",
        "Timestamp\tHost Bytes Written\tMedia Bytes Written\n5\t0\t0\n35\t1000\t2000\n65\t2000\t4000\n",
        "elapsed,physical_bytes,host_bytes\n60,4000,2000\n0,0,0\n30,2000,1000\n",
        "t,host_bytes,physical_bytes,percent_used\n0,0,0,1\n30,1000,2000,1\n60,2000,4000,2\n",
        "seconds,host_written_bytes,physical_written_bytes\n0,1e3,0\n30,2000,2000\n60,3000,4e3\n",
        "\"seconds\",\"host_bytes\",\"physical_bytes\"\n0,0,0\n30,1000,2000\n60,2000,4000\n",
        "seconds,host_bytes,temperature,physical_bytes\n0,0,31,0\n30,1000,32,2000\n60,2000,33,4000\n",
    ];
    for table in all {
        let imported = text(table).unwrap_or_else(|e| panic!("{table}: {e}"));
        assert_eq!(curve(&imported), [(0, 0), (1000, 2000), (2000, 4000)], "{table}");
        let seconds: Vec<_> = imported.measurement.points.iter().map(|p| p.seconds).collect();
        assert_eq!(seconds, [0.0, 30.0, 60.0]);
    }
}

#[test]
fn a_measurement_is_the_same_after_it_was_written_and_read() {
    let imported = text(
        "# drive: Some Drive\nseconds,host_bytes,physical_bytes,percent_used\n0,0,0,1\n\
         30.5,9007199254740993,18014398509481987,1\n",
    );
    let imported = imported.expect("a table").measurement;
    assert_eq!(imported.points[1].host_bytes, Some(9_007_199_254_740_993));
    assert_eq!(imported.drive.as_deref(), Some("Some Drive"));
    for (name, text) in [("a.csv", imported.csv()), ("a.json", imported.json())] {
        let again = import_texts([(name, text.as_str())], &Options::default()).expect(name);
        assert_eq!(again.measurement, imported, "{name}");
        assert!(again.notes.is_empty(), "{:?}", again.notes);
    }
}

#[test]
fn a_wrap_is_undone_and_a_reset_is_not() {
    let wrapped = "seconds,host_bytes,physical_bytes\n0,4294960000,0\n1,4294967000,9000\n\
                   2,704,20000\n3,8704,30000\n";
    let imported = text(wrapped).expect("a wrap");
    assert_eq!(curve(&imported).last(), Some(&(16_000, 30_000)));
    let note = imported.notes.join("\n");
    assert!(note.contains("run.csv:4") && note.contains("wrapped at 2^32"), "{note}");
    let reset = "seconds,host_bytes,physical_bytes\n0,5000,5000\n1,6000,7000\n2,0,0\n3,500,900\n\
                 4,4000,7200\n";
    let imported = text(reset).expect("a reset");
    assert_eq!(curve(&imported), [(0, 0), (500, 900), (4000, 7200)]);
    let note = imported.notes.join("\n");
    assert!(note.contains("run.csv:4: host_bytes falls from 6000 to 0"), "{note}");
    assert!(note.contains("run.csv:4 to run.csv:6"), "{note}");
}

#[test]
fn a_counter_that_stands_still_is_named() {
    let lagging = "seconds,host_bytes,physical_bytes\n0,0,0\n10,100,0\n20,200,0\n30,300,600\n\
                   40,400,600\n50,500,600\n60,600,1200\n";
    let imported = text(lagging).expect("it lags");
    assert_eq!(curve(&imported), [(0, 0), (300, 600), (600, 1200)]);
    let note = imported.notes.join("\n");
    assert!(
        note.contains("run.csv:3") && note.contains("4 of 7") && note.contains("30 s"),
        "{note}"
    );
    // While the host rests nothing stands still.
    let resting = "seconds,host_bytes,physical_bytes\n0,0,0\n10,100,200\n20,100,200\n30,200,400\n";
    let imported = text(resting).expect("a rest");
    assert!(imported.notes.is_empty() && imported.measurement.points.len() == 4);
    let dead = "seconds,host_bytes,physical_bytes\n0,0,77\n10,100,77\n20,200,77\n";
    let error = text(dead).expect_err("it never counts").to_string();
    assert!(error.starts_with("run.csv:4: ") && error.contains("stands still at 77"), "{error}");
}

#[test]
fn logs_of_two_tools_in_a_folder_become_one_measurement() {
    let folder = tempfile::tempdir().expect("a folder");
    let put = |name: String, text: String| {
        std::fs::write(folder.path().join(name), text).expect("written");
    };
    for at in 0..5_u64 {
        let time = 1_700_000_000 + 10 * at;
        put(format!("smart-{time}.json"), format!("{{\"data_units_written\": {}}}", 100 + at));
        let bytes = at * 900_000;
        let log = format!("{{\"physical_media_units_written\": {{\"hi\": 0, \"lo\": {bytes}}}}}");
        put(format!("ocp-{}.json", time + 5), log);
    }
    let imported = import([folder.path()], &Options::default()).expect("a series");
    let points = &imported.measurement.points;
    // Between two of the host's readings, in proportion; none after the last.
    assert_eq!(curve(&imported).first(), Some(&(0, 0)));
    assert_eq!(curve(&imported).last(), Some(&(3 * UNIT, 3 * 900_000)));
    assert_eq!(points.iter().map(|p| p.seconds).collect::<Vec<_>>(), [0.0, 10.0, 20.0, 30.0]);
    assert!(imported.measurement.counters[0].contains("512,000"), "{:?}", imported.measurement);
}

#[test]
fn printouts_without_times_need_the_time_between_them() {
    let log = |units: u64, bytes: u64| {
        format!(
            "{{\"data_units_written\": {units}}}\n{{\"physical_media_units_written\": \
             {{\"hi\": 0, \"lo\": {bytes}}}}}\n"
        )
    };
    let series = log(10, 1000) + &log(20, 9_000_000) + &log(40, 21_000_000);
    let error = import_texts([("log.json", series.as_str())], &Options::default());
    let error = error.expect_err("no times").to_string();
    assert!(error.starts_with("log.json:1: ") && error.contains("‹every›"), "{error}");
    let options = Options { every: Some(10.0) };
    let imported = import_texts([("log.json", series.as_str())], &options).expect("times");
    assert_eq!(curve(&imported), [(0, 0), (10 * UNIT, 8_999_000), (30 * UNIT, 20_999_000)]);
    assert_eq!(imported.measurement.points[2].seconds, 20.0);
}

#[test]
fn what_is_no_measurement_says_why() {
    let error = |text: &str| self::text(text).expect_err(text).to_string();
    assert!(error("").contains("nothing in it"));
    assert!(error("hello\n").contains("seconds,host_bytes,physical_bytes"));
    assert!(error("{\"temperature\": 309}").contains("no counter"));
    assert!(error("seconds,host_bytes\n0,0\n").contains("single reading"));
    assert!(error("seconds,host_bytes\n0,x\n").starts_with("run.csv:2: `x`"));
    let two = [
        ("a.json", "{\"time\": 1, \"model_name\": \"A\", \"data_units_written\": 1}"),
        ("b.json", "{\"time\": 2, \"model_name\": \"B\", \"data_units_written\": 2}"),
    ];
    let error = import_texts(two, &Options::default()).expect_err("two drives").to_string();
    assert!(error.starts_with("b.json:1: ") && error.contains("of B"), "{error}");
    let units = [
        ("a.json", "{\"time\": 1, \"data_units_written\": 1}"),
        ("b.csv", "time,host_bytes\n2,600000\n"),
    ];
    let error = import_texts(units, &Options::default()).expect_err("two units").to_string();
    assert!(error.contains("other units"), "{error}");
    // In coarse steps a short run says little.
    let coarse = "{\"time\": 1, \"host_bytes_written\": {\"raw\": 5}}\n\
                  {\"time\": 2, \"host_bytes_written\": {\"raw\": 9}}";
    let imported = import_texts([("a.json", coarse)], &Options::default()).expect("two readings");
    assert!(imported.notes.join("").contains("only 4 of them"), "{:?}", imported.notes);
    let error = imported.measurement.curve().expect_err("no flash").to_string();
    assert!(error.contains("no physical_bytes") && error.contains("ocp"), "{error}");
}
