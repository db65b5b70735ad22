//! Figure 12 of the DAC paper: 24 MB card, 128 KB segments, 4 KB blocks, 90 % full; 40 MB each of
//! locality, uniform, the same locality and uniform traffic. Erases are within 4 % of an
//! independent simulation of the same mechanisms, on the device's clock with a threshold of ten
//! minutes.
//!
//! The paper publishes only percentages. For the adaptive policy they range from 15.97 to 22.55 %
//! fewer erases and 20.12 to 28.41 % fewer copies with 2 to 4 regions. The independent simulation
//! has 20.1 to 21.1 and 25.3 to 26.7 %; it does not reproduce the paper's spread over the regions
//! either.

use thermocline_sim::{Device, Fill, Input, Job, PolicySpec, Progress, RunResult, Workload, run};

const PHASES: &str = "phases:hot-cold:90/10@40MiB,uniform@40MiB,hot-cold:90/10@40MiB,uniform@40MiB";

fn figure_run(victim: &str, regions: usize, seed: u64) -> RunResult {
    let workload = Workload {
        spec: PHASES.parse().expect("a workload"),
        bytes: Some(160 << 20),
        request_bytes: None,
        interarrival_ns: None,
        read_share: 0.0,
    };
    let device = Device::load("intel-series2plus-24m").expect("built in");
    let placement = format!("dac(regions={regions}, threshold=600s)");
    let policy = PolicySpec::parse("dac", Some(victim), Some(&placement)).expect("a policy");
    let job = Job {
        fill: Fill::Share(0.9),
        check: true,
        seed,
        ..Job::new(device, policy, Input::Workload(&workload))
    };
    run(&job, &Progress::default()).expect("the paper's run")
}

/// The policies' erases with 1 to 4 regions.
const REFERENCE: [(&str, [f64; 4]); 4] = [
    ("greedy", [6538.0, 5805.0, 5833.0, 5906.0]),
    ("cost-benefit", [6344.0, 5211.0, 5185.0, 5232.0]),
    ("cat", [6330.0, 5120.0, 5049.0, 5089.0]),
    ("adaptive", [6320.0, 5051.0, 4984.0, 5029.0]),
];

#[test]
fn erases_are_in_their_bands_and_regions_pay() {
    let mut at_four = Vec::new();
    for (victim, expected) in REFERENCE {
        let runs = [1, 2, 3, 4].map(|regions| figure_run(victim, regions, 1));
        let erases = runs.each_ref().map(|r| r.flash.blocks_erased as f64);
        let copies = runs.each_ref().map(|r| r.flash.pages_copied as f64);
        println!("{victim}: E {erases:?} for {expected:?}, C {copies:?}");
        for (regions, (erases, expected)) in (1..).zip(erases.into_iter().zip(expected)) {
            let off = erases / expected - 1.0;
            let off_by = off * 100.0;
            assert!(off.abs() <= 0.04, "{victim}, {regions}: {erases}, off by {off_by:.1} %");
        }
        if victim == "adaptive" {
            for regions in 1..4 {
                let (fewer_erases, fewer_copies) =
                    (1.0 - erases[regions] / erases[0], 1.0 - copies[regions] / copies[0]);
                println!("{fewer_erases:.4} fewer erases, {fewer_copies:.4} fewer copies");
                assert!((0.18..0.23).contains(&fewer_erases), "{fewer_erases} fewer erases");
                assert!((0.23..0.285).contains(&fewer_copies), "{fewer_copies} fewer copies");
            }
        }
        at_four.push(runs[3].cleaning.cost);
    }
    // Greedy, cost-benefit, CAT, adaptive: each cheaper than the one before it.
    println!("costs with four regions: {at_four:?}");
    assert!(at_four.is_sorted_by(|dearer, cheaper| cheaper < dearer), "{at_four:?}");
}
