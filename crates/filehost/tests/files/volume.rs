//! The volume after all requests.

use super::traffic::{Fat, SECTOR, Sent, Traffic, VOLUME, image};
use std::{io::Write, path::PathBuf, process::Command};
use thermocline_filehost::{FileOptions, Scenario};
use thermocline_testing::program;
use thermocline_trace::Op;

/// The output of `fsck.fat` for a volume that must be sound.
fn checked(program: &PathBuf, volume: &[u8], what: &str) {
    let mut file = tempfile::NamedTempFile::new().expect("a file");
    file.write_all(volume).expect("written");
    let output = Command::new(program).arg("-nv").arg(file.path()).output().expect("it runs");
    let said = String::from_utf8_lossy(&output.stdout);
    let complaint = ["irty", "Free cluster summary", "ifferences", "FATs differ"]
        .into_iter()
        .find(|word| said.contains(word));
    assert!(output.status.success() && complaint.is_none(), "{what}: {said}");
}

#[test]
fn fsck_accepts_every_volume() {
    let Some(fsck) = program("fsck.fat") else { return };
    for scenario in Scenario::ALL {
        let traffic = Traffic::usual(scenario);
        for (when, end) in [("prelude", traffic.prelude), ("end", traffic.sent.len())] {
            let device = image(&traffic.sent[..end], VOLUME, false);
            let volume = &device[Fat::read(&device, true).first * SECTOR..];
            checked(&fsck, volume, &format!("{scenario} after the {when}"));
        }
    }
}

#[test]
fn fsck_accepts_volumes_of_other_sizes() {
    let fsck = program("fsck.fat");
    for (mib, partitioned, cluster) in [
        (34, true, 1),
        (34, false, 1),
        (64, true, 1),
        (65, true, 1),
        (128, false, 1),
        (300, true, 8),
    ] {
        let options =
            FileOptions { bytes: Some(1 << 20), partitioned, ..FileOptions::new(mib << 20) };
        let traffic = Traffic::of(Scenario::S2, &options);
        let device = image(&traffic.sent, mib << 20, false);
        let fat = Fat::read(&device, partitioned);
        assert!(fat.cluster >= cluster, "{mib} MiB: {}", fat.cluster);
        // The start of the partition aligns the data of cards.
        assert!(!partitioned || fat.data_start().is_multiple_of(64), "{mib} MiB");
        if let Some(fsck) = &fsck {
            checked(fsck, &device[fat.first * SECTOR..], &format!("{mib} MiB"));
        }
    }
}

#[test]
fn no_script_runs_out_of_room() {
    for scenario in Scenario::ALL {
        // The smallest volume, nearly full, is the critical case. The others show that the result
        // is no accident.
        for (mib, utilization, bytes) in
            [(34, 0.9, 30 << 20), (34, 0.5, 8 << 20), (100, 0.9, 8 << 20)]
        {
            let options = FileOptions {
                bytes: Some(bytes),
                utilization,
                seed: 3,
                ..FileOptions::new(mib << 20)
            };
            let traffic = Traffic::of(scenario, &options);
            let device = image(&traffic.sent[..traffic.prelude], mib << 20, false);
            let fat = Fat::read(&device, true);
            let used = fat.used(&device) as f64 / fat.clusters as f64;
            assert!((used - utilization).abs() < 0.005, "{scenario}: {used}");
        }
    }
}

#[test]
fn the_prelude_fills_four_fifths_and_the_script_keeps_them() {
    for scenario in Scenario::ALL {
        let traffic = Traffic::usual(scenario);
        for end in [traffic.prelude, traffic.sent.len()] {
            let device = image(&traffic.sent[..end], VOLUME, false);
            let fat = Fat::read(&device, true);
            let (directories, files) = fat.walk(&device);
            let of_files: usize = files.iter().map(Vec::len).sum();
            let used = fat.used(&device);
            assert_eq!(used, of_files + directories.len() / fat.cluster, "{scenario}: lost ones");
            let share = used as f64 / fat.clusters as f64;
            if end == traffic.prelude {
                assert!((0.8..0.802).contains(&share), "{scenario}: {share}");
            } else {
                // The next file may be missing: 32 MiB in s1.
                let least = if scenario == Scenario::S1 { 0.2 } else { 0.68 };
                assert!((least..0.802).contains(&share), "{scenario}: {share}");
            }
        }
        let deleted = traffic.tally.files_deleted;
        assert!(deleted > 0 && deleted < traffic.tally.files_created, "{scenario}: {deleted}");
    }
}

#[test]
fn freed_clusters_become_zeros_in_both_copies_of_the_fat() {
    for scenario in Scenario::ALL {
        let traffic = Traffic::usual(scenario);
        let mut device = image(&traffic.sent[..traffic.prelude], VOLUME, false);
        let fat = Fat::read(&device, true);
        // Entries that changed from non-zero to zero, in each copy.
        let mut freed = [0u64; 2];
        for Sent { request, bytes } in traffic.proper() {
            let Some(bytes) = bytes.as_ref().filter(|_| request.op == Op::Write) else { continue };
            for (i, new) in bytes.chunks(SECTOR).enumerate() {
                let sector = request.offset as usize / SECTOR + i;
                let old = &mut device[sector * SECTOR..][..SECTOR];
                if let Some(copy) = (0..2).find(|copy| fat.fat(*copy).contains(&sector)) {
                    freed[copy] += old
                        .chunks(4)
                        .zip(new.chunks(4))
                        .filter(|(old, new)| *old != [0; 4] && *new == [0; 4])
                        .count() as u64;
                }
                old.copy_from_slice(new);
            }
        }
        assert_eq!(freed[0], freed[1], "{scenario}");
        assert!(freed[0] > 1000, "{scenario}: {freed:?}");
        let [first, second] = [0, 1].map(|copy| fat.fat(copy));
        let bytes = |sectors: std::ops::Range<usize>| sectors.start * SECTOR..sectors.end * SECTOR;
        assert!(device[bytes(first)] == device[bytes(second)], "{scenario}");
    }
}

#[test]
fn contents_are_there_exactly_for_requests_that_touch_metadata() {
    for scenario in Scenario::ALL {
        let traffic = Traffic::usual(scenario);
        let all = image(&traffic.sent, VOLUME, false);
        let known = image(&traffic.sent, VOLUME, true);
        let fat = Fat::read(&all, true);
        let (directories, files) = fat.walk(&all);
        let same =
            |sector: usize| all[sector * SECTOR..][..SECTOR] == known[sector * SECTOR..][..SECTOR];
        assert!((0..fat.data_start()).chain(directories.iter().copied()).all(same), "{scenario}");
        assert!(files.len() > 3 && !directories.is_empty(), "{scenario}");
        // No script deletes a directory, but a directory may have grown into former clusters of a
        // file.
        for Sent { request, bytes } in &traffic.sent {
            let (first, end) = (request.offset as usize / SECTOR, request.offset + request.len);
            let end = end as usize / SECTOR;
            let metadata = first < fat.data_start() || directories.range(first..end).count() > 0;
            assert!(metadata || bytes.is_none(), "{scenario}: {request:?}");
            assert!(first >= fat.data_start() || bytes.is_some(), "{scenario}: {request:?}");
        }
    }
}

#[test]
fn the_boot_sector_is_written_when_the_volume_is_mounted_and_unmounted() {
    for scenario in Scenario::ALL {
        let traffic = Traffic::usual(scenario);
        let device = image(&traffic.sent, VOLUME, false);
        let boot = Fat::read(&device, true).first as u64 * SECTOR as u64;
        let states: Vec<u8> = traffic
            .proper()
            .iter()
            .filter(|sent| sent.request.op == Op::Write && sent.request.offset <= boot)
            .map(|sent| {
                let bytes = sent.bytes.as_ref().expect("metadata");
                bytes[(boot - sent.request.offset) as usize + 0x41]
            })
            .collect();
        assert_eq!(states, [1, 0], "{scenario}");
    }
}
