//! Whether a policy fits on a chip: the plan for a format, a server or a change of policy agrees with the
//! mount.

use thermocline_assembly::{Device, PolicySpec, Store, device::Overrides};
use thermocline_ftl::{Format, Mount};
use thermocline_media::{Medium, image::tape::Tape};
use thermocline_policy::{
    preset::{LayerKind, PRESETS},
    trigger::Watermarks,
};

/// Each device grows by two blocks this many times.
const STEPS: u64 = 9;

fn device(name: &str, banks: u64, blocks: u64) -> Option<Device> {
    let plain = Device::load(name).expect("a profile");
    let block = u64::from(plain.profile.geometry.pages_per_block)
        * u64::from(plain.profile.geometry.page_size);
    let overrides = match name {
        // Its shape is that of the data sheet.
        "intel-series2plus-24m" => {
            Overrides { capacity: Some(blocks * block), ..Overrides::default() }
        }
        _ => Overrides {
            capacity: Some(blocks * 8 * 512),
            block_size: Some(8 * 512),
            page_size: Some(512),
            banks: u32::try_from(banks).ok(),
            ..Overrides::default()
        },
    };
    plain.with(&overrides).ok()
}

/// Formats a store in the plainest way.
fn formatted(device: Device, over: f64) -> Option<(Store, Tape)> {
    let plainest = PolicySpec::parse("greedy", None, None).expect("a preset");
    let store = Store::fit(device, over, plainest).ok()?;
    let profile = &store.device.profile;
    let tape = Tape::blank(profile.kind, profile.geometry, profile.rules).expect("an image");
    let chip: Box<dyn Medium> = Box::new(tape.open().expect("opened"));
    let mut layer = store.format(chip, Format::default()).expect("it has room");
    layer.upkeep().unmount(0).expect("unmounted");
    layer.chip_mut().sync().expect("synced");
    Some((store, tape))
}

#[test]
fn a_policy_has_room_when_it_is_mounted_if_and_only_if_it_had_when_it_was_chosen() {
    let default = Watermarks::default();
    let asked = [default, Watermarks { reserve: 5, low: 6, high: 6 }];
    let (mut fits, mut not) = (0, 0);
    let devices = [("slc-generic", 1), ("slc-generic", 3), ("intel-series2plus-24m", 1)];
    for (step, (name, banks)) in (0..STEPS).flat_map(|step| devices.map(|kind| (step, kind))) {
        let over = [0.07, 0.15, 0.4][step as usize % 3];
        let made = device(name, banks, banks * (40 + 2 * step)).and_then(|d| formatted(d, over));
        let Some((plain, tape)) = made else { continue };
        let bytes = tape.bytes();
        for preset in PRESETS.iter().filter(|preset| preset.layer == LayerKind::PageMapped) {
            let policy = PolicySpec::parse(preset.name, None, None).expect("a preset");
            if policy.sees_future() {
                continue;
            }
            for watermarks in asked {
                let (device, pages) = (plain.device.clone(), plain.logical_pages);
                let store = Store { watermarks, ..Store::new(device, policy.clone(), pages) };
                let case = format!("{name}, step {step}, {}, {watermarks:?}", preset.name);
                let chip = Tape::of(bytes.clone()).open().expect("opened");
                let mounted = store.mount(Box::new(chip) as Box<dyn Medium>, Mount::Quick);
                match (store.plan(), mounted) {
                    (Ok(_), Ok((layer, _))) => {
                        assert!(!layer.inspect().is_read_only(), "{case}");
                        fits += 1;
                    }
                    (Err(planned), Err(mounted)) => {
                        assert_eq!(planned.to_string(), mounted.to_string(), "{case}");
                        not += 1;
                    }
                    (Ok(_), Err(e)) => panic!("{case}: it was to have room: {e}"),
                    (Err(e), Ok(_)) => panic!("{case}: it was to have none: {e}"),
                }
            }
        }
    }
    assert!(fits > 100 && not > 100, "{fits} and {not}");
}
