//! The power is cut at every operation of some hundred histories.

#![no_std]
#![no_main]

use core::fmt::Write;

use thermocline_embedded::{
    conformance::{Bench, Report},
    policy::{Cat, CostBenefit, Dac, Greedy, HotCold, OneStream, Placement, UpdateInterval, Victim},
};
use thermocline_on_target::{Outside, stack_used};

/// Histories of each policy, and requests of each.
const HISTORIES: u32 = 40;
const REQUESTS: u32 = 40;

static mut BENCH: Bench = Bench::new();

fn histories<V: Victim + Default, P: Placement + Default>(name: &str, first: u32, failing: u32) -> bool {
    // SAFETY: one thread runs here, and only this function takes it.
    let bench = unsafe { &mut *(&raw mut BENCH) };
    let mut all = Report::default();
    for seed in first..first + HISTORIES {
        match bench.cut_everywhere::<V, P>(seed, REQUESTS, failing) {
            Ok(report) => {
                all.operations += report.operations;
                all.cuts += report.cuts;
            }
            Err((fault, cut)) => {
                let _ = writeln!(Outside, "{name}: history {seed}, cut at {cut}: {fault:?}");
                return false;
            }
        }
    }
    let _ = writeln!(Outside, "{name}: {HISTORIES} histories, {} cuts, nothing lost", all.cuts);
    all.cuts > 1000
}

#[unsafe(no_mangle)]
extern "C" fn program() -> bool {
    let passed = histories::<Greedy, OneStream>("greedy", 0, 0)
        && histories::<CostBenefit, HotCold>("cost-benefit, hot/cold", 1000, 0)
        && histories::<Cat, Dac<3>>("CAT, DAC", 2000, 0)
        && histories::<Greedy, UpdateInterval>("greedy, update interval", 3000, 0)
        && histories::<Cat, Dac<2>>("CAT, DAC, with blocks that fail", 4000, 60);
    let _ = writeln!(Outside, "stack: {} bytes at most, test and all", stack_used());
    passed
}
