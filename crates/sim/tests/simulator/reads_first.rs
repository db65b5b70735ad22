//! Reads that pass programs, copies and erases.

use thermocline_flash::Suspend;
use thermocline_sim::{Clock, Device, Fill, Input, Job, Workload};
use thermocline_trace::Op;

use crate::common::{Ask, TIMING, device, done, job, policy, trace, write};

fn small(banks: u32, blocks_per_bank: u32) -> Device {
    let mut device = device("slc-generic", banks, banks);
    device.profile.geometry.blocks_per_bank = blocks_per_bank;
    device.profile.geometry.pages_per_block = 16;
    device.profile.timing = TIMING;
    device
}

fn uniform(interarrival_ns: Option<u64>, read_share: f64) -> Workload {
    Workload {
        spec: "uniform".parse().expect("a workload"),
        bytes: Some(8 << 20),
        request_bytes: None,
        interarrival_ns,
        read_share,
    }
}

#[test]
fn without_reads_nothing_changes() {
    for banks in [1, 4] {
        for interarrival in [None, Some(400_000), Some(4_000_000)] {
            let workload = uniform(interarrival, 0.0);
            for queue_depth in [Some(1), Some(3), None] {
                let job = Job {
                    queue_depth,
                    ..job(small(banks, 64), policy("greedy"), Input::Workload(&workload))
                };
                let (plain, first) = (done(&job), done(&Job { reads_first: Some(4), ..job }));
                assert!(plain.flash.pages_copied > 1000, "cleaning takes part");
                let case = format!("{banks} banks, {interarrival:?}, {queue_depth:?} deep");
                assert_eq!(first.response_us, plain.response_us, "{case}");
                assert_eq!(first.application, plain.application, "{case}");
                assert_eq!(first.elapsed_us, plain.elapsed_us, "{case}");
                assert_eq!(first.flash.reads_passing, Some(0), "{case}");
            }
        }
    }
}

#[test]
fn responses_are_those_of_a_schedule_computed_by_hand() {
    let read = |time_ns| Ask { time_ns, op: Op::Read, first: 0, pages: 1 };
    // Twelve programs of 238 us from 0 on; reads of 40 us.
    let asks = [write(0, 12), read(100_000), read(110_000), read(120_000), read(4_000_000)];
    let device = small(1, 64);
    let trace = trace(&asks, device.profile.geometry.page_size);
    let job = Job {
        fill: Fill::Nothing,
        clock: Some(Clock::Arrivals),
        ..job(device, policy("greedy"), Input::Trace(&trace, 1))
    };
    let responses = |reads_first, suspend| {
        let run = done(&Job { reads_first, suspend, ..job.clone() });
        let (read, write) = (run.response_us.read, run.response_us.write);
        let flash = run.flash;
        (read.mean.zip(read.max), write.max, flash.reads_passing.zip(flash.suspensions))
    };
    let mean = |of: [f64; 4]| of.iter().sum::<f64>() / 4.0;
    let written = 12.0 * 238.0;
    // In order of arrival the reads wait for all twelve.
    let waits = [written + 40.0 - 100.0, written + 80.0 - 110.0, written + 120.0 - 120.0, 40.0];
    assert_eq!(responses(None, None), (Some((mean(waits), waits[2])), Some(written), None));
    // Two reads after the first program, one after the second.
    let two = [238.0 + 40.0 - 100.0, 238.0 + 80.0 - 110.0, 2.0 * 238.0 + 120.0 - 120.0, 40.0];
    let end = Some(written + 120.0);
    assert_eq!(responses(Some(2), None), (Some((mean(two), two[2])), end, Some((3, 0))));
    // All three after the first program.
    let three = [two[0], two[1], 238.0 + 120.0 - 120.0, 40.0];
    assert_eq!(responses(Some(3), None), (Some((mean(three), three[2])), end, Some((3, 0))));
    // The first program stops at 100 us and the chip is ready at 120.
    let stopped = [20.0 + 40.0, 20.0 + 80.0 - 10.0, 20.0 + 120.0 - 20.0, 40.0];
    let (reads, end) = (Some((mean(stopped), stopped[2])), Some(written + 140.0));
    assert_eq!(responses(Some(3), Some(20_000)), (reads, end, Some((3, 1))));
}

#[test]
fn reads_no_longer_wait_for_cleaning() {
    let mut device = small(1, 64);
    let workload = uniform(Some(2_500_000), 0.5);
    let at = |device: &Device, reads_first| {
        let job = job(device.clone(), policy("greedy"), Input::Workload(&workload));
        done(&Job { reads_first, ..job })
    };
    let (plain, first) = (at(&device, None), at(&device, Some(8)));
    device.profile.suspend = Some(Suspend { program_ns: 20_000, erase_ns: 50_000 });
    let suspending = at(&device, Some(8));
    let p99 = |run: &thermocline_sim::RunResult| run.response_us.read.p99.expect("reads");
    println!("{} {} {}", p99(&plain), p99(&first), p99(&suspending));
    // Without suspension a read may arrive at the begin of an erase.
    assert!(p99(&plain) > 2.0 * 1_503.0 && p99(&first) < 1_503.0 + 4.0 * 40.0);
    assert!(p99(&suspending) < 50.0 + 4.0 * 40.0);
    assert_eq!(first.flash.blocks_erased, plain.flash.blocks_erased, "the same work");
    assert_eq!(suspending.config.suspend_erase_us, Some(50.0));
}
