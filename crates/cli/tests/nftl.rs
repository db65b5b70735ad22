//! The block-mapped layer, idle time and dead data: messages about options that do not apply.

mod common;

use common::{fails, json, thermocline};

const SMALL: [&str; 6] = ["run", "--workload", "uniform", "--capacity", "16MiB", "--policy"];

fn says(args: &[&str], part: &str) -> bool {
    let ran = thermocline(args);
    assert_eq!(ran.code, 0, "{args:?}: {}", ran.err);
    ran.err.contains(part)
}

#[test]
fn arguments_out_of_range_are_refused() {
    let with = |policy: &'static str| [&SMALL[..], &[policy]].concat();
    for (policy, what) in [
        ("fsaf(mu=1e300)", "`mu=1e300`: expected a share from 0 to 1"),
        ("fsaf(delta=-1)", "`delta=-1.0`: expected a share from 0 to 1"),
        ("combo(delta=0.1)", "`target=0.18`: expected a share from 0 to delta, which is 0.1"),
        ("slac(short=101)", "`short=101`: expected 0 to 100"),
        ("slac-thesis(short=101)", "`short=101`: expected 0 to 100"),
    ] {
        fails(2, &with(policy), &[what]);
    }
    let idle = [&with("nftl")[..], &["--idle", "bogus"]].concat();
    fails(2, &idle, &["there is no --idle `bogus`; none, timer or slac"]);
}

#[test]
fn two_blocks_are_spare_whatever_the_reserve() {
    let args = [&SMALL[..], &["nftl", "--fill", "100%", "--check", "--reserve"]].concat();
    for reserve in ["1", "2", "5"] {
        assert!(!says(&[&args[..], &[reserve]].concat(), "space"));
    }
}

#[test]
fn levelling_that_is_switched_off_is_not_claimed() {
    for (policy, leveling) in [("nftl", "gap"), ("nftl(gap=0)", "none"), ("cat", "swap")] {
        let result = json(&[&SMALL[..], &[policy, "--json"]].concat());
        assert_eq!(result["config"]["wear_leveling"], leveling);
    }
}

#[test]
fn options_that_change_nothing_are_told() {
    let low = [&SMALL[..], &["nftl", "--low", "4"]].concat();
    assert!(says(&low, "--low has no effect on nftl; it has thresholds of its own"));
    let low = [&SMALL[..], &["greedy", "--low", "4"]].concat();
    assert!(!says(&low, "changes nothing"));
    let idle = [&SMALL[..], &["greedy", "--idle", "timer"]].concat();
    assert!(says(&idle, "no idle time for greedy; it needs arrival times (--interarrival)"));
    let arrivals = [&idle[..], &["--interarrival", "100ms"]].concat();
    assert!(!says(&arrivals, "idle time"));
    // Pages that are updated in place leave nothing to clean.
    for (policy, idle) in [("in-place", false), ("greedy", true), ("nftl", true)] {
        let args = [&SMALL[..], &[policy, "--idle", "timer", "--interarrival", "1s", "--json"]];
        assert_eq!(json(&args.concat())["config"]["idle"].is_object(), idle, "{policy}");
    }
}

#[test]
fn a_file_system_made_before_the_statistics_begin_is_seen() {
    let files = ["--workload", "s2", "--capacity", "48MiB", "--bytes", "1MiB"];
    let run = [&["run", "--policy", "fsaf"], &files[..]].concat();
    assert!(!says(&run, "saw no FAT32"));
    let result = json(&[&run[..], &["--json", "-q"]].concat());
    assert_eq!(result["dead_data"]["armed"], 1);
    assert_eq!(result["dead_data"]["disarmed"], 0);
    assert_eq!(result["trace"]["path"], "s2 --bytes 1MiB");
    let both = ["compare", "--policies", "fsaf,nftl", "--workload", "uniform", "--bytes", "1MiB"];
    let both = [&both[..], &["--capacity", "48MiB", "--no-oracle"]].concat();
    assert!(says(&both, "patterns have none; use a file workload (s1, s2, ...)"));
    // What cannot be done with a workload is no remedy for it.
    fails(2, &[&run[..], &["--read-only", "10%"]].concat(), &["a trace or a file workload"]);
    fails(3, &[&run[..], &["--fill", "50%"]].concat(), &["s2", "--fill leaves", "leave it out"]);
    let full = ["run", "--policy", "fsaf", "--workload", "s2", "--capacity", "48MiB"];
    let ran = thermocline(&[&full[..], &["--over-provisioning", "0%"]].concat());
    assert!(ran.code == 3 && ran.err.contains("--over-provisioning"), "{}", ran.err);
    assert!(!ran.err.contains("--wrap"), "{}", ran.err);
}
