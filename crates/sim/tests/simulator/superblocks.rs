//! Superblocks over banks, with and without parity: closed forms.

use thermocline_assembly::device::Overrides;
use thermocline_sim::{Device, Input, RunResult, Workload};

use crate::common::{done, job, policy};

fn device(banks: u32) -> Device {
    let shape = Overrides {
        capacity: Some(16 << 20),
        page_size: Some(2048),
        block_size: Some(32 << 10),
        banks: Some(banks),
        channels: Some(banks),
        ..Overrides::default()
    };
    Device::load("slc-generic").and_then(|device| device.with(&shape)).expect("a device")
}

fn under(spec: &str, device: Device) -> RunResult {
    let workload = Workload {
        spec: spec.parse().expect("a workload"),
        bytes: Some(64 << 20),
        request_bytes: None,
        interarrival_ns: None,
        read_share: 0.0,
    };
    done(&job(device, policy("greedy"), Input::Workload(&workload)))
}

/// One page of `n` is parity: `n - 1` hold data, and each of those costs `1 / (n - 1)` more.
#[test]
fn parity_takes_one_page_of_each_stripe() {
    for banks in [2, 4, 8] {
        let [plain, parity] = [false, true].map(|parity| {
            under("uniform", device(banks).superblocks(parity).expect("superblocks"))
        });
        let pages = |result: &RunResult| result.config.device.geometry.pages_per_block;
        assert_eq!((pages(&plain), pages(&parity)), (16 * banks, 16 * (banks - 1)));
        let shares = f64::from(banks - 1) / f64::from(banks);
        let logical = |result: &RunResult| result.config.logical_pages as f64;
        assert!((logical(&parity) / logical(&plain) - shares).abs() < 1e-3);

        let (programs, data) = (parity.flash.pages_programmed, u64::from(banks - 1));
        assert_eq!(parity.flash.parity_pages_programmed, Some(programs / data));
        let amplification = parity.write_amplification.expect("writes") / shares;
        let on_drive = parity.drive_write_amplification.expect("parity");
        assert!((on_drive / amplification - 1.0).abs() < 1e-12, "{on_drive} {amplification}");
        assert_eq!(plain.flash.parity_pages_programmed, None);
        assert_eq!(plain.drive_write_amplification, None);
    }
}

/// The banks of a superblock program in parallel: as fast as that many chips, one of which holds
/// parity.
#[test]
fn the_banks_of_a_superblock_work_together() {
    let speed = |device| under("sequential", device).throughput_kib_s.expect("time passes");
    let alone = speed(device(1));
    let [plain, parity] =
        [false, true].map(|parity| speed(device(8).superblocks(parity).expect("superblocks")));
    assert!((plain / alone / 8.0 - 1.0).abs() < 0.01, "{plain} {alone}");
    assert!((parity / plain * 8.0 / 7.0 - 1.0).abs() < 0.01, "{parity} {plain}");
}

#[test]
fn what_has_no_banks_to_put_together_is_refused() {
    let refused = |device: Device| device.superblocks(true).expect_err("refused").to_string();
    assert!(refused(device(1)).contains("two or more ‹banks›"));
    let drive = Device::load("micron-7450-800g").expect("built in");
    assert!(refused(drive).contains("superblocks already"));
    let twice = device(4).superblocks(true).expect("superblocks");
    assert!(refused(twice).contains("superblocks already"));
}
