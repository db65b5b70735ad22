//! Hostile disks: no image and no write makes the watcher panic, loop or use more memory.

use thermocline_testing::Draws;

use crate::{
    disk::{Disk, Drops, SECTOR, Sector, stamp},
    exfat_image::ExFatImage,
    fat_image::Fat,
    ntfs_image::{BITMAP, LOG, MFT, NtfsImage},
    tables_image::{BASIC_DATA, gpt, mbr},
};

const DEVICE: u64 = 16_384;

/// Valid images, and the locations of their metadata.
fn images() -> Vec<Vec<(u64, Sector)>> {
    let (a, b) = (Fat::new(300, 500, 4), Fat::new(4096, 1000, 1));
    let whole = Fat::new(0, 1000, 8);
    let exfat = ExFatImage::new(6144, 1000, 4);
    let mut chained = vec![
        (0, mbr(&[(0x0c, 300, a.total()), (0x0f, 4000, 12_000)])),
        (4000, mbr(&[(0x0b, 96, b.total()), (0x05, 2000, 8000)])),
        (6000, mbr(&[(0x07, 144, exfat.total() - 6144)])),
    ];
    let mut guided = gpt(
        DEVICE,
        &[(BASIC_DATA, 300..3000), (BASIC_DATA, 4096..5500), (BASIC_DATA, 6144..12_000)],
    );
    for image in [&mut chained, &mut guided] {
        image.extend(a.format());
        image.extend(b.format());
        image.extend(exfat.format());
    }
    let exfat = ExFatImage::new(0, 3000, 2).format();
    let mut ntfs = NtfsImage::new(0, 10_000, 1, true);
    ntfs.bitmap_runs = 2;
    let logless = NtfsImage::new(0, 1000, 8, false).format();
    vec![chained, guided, whole.format(), exfat, ntfs.format(), logless]
}

/// Changes a few bytes, mostly non-zero ones, to values that are likely to cause errors.
fn garble(sector: &mut Sector, draws: &mut Draws) {
    for _ in 0..1 + draws.below(4) {
        let mut at = draws.below(SECTOR as u32) as usize;
        if !draws.one_in(4) {
            let used = sector.iter().filter(|byte| **byte != 0).count() as u32;
            let nth = draws.below(used.max(1)) as usize;
            at = (0..SECTOR).filter(|i| sector[*i] != 0).nth(nth).unwrap_or(at);
        }
        let length = [1, 1, 2, 4, 8][draws.below(5) as usize].min(SECTOR - at);
        let value = match draws.below(6) {
            0 => 0,
            1 => u64::MAX,
            2 => u64::MAX >> draws.below(64),
            3 => 1 << draws.below(64),
            4 => u64::from(draws.below(DEVICE as u32)),
            _ => draws.next(),
        };
        sector[at..at + length].copy_from_slice(&value.to_le_bytes()[..length]);
    }
}

#[test]
fn no_image_does_harm() {
    let mut found = [0u32; 4];
    for (kind, image) in images().into_iter().enumerate() {
        let mut good = Disk::new(DEVICE, 1);
        good.write_all(&image);
        let expected = good.layer.volumes();
        assert_eq!(expected, [3, 3, 1, 1, 1, 1][kind]);
        for seed in 0..1000 {
            let mut draws = Draws(seed ^ (kind as u64) << 32);
            let per_page = [1, 1, 4, 8][draws.below(4) as usize];
            let drops = Drops::Sometimes(Draws(seed));
            let mut disk =
                Disk::with(DEVICE, per_page, drops, |c| c.small_media = !draws.one_in(4));
            let mut image = image.clone();
            for _ in 0..draws.below(4) {
                let at = draws.below(image.len() as u32) as usize;
                garble(&mut image[at].1, &mut draws);
            }
            disk.write_all(&image);
            disk = disk.power_cycle();
            found[disk.layer.volumes()] += 1;
            for now in 0..60 {
                let at = draws.below(image.len() as u32) as usize;
                let (sector, content) = &mut image[at];
                match draws.below(6) {
                    0 => disk.write(u64::from(draws.below(DEVICE as u32)), &stamp(now, seed)),
                    1 => disk.trim(u64::from(draws.below(DEVICE as u32))),
                    2 => disk.write(*sector, content),
                    3 => disk.write(*sector, &stamp(now, seed)),
                    _ => {
                        garble(content, &mut draws);
                        disk.write(*sector, content);
                    }
                }
                // A byte a cluster, with at most one cluster per sector, and several pages.
                assert!(disk.dead().memory_bytes < DEVICE + 64 * 1024, "{:?}", disk.dead());
            }
        }
    }
    assert!(found.iter().all(|count| *count > 100), "of every kind some: {found:?}");
}

#[test]
fn no_record_of_ntfs_does_harm() {
    let image = NtfsImage::new(0, 10_000, 1, false);
    let mut found = [0u32; 2];
    for seed in 0..4000 {
        let mut draws = Draws(seed);
        let number = [MFT, LOG, BITMAP][draws.below(3) as usize];
        let garbled = image.record_changed(number, |record| {
            let first = record.first_chunk_mut::<SECTOR>().expect("two sectors");
            garble(first, &mut draws);
        });
        let mut disk = Disk::new(DEVICE, 1);
        disk.write_all(&image.format());
        // It comes while the volume is watched, and then at power-up; the right one follows.
        for record in [garbled, image.record(number)] {
            for (sector, content) in (image.record_sector(number)..).zip(&record) {
                disk.write(sector, content);
            }
            disk = disk.power_cycle();
            found[usize::from(disk.is_watched())] += 1;
        }
        assert!(disk.is_watched());
    }
    assert!(found[0] > 1000 && found[1] > 4200, "{found:?}");
}

#[test]
fn noise_is_never_a_file_system() {
    for seed in 0..300 {
        let mut disk = Disk::new(2048, 1);
        for sector in 0..2048 {
            disk.write(sector, &stamp(sector, seed));
        }
        assert!(!disk.power_cycle().is_watched());
    }
}
