//! The life of a chip through the library alone: formatted, served, checked, repaired.

mod damage;
mod power;
mod reads;
mod room;
mod sectors;
mod small;
#[cfg(target_os = "linux")]
mod zones;

use tempfile::TempDir;
use thermocline_assembly::{
    Access, AssemblyError, Candidate, Device, FormatOptions, PolicySpec, Progress, ServeOptions,
    Verdict, check, device::Overrides, format, repair, status,
};
use thermocline_flash::{Flash, Lpn};
use thermocline_media::Place;
use thermocline_policy::{preset::LayerKind, trigger::Watermarks};

fn device() -> Device {
    let overrides = Overrides { capacity: Some(16 << 20), ..Overrides::default() };
    Device::load("slc-generic").and_then(|device| device.with(&overrides)).expect("64 blocks")
}

fn place(name: &str) -> Place {
    let Ok(place) = name.parse();
    place
}

fn options() -> FormatOptions {
    FormatOptions {
        device: device(),
        over_provisioning: 0.15,
        layer: LayerKind::PageMapped,
        preallocate: false,
        force: false,
    }
}

fn served() -> ServeOptions {
    ServeOptions {
        policy: PolicySpec::parse("dac", None, None).expect("a preset"),
        over_provisioning: 0.15,
        watermarks: Watermarks::default(),
        grouped: false,
        time_scale_ns: None,
        seed: 1,
        separate: Vec::new(),
        rebuild: false,
        map_cache: None,
    }
}

#[test]
fn a_chip_in_a_file_is_formatted_served_checked_and_repaired() {
    let folder = TempDir::new().expect("a folder");
    let chip = place(folder.path().join("chip").to_str().expect("UTF-8"));
    let made = format(&chip, &options()).expect("formatted");
    assert_eq!((made.blocks, made.chip_bytes), (64, 16 << 20));
    let access = Access::default();
    let found = Candidate::find(&chip, &access, || Err(AssemblyError::Interrupted));
    let served = found.and_then(|found| found.start(&access, &served(), |chip, _| chip));
    let mut served = served.expect("it is formatted");
    assert!(served.recovery.is_some_and(|recovery| recovery.clean));
    served.layer.write(Lpn(3), &[0x33; 4096], served.time_ns).expect("written");
    served.layer.upkeep().unmount(served.time_ns + 1).expect("unmounted");
    served.layer.chip_mut().sync().expect("synced");
    drop(served.layer);
    let progress = Progress::default();
    let report = check(&chip, false, &progress).expect("checked");
    assert_eq!((report.verdict(), report.pages_verified), (Verdict::Sound, 1));
    assert_eq!(progress.so_far().1, u64::from(made.logical_pages));
    let repaired = repair(&chip, &Access::default(), &progress).expect("repaired");
    assert!(repaired.lost.is_empty() && repaired.rolled_back.is_empty());
    assert_eq!(status(&chip).expect("mounted").pages_with_data, 1);
    let refused = format(&chip, &options()).expect_err("it is there");
    assert!(
        matches!(&refused, AssemblyError::Usage(text) if text.contains("‹force›")),
        "{refused}"
    );
    progress.cancel();
    let stopped = check(&chip, false, &progress).expect_err("cancelled");
    assert!(matches!(stopped, AssemblyError::Interrupted));
}

#[test]
fn a_chip_in_memory_is_made_when_it_is_served_and_not_before() {
    let chip = place("ram:");
    let refused = format(&chip, &options()).expect_err("it would be gone");
    assert!(matches!(&refused, AssemblyError::Usage(text) if text.contains("serve ram:")));
    let access = Access::default();
    let found: Result<_, AssemblyError> = Candidate::find(&chip, &access, || Ok(device()));
    let served = found.and_then(|found| found.start(&access, &served(), |chip, _| chip));
    let served = served.expect("it is made");
    assert!(served.recovery.is_none() && served.time_ns == 0);
    assert_eq!(served.device.profile.geometry.capacity(), 16 << 20);
}
