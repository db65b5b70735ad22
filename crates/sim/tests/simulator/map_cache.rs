//! Runs with the map on the chip: every count is checked at the end, and the cost falls as RAM
//! grows.

use thermocline_assembly::device::Overrides;
use thermocline_sim::{
    Device, Fill, Input, Job, PolicySpec, Progress, RunResult, SimError, Workload, run,
};

fn device(banks: u32) -> Device {
    let shape = Overrides {
        capacity: Some(16 << 20),
        page_size: Some(2048),
        block_size: Some(64 << 10),
        banks: Some(banks),
        ..Overrides::default()
    };
    Device::load("slc-generic").and_then(|device| device.with(&shape)).expect("a device")
}

fn run_with(
    (victim, placement): (&str, &str),
    workload: &str,
    map_cache: Option<u64>,
    banks: u32,
) -> Result<RunResult, SimError> {
    let policy = PolicySpec::parse("greedy", Some(victim), Some(placement)).expect("policies");
    let workload = Workload {
        spec: workload.parse().expect("a workload"),
        bytes: Some(48 << 20),
        request_bytes: None,
        interarrival_ns: None,
        read_share: 0.1,
    };
    let job = Job::new(device(banks), policy, Input::Workload(&workload));
    let job = Job { fill: Fill::Share(0.85), check: true, map_cache, ..job };
    run(&job, &Progress::default())
}

#[test]
fn all_policies_without_memory_per_page_run_and_come_near_those_with_the_map_in_ram() {
    for victim in ["greedy", "cost-benefit", "cat"] {
        for placement in ["one-stream", "sep-gc", "update-interval", "dac"] {
            for workload in ["uniform", "hot-cold:90/10"] {
                let on_chip = run_with((victim, placement), workload, Some(32 << 10), 1);
                let on_chip = on_chip.expect("it runs");
                let in_ram = run_with((victim, placement), workload, None, 1).expect("it runs");
                let map = on_chip.map.expect("the map is on the chip");
                assert!(in_ram.map.is_none());
                assert!(map.pages_programmed > 0 && map.reads > map.pages_programmed);
                assert!(map.ram_bytes < 40 << 10);
                let programs =
                    on_chip.flash.pages_copied + on_chip.host.pages_written + map.pages_programmed;
                assert_eq!(on_chip.flash.pages_programmed, programs);
                // A map of 11 pages on a small chip, and blocks that are partly cleaned.
                let ratio = on_chip.write_amplification.expect("pages were written")
                    / in_ram.write_amplification.expect("pages were written");
                assert!((0.75..1.25).contains(&ratio), "{victim} {placement} {workload}: {ratio}");
            }
        }
    }
}

#[test]
fn more_ram_means_fewer_pages_of_the_map() {
    let caches = [300, 1 << 10, 4 << 10, 16 << 10];
    let written = caches.map(|cache| {
        let result = run_with(("cat", "dac"), "uniform", Some(cache), 1).expect("it runs");
        result.map.expect("the map is on the chip").pages_programmed
    });
    assert!(written.is_sorted_by(|less, more| less > more), "{written:?}");
}

#[test]
fn what_it_cannot_run_is_refused_with_the_remedy() {
    let refused = |policies, cache, banks| {
        run_with(policies, "uniform", Some(cache), banks).expect_err("it is refused").to_string()
    };
    assert!(refused(("greedy", "sep-bit"), 1 << 14, 1).contains("one-stream, sep-gc"));
    assert!(refused(("fifo", "dac"), 1 << 14, 1).contains("greedy, cost-benefit, cat"));
    assert!(refused(("greedy", "dac"), 1 << 14, 2).contains("‹banks 1›"));
    assert!(refused(("greedy", "dac"), 60, 1).contains("at least"));
}
