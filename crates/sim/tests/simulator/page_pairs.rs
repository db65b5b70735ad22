//! Lower and upper pages of cells of two bits.

use thermocline_flash::PagePairs;
use thermocline_sim::{Clock, Device, Fill, Input, Job, RunResult, Workload};

use crate::common::{Ask, TIMING, device, done, job, policy, trace, write};

const PAIRS: PagePairs = PagePairs { lower_us: 101.0, upper_us: 301.0 };

fn small(pairs: Option<PagePairs>) -> Device {
    let mut device = device("slc-generic", 1, 1);
    (device.profile.geometry.pages_per_block, device.profile.geometry.blocks_per_bank) = (16, 64);
    (device.profile.timing, device.profile.page_pairs) = (TIMING, pairs);
    device
}

#[test]
fn programs_take_the_time_of_their_page_in_its_pair() {
    let asks: Vec<Ask> = (0..6).map(|page| write(page, 1)).collect();
    let device = small(Some(PAIRS));
    let asked = trace(&asks, device.profile.geometry.page_size);
    let job = job(device, policy("greedy"), Input::Trace(&asked, 1));
    let result = done(&Job { fill: Fill::Nothing, clock: Some(Clock::Device), ..job });
    // Three pages of each kind, behind a transfer of 37 µs.
    assert_eq!(result.elapsed_us, 3.0 * (138.0 + 338.0));
    let response = &result.response_us.write;
    assert_eq!((response.mean, response.max), (Some(238.0), Some(338.0)));
}

fn mixed(pairs: Option<PagePairs>, reads_first: Option<u32>) -> RunResult {
    let workload = Workload {
        spec: "hot-cold:90/10".parse().expect("a workload"),
        bytes: Some(16 << 20),
        request_bytes: None,
        interarrival_ns: None,
        read_share: 0.2,
    };
    let job = job(small(pairs), policy("greedy"), Input::Workload(&workload));
    done(&Job { fill: Fill::Share(0.8), reads_first, ..job })
}

/// Blocks are written to their ends, so pages of both kinds are programmed and copied equally often.
#[test]
fn in_all_they_take_as_long_as_the_mean() {
    for reads_first in [None, Some(4)] {
        let (alike, pairs) = (mixed(None, reads_first), mixed(Some(PAIRS), reads_first));
        assert!(alike.flash.pages_copied > 1000);
        assert_eq!(alike.flash.blocks_erased, pairs.flash.blocks_erased);
        let ratio = pairs.elapsed_us / alike.elapsed_us;
        assert!((0.999..1.001).contains(&ratio), "{ratio}");
        assert_ne!(pairs.response_us.write.p50, alike.response_us.write.p50);
    }
}
