//! The DAC paper's regions under real traffic (Figure 7): a week of the personal workstation
//! `hplajw`, of which the paper had two months.
//!
//! The trace cannot be redistributed. It is looked for in the folder `THERMOCLINE_TRACES` names, else
//! in `../shared/traces` beside the repository; without it the test says so and passes. Directions
//! only are asserted: a week is a small part, and the card is the 24 MB one, on which the addresses
//! are taken modulo its size, and not one as large as the disk.

mod common;

use std::{env, path::PathBuf};

use common::job;
use thermocline_sim::{
    Device, Fill, Input, Job, PolicySpec, PreparedTrace, Progress, RunResult, TraceMapping,
    compare, device::Overrides,
};
use thermocline_trace::read::{self, ReadOptions};

const NAME: &str = "hp-hplajw-1992-1week.srt.zst";
const VICTIMS: [&str; 4] = ["greedy", "cost-benefit", "cat", "adaptive"];

fn week() -> Option<PreparedTrace> {
    let folder = env::var_os("THERMOCLINE_TRACES").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/traces"),
        PathBuf::from,
    );
    let path = folder.join(NAME);
    if !path.is_file() {
        eprintln!("skipped: {} is not there (set THERMOCLINE_TRACES)", path.display());
        return None;
    }
    let mut reader = read::open(path, &ReadOptions::default()).expect("a known format");
    let mapping = TraceMapping {
        page_size: 1024,
        absolute: false,
        written_only: false,
        read_modify_write: false,
    };
    let trace = PreparedTrace::prepare(&mut reader, NAME, mapping, &Progress::default());
    Some(trace.expect("a sound trace"))
}

#[test]
fn regions_save_copies_whatever_the_victim_policy() {
    let Some(week) = week() else { return };
    let card = Device::load("intel-series2plus-24m").expect("built in");
    let pages = Overrides { page_size: Some(1024), ..Overrides::default() };
    let card = card.with(&pages).expect("a card of 1 KiB pages");
    let policies = VICTIMS.into_iter().flat_map(|victim| {
        let regions = (1..=4).map(|regions| format!("dac(regions={regions})"));
        regions.chain(["one-stream".to_owned()]).map(move |placement| (victim, placement))
    });
    let jobs: Vec<Job<'_>> = policies
        .map(|(victim, placement)| {
            let policy = PolicySpec::parse("dac", Some(victim), Some(&placement));
            let policy = policy.expect("a policy");
            let fill = Fill::Share(0.85);
            Job { fill, wrap: true, ..job(card.clone(), policy, Input::Trace(&week, 1)) }
        })
        .collect();
    let runs = compare(&jobs, 2, &Progress::default()).expect("runs");
    println!("policy R: erasures copies cost (saved against R = 1), wear");
    for (victim, runs) in VICTIMS.into_iter().zip(runs.chunks(5)) {
        let copies: Vec<u64> = runs.iter().map(|run| run.flash.pages_copied).collect();
        let saved = |of: &dyn Fn(&RunResult) -> f64, run| 100.0 * (1.0 - of(run) / of(&runs[0]));
        for (regions, run) in (1..=4).zip(runs) {
            println!(
                "{victim} {regions}: {} {} {:.1} ({:.1} %, {:.1} %, {:.1} %), {:.2}, {:?}",
                run.flash.blocks_erased,
                run.flash.pages_copied,
                run.cleaning.cost,
                saved(&|run| run.flash.blocks_erased as f64, run),
                saved(&|run| run.flash.pages_copied as f64, run),
                saved(&|run| run.cleaning.cost, run),
                run.wear.stddev,
                run.cleaning.choices,
            );
        }
        // One region is no clustering at all.
        let bare = |run: &RunResult| {
            let mut json = run.stable_json();
            json.as_object_mut().expect("an object").remove("config");
            json
        };
        assert_eq!(bare(&runs[0]), bare(&runs[4]), "{victim} with one region and without any");
        assert!(copies[0] > 0, "{victim}: survivors are copied");
        for regions in 2..=4 {
            assert!(copies[regions - 1] < copies[0], "{victim}, {regions} regions: {copies:?}");
        }
    }
    println!("published, two months on 283 MB, adaptive: 20.8-21.6 %, 85.1-88.4 %, 30.8-32 %");
}
