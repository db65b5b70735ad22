//! The power is cut at every operation of hundreds of histories; and a chip fails in all ways that chips do.

mod cases;
mod chip;
mod faults;
mod histories;
mod nor;
mod promises;
mod snapshots;

use std::{env, ops::Range};

use thermocline_embedded::{
    conformance::{Bench, Report},
    policy::{
        Cat, CostBenefit, Dac, Greedy, HotCold, OneStream, Placement, UpdateInterval, Victim,
    },
};

/// The seeds of histories that are asked for: so many, or a range of them.
fn seeds() -> Option<Range<u64>> {
    let many = env::var("THERMOCLINE_FAULT_HISTORIES").ok()?;
    let (from, to) = many.split_once("..").unwrap_or(("0", &many));
    Some(from.parse().expect("a seed")..to.parse().expect("a seed"))
}

fn histories<V: Victim + Default, P: Placement + Default>(seeds: Range<u32>, failing: u32) {
    let mut bench = Box::new(Bench::new());
    let mut all = Report::default();
    for seed in seeds {
        let report =
            bench.cut_everywhere::<V, P>(seed, 120, failing).unwrap_or_else(|(fault, cut)| {
                panic!("history {seed}, cut at operation {cut}: {fault:?}")
            });
        all.operations += report.operations;
        all.cuts += report.cuts;
    }
    println!("{} operations, {} cuts", all.operations, all.cuts);
    assert!(all.cuts > 1000);
}

#[test]
fn greedy_with_one_stream() {
    histories::<Greedy, OneStream>(0..60, 0);
}

#[test]
fn cost_benefit_with_hot_and_cold() {
    histories::<CostBenefit, HotCold>(100..160, 0);
}

#[test]
fn cat_with_dac() {
    histories::<Cat, Dac<3>>(200..260, 0);
}

#[test]
fn update_intervals() {
    histories::<Greedy, UpdateInterval>(300..360, 0);
}

#[test]
fn with_programs_and_erases_that_fail() {
    histories::<Cat, Dac<2>>(400..480, 60);
}
