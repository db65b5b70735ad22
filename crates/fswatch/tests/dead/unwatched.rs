//! Without a file system to watch, the wrapper does nothing.

use thermocline_flash::Lpn;
use thermocline_fswatch::{Config, Watched};
use thermocline_ftl::{Inspect, Layer, PageIo};
use thermocline_testing::Draws;

use crate::{
    disk::{Drops, Model, SECTOR, stamp},
    tables_image::{LINUX, gpt, mbr},
};

const PAGES: u32 = 4096;

/// Some minutes of host activity on any layer.
fn drive<L: Layer>(layer: &mut L, first: &[(u64, [u8; SECTOR])], per_page: usize) {
    let mut draws = Draws(7);
    let size = per_page * SECTOR;
    let mut page = vec![0; size];
    (0..PAGES / 2).for_each(|lpn| layer.fill(Lpn(lpn), false, 0).expect("filled"));
    layer.upkeep().filled(0).expect("filled");
    for (sector, content) in first {
        let at = *sector as usize % per_page * SECTOR;
        if at == 0 {
            page.fill(0);
        }
        page[at..at + SECTOR].copy_from_slice(content);
        layer.write(Lpn((*sector / per_page as u64) as u32), &page, 0).expect("written");
    }
    for now in 0..20_000 {
        let lpn = Lpn(if draws.one_in(50) { 0 } else { draws.below(PAGES) });
        match draws.below(10) {
            // Behind a blank first sector an ext volume may begin, which is looked for.
            0 if lpn.0 > 0 => drop(layer.trim(lpn, now).expect("trimmed")),
            1..=3 => drop(layer.read(lpn, &mut page).expect("read")),
            4 => layer.write(lpn, &[], now).expect("written"),
            _ => {
                let content = stamp(now, lpn.0.into());
                page.chunks_exact_mut(SECTOR).for_each(|sector| sector.copy_from_slice(&content));
                layer.write(lpn, &page, now).expect("written");
            }
        }
    }
}

#[test]
fn a_disk_without_fat_costs_nothing() {
    for per_page in [1, 8] {
        let disks =
            [vec![], vec![(0, mbr(&[(0x82, 64, 1000)]))], vec![(0, stamp(1, 1)), (2, stamp(2, 2))]];
        for disk in disks {
            let model = || {
                let mut model = Model::new(PAGES, Drops::AtOnce);
                model.keeps_calls = true;
                model
            };
            let mut plain = model();
            drive(&mut plain, &disk, per_page);
            let mut watched =
                Watched::new(Box::new(model()), Config::new((per_page * SECTOR) as u32));
            drive(&mut watched, &disk, per_page);
            let dead = watched.dead_data().expect("counted");
            assert_eq!(dead.extra_reads, 0);
            assert_eq!((dead.armed, dead.disarmed, dead.sectors_marked), (0, 0, 0));
            assert!(dead.memory_bytes < 2 * (per_page * SECTOR) as u64 + 300, "{dead:?}");
            assert_eq!(watched.inspect().counters(), plain.counters());
            assert_eq!(watched.into_inner().calls, plain.calls);
        }
    }
}

#[test]
fn a_table_without_a_volume_is_read_only_when_it_or_the_place_of_one_is_written() {
    let mut layer =
        Watched::new(Box::new(Model::new(PAGES, Drops::AtOnce)), Config::new(SECTOR as u32));
    for (sector, content) in gpt(u64::from(PAGES), &[(LINUX, 64..4000)]) {
        layer.write(Lpn(sector as u32), &content, 0).expect("written");
    }
    let at_first = layer.dead_data().expect("counted").extra_reads;
    let mut draws = Draws(1);
    let mut of_head = 0;
    for now in 0..10_000 {
        let sector = 34 + draws.below(4000);
        // Up to the place of an ext superblock.
        of_head += u64::from((64..67).contains(&sector));
        layer.write(Lpn(sector), &stamp(now, 0), now).expect("written");
    }
    let reads = layer.dead_data().expect("counted").extra_reads - at_first;
    assert!(reads <= 3 * of_head && of_head > 0, "{reads} for {of_head}");
}

#[test]
fn a_blank_disk_is_looked_at_when_its_first_sectors_change() {
    let mut layer =
        Watched::new(Box::new(Model::new(PAGES, Drops::AtOnce)), Config::new(SECTOR as u32));
    (0..PAGES).for_each(|lpn| layer.write(Lpn(lpn), &[0; SECTOR], 0).expect("written"));
    let at_first = layer.dead_data().expect("counted").extra_reads;
    (3..PAGES).for_each(|lpn| layer.write(Lpn(lpn), &stamp(1, 1), 0).expect("written"));
    assert_eq!(layer.dead_data().expect("counted").extra_reads, at_first);
    layer.write(Lpn(2), &stamp(1, 1), 0).expect("written");
    assert!(layer.dead_data().expect("counted").extra_reads <= at_first + 4);
}

#[test]
fn pages_that_are_no_whole_sectors_are_never_watched() {
    for (page_size, sector_size) in [(0, 512), (512, 0), (768, 512), (512, 4096), (512, 256)] {
        let mut config = Config::new(page_size);
        config.sector_size = sector_size;
        let mut layer = Watched::new(Box::new(Model::new(PAGES, Drops::AtOnce)), config);
        drive(&mut layer, &[(0, mbr(&[(0x0c, 64, 1000)]))], 1);
        assert_eq!(layer.dead_data().expect("counted").extra_reads, 0);
    }
}
