//! A recorded stick, from a capture of the bus to dead data (FSAF): the host's reads after plugging
//! in give the device's content.

#[path = "../common/mod.rs"]
mod common;
mod stick;
mod usb;

use common::{done, file, folder, json, thermocline};
use serde_json::Value;
use stick::{Order, Stick};

const CLUSTERS: u64 = 100;
const SMALL_PAGES: [&str; 2] = ["--device", "toshiba-tc58dvm72-64m"];
const LARGE_PAGES: [&str; 2] = ["--device", "slc-generic"];

/// Somebody plugs it in, writes a file and deletes it.
fn session(per_cluster: u64, order: Order) -> Stick {
    let mut stick = Stick::formatted(per_cluster);
    stick.say_capacity();
    stick.plug_in();
    stick.create("photo.jpg", CLUSTERS, order);
    stick.delete("photo.jpg");
    stick
}

fn run(capture: &str, device: [&str; 2], more: &[&str]) -> Value {
    let args = ["run", "--trace", capture, "--json", "-q", "--check"];
    json(&[&args[..], &device, more].concat())
}

fn dead(result: &Value, key: &str) -> u64 {
    result["dead_data"][key].as_u64().unwrap_or_else(|| panic!("{key}: {result}"))
}

#[test]
fn a_deleted_file_is_found_in_a_capture() {
    let stick = session(1, Order::DataFirst);
    let sectors = stick.len();
    let folder = folder();
    let path = file(&folder, "stick.pcap", stick.unplug());
    let info: Value =
        serde_json::from_str(&done(&["trace", "info", &path, "--json"])).expect("JSON");
    assert!(info.to_string().contains("pcap"), "{info}");
    for policy in ["fsaf", "combo"] {
        let result = run(&path, SMALL_PAGES, &["--absolute", "--policy", policy]);
        // Its end was never touched, but the stick says how large it is.
        assert_eq!(result["config"]["logical_pages"], sectors);
        assert_eq!((dead(&result, "armed"), dead(&result, "disarmed")), (1, 0), "{result}");
        assert_eq!(dead(&result, "sectors_marked"), CLUSTERS, "{policy}");
        assert_eq!(dead(&result, "sectors_revived"), 0);
    }
    let plain = run(&path, SMALL_PAGES, &["--absolute", "--policy", "nftl"]);
    assert_eq!(plain["config"]["logical_pages"], sectors, "the same device for all");
    assert!(plain.get("dead_data").is_none());
    assert_eq!(
        plain["host"]["pages_written"],
        plain["host"]["bytes_written"].as_u64().expect("written") / 512
    );
}

#[test]
fn a_deleted_file_is_found_on_pages_of_several_sectors() {
    let folder = folder();
    let path = file(&folder, "stick.pcap", session(8, Order::DataFirst).unplug());
    for policy in ["greedy", "cat"] {
        let more = ["--absolute", "--policy", policy, "--dead-data", "fsaf"];
        let result = run(&path, LARGE_PAGES, &more);
        assert_eq!((dead(&result, "armed"), dead(&result, "disarmed")), (1, 0), "{result}");
        assert_eq!(dead(&result, "sectors_marked"), 8 * CLUSTERS, "{policy}");
        assert_eq!(result["dead_data"]["pages_left"].as_u64(), Some(0), "nothing was cleaned");
    }
}

#[test]
fn data_written_after_their_table_wait_for_another_write_of_it() {
    let mut stick = session(1, Order::TablesFirst);
    let folder = folder();
    let marked = |path: &str, guards: &str| {
        let more = ["--absolute", "--policy", "nftl", "--dead-data", guards];
        let result = run(path, SMALL_PAGES, &more);
        assert_eq!((dead(&result, "armed"), dead(&result, "disarmed")), (1, 0), "{result}");
        dead(&result, "sectors_marked")
    };
    let before = session(1, Order::TablesFirst).unplug();
    let before = file(&folder, "before.pcap", before);
    assert_eq!(marked(&before, "fsaf"), 0);
    // The thesis does not wait.
    assert_eq!(marked(&before, "fsaf(guards=thesis)"), CLUSTERS);
    // The next file's entry is in the same sector of the table; it takes the last cluster's.
    stick.create("b.txt", 1, Order::DataFirst);
    let after = file(&folder, "after.pcap", stick.unplug());
    assert!((CLUSTERS - 1..=CLUSTERS).contains(&marked(&after, "fsaf")));
}

#[test]
fn notes_say_what_a_watcher_lacked() {
    let folder = folder();
    let path = file(&folder, "stick.pcap", session(1, Order::DataFirst).unplug());
    // A recording that begins on a stick in use: the place of its tables is unknown.
    let mut late = Stick::formatted(1);
    late.create("photo.jpg", CLUSTERS, Order::DataFirst);
    late.delete("photo.jpg");
    let late = file(&folder, "late.pcap", late.unplug());
    // A recording without a capacity request and without access to the end of the stick.
    let mut small = Stick::formatted(1);
    small.plug_in();
    small.create("photo.jpg", CLUSTERS, Order::DataFirst);
    small.delete("photo.jpg");
    let small = file(&folder, "small.pcap", small.unplug());
    let note = "no FAT, exFAT, ext or NTFS file system";
    let said = |path: &str, more: &[&str]| {
        let args = ["run", "--trace", path, "--policy", "fsaf", "--json"];
        let ran = thermocline(&[&args[..], &SMALL_PAGES, more].concat());
        assert_eq!(ran.code, 0, "{}", ran.err);
        let result: Value = serde_json::from_str(&ran.out).expect("JSON");
        (ran.err, dead(&result, "armed"))
    };
    let (err, armed) = said(&path, &["--absolute"]);
    assert!(armed == 1 && !err.contains(note), "{err}");
    for (path, more) in [(&path, &[][..]), (&late, &["--absolute"]), (&small, &["--absolute"])] {
        let (err, armed) = said(path, more);
        assert_eq!(armed, 0);
        assert!(err.contains(note) && err.contains("--absolute"), "{err}");
        assert!(err.contains("plugged in"), "{err}");
    }
}

#[test]
fn a_comparison_reads_a_capture_once_for_those_who_look_and_those_who_do_not() {
    let folder = folder();
    let path = file(&folder, "stick.pcap", session(1, Order::DataFirst).unplug());
    let args = ["compare", "--trace", &path, "--absolute", "--policies", "nftl,fsaf,in-place"];
    let compare = |threads| {
        json(&[&args[..], &SMALL_PAGES, &["--no-oracle", "--json", "-q", threads]].concat())
    };
    let result = compare("-j2");
    let runs = result["runs"].as_array().expect("a list");
    assert_eq!(dead(&runs[1], "sectors_marked"), CLUSTERS);
    assert_eq!(runs[0]["host"], runs[1]["host"]);
    assert_eq!(runs[0], {
        let mut alone = run(&path, SMALL_PAGES, &["--absolute", "--policy", "nftl"]);
        alone["perf"] = runs[0]["perf"].clone();
        alone
    });
    assert_eq!(common::stable(result.clone()), common::stable(compare("-j1")));
}
