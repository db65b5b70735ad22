//! The DAC paper's regions under real traffic (Figure 7): a week of the personal workstation
//! `hplajw`, of which the paper had two months.
//!
//! The trace cannot be redistributed. The tests look for it in the folder given by
//! `THERMOCLINE_TRACES`, else in `../shared/traces` beside the repository; without it they say so
//! and pass. They assert directions and print published figures beside ours. The paper's flash was
//! as large as the disk, 283 MB. Two months wrote 4.7 times as much, and it was filled to 85 %.
//! This week writes 4.7 times 41 MiB, so one test has a card of that size, which holds all pages
//! written. The other has the 24 MB card, and takes all addresses, including those of reads, modulo
//! its size.

use crate::common::job;
use thermocline_assembly::device::Overrides;
use thermocline_sim::{
    Device, Fill, Input, Job, PolicySpec, PreparedTrace, Progress, RunResult, TraceMapping, compare,
};
use thermocline_testing::trace;
use thermocline_trace::read::{self, ReadOptions};

const NAME: &str = "hp-hplajw-1992-1week.srt.zst";
const VICTIMS: [&str; 4] = ["greedy", "cost-benefit", "cat", "adaptive"];

fn week(written_only: bool) -> Option<PreparedTrace> {
    let path = trace(NAME)?;
    let mut reader = read::open(path, &ReadOptions::default()).expect("a known format");
    let mapping = TraceMapping {
        page_size: 1024,
        absolute: false,
        written_only,
        read_modify_write: false,
        device_pages: 0,
        sample: None,
    };
    let trace = PreparedTrace::prepare(&mut reader, NAME, mapping, &Progress::default());
    Some(trace.expect("a sound trace"))
}

/// Runs of each victim policy with 1 to 4 regions, on a card of this many MiB, pages of 1 KiB,
/// segments of 128 KiB, filled to 85 %. Checks first that runs without DAC equal those with one
/// region.
fn figure_7(week: &PreparedTrace, mib: u64, wrap: bool) -> Vec<[RunResult; 4]> {
    let card = Device::load("intel-series2plus-24m").expect("built in");
    let overrides = Overrides {
        capacity: Some(mib << 20),
        page_size: Some(1024),
        block_size: Some(128 << 10),
        ..Overrides::default()
    };
    let card = card.with(&overrides).expect("a card of 1 KiB pages");
    let policies = VICTIMS.into_iter().flat_map(|victim| {
        let regions = (1..=4).map(|regions| format!("dac(regions={regions})"));
        regions.chain(["one-stream".to_owned()]).map(move |placement| (victim, placement))
    });
    let jobs: Vec<Job<'_>> = policies
        .map(|(victim, placement)| {
            let policy = PolicySpec::parse("dac", Some(victim), Some(&placement));
            let policy = policy.expect("a policy");
            let fill = Fill::Share(0.85);
            Job { fill, wrap, ..job(card.clone(), policy, Input::Trace(week, 1)) }
        })
        .collect();
    let mut runs = compare(&jobs, 2, &Progress::default()).expect("runs").into_iter();
    println!(
        "{mib} MiB, {} pages of {}, {} page writes: erasures copies cost wear (fewer than R = 1)",
        week.pages,
        runs.as_slice()[0].config.logical_pages,
        week.page_writes
    );
    let all = VICTIMS.map(|victim| {
        let with = [(); 4].map(|()| runs.next().expect("a run for each job"));
        let without = runs.next().expect("a run for each job");
        let bare = |run: &RunResult| {
            let mut json = run.stable_json();
            let parts = json.as_object_mut().expect("an object");
            parts.retain(|key, _| key != "config" && key != "memory");
            json
        };
        assert_eq!(bare(&with[0]), bare(&without), "{victim} with one region and without any");
        let figures = |run: &RunResult| {
            [run.flash.blocks_erased as f64, run.flash.pages_copied as f64, run.cleaning.cost]
        };
        let [erasures, copies, cost] = figures(&with[0]);
        for (regions, run) in (1..).zip(&with) {
            let [e, c, k] = figures(run);
            let fewer = |now: f64, then: f64| 100.0 * (1.0 - now / then);
            println!(
                "{victim} R = {regions}: {e} {c} {k:.0} {:.2} ({:.1} {:.1} {:.1} %) {:?}",
                run.wear.stddev,
                fewer(e, erasures),
                fewer(c, copies),
                fewer(k, cost),
                run.cleaning.choices
            );
        }
        with
    });
    println!("published, adaptive: 20.8-21.6, 85.1-88.4, 30.8-32 % fewer; CAT chosen 75-79 %");
    all.into()
}

/// More regions than one save erasures, copies and cost, for every victim policy.
fn assert_regions_pay(all: &[[RunResult; 4]]) {
    for (victim, runs) in VICTIMS.iter().zip(all) {
        let [one, more @ ..] = runs;
        assert!(one.flash.pages_copied > 0, "{victim}: survivors are copied");
        for (regions, run) in (2..).zip(more) {
            assert!(run.flash.pages_copied < one.flash.pages_copied, "{victim}, R = {regions}");
            assert!(run.flash.blocks_erased < one.flash.blocks_erased, "{victim}, R = {regions}");
            assert!(run.cleaning.cost < one.cleaning.cost, "{victim}, R = {regions}");
        }
    }
}

#[test]
fn regions_save_copies_on_the_24_mb_card() {
    let Some(week) = week(false) else { return };
    let all = figure_7(&week, 24, true);
    assert!(u64::from(week.pages) > u64::from(all[0][0].config.logical_pages), "it wraps");
    assert_regions_pay(&all);
}

#[test]
fn regions_save_copies_on_a_card_as_large_as_the_traffic_asks_for() {
    let Some(week) = week(true) else { return };
    let all = figure_7(&week, 41, false);
    assert!(u64::from(week.pages) <= u64::from(all[0][0].config.logical_pages), "all fits");
    assert_regions_pay(&all);
    // "With 4 regions each policy reached the best performance" of all.
    for (victim, runs) in VICTIMS.iter().zip(&all) {
        let costs = runs.each_ref().map(|run| run.cleaning.cost);
        assert!(costs[..3].iter().all(|&cost| cost > costs[3]), "{victim}: {costs:?}");
    }
    // The adaptive policy mostly detects locality.
    let choices = &all[3][3].cleaning.choices;
    assert!(choices["cat"] > 2 * choices["greedy"], "{choices:?}");
}
