//! The cost of watching, in memory and reads, on a card of the thesis' size and on a large one.

use thermocline_ftl::DeadDataCounters;

use crate::{
    disk::{Disk, Drops, stamp},
    exfat_image::ExFatImage,
    fat_image::{END, Fat},
    tables_image::mbr,
};

/// Creates a file of as many clusters as a sector of the table describes and deletes it. Returns
/// the cost of each.
fn create_and_delete(disk: &mut Disk, fat: &Fat) -> [DeadDataCounters; 2] {
    let clusters = 128..256;
    let mut entries = fat.empty();
    let before = disk.dead();
    for cluster in clusters.clone() {
        disk.write(fat.cluster(cluster).start, &stamp(1, cluster.into()));
        entries[cluster as usize] = END;
    }
    (0..2).for_each(|copy| disk.write(fat.table(copy, 1), &fat.table_sector(&entries, 1)));
    let created = disk.dead();
    clusters.for_each(|cluster| entries[cluster as usize] = 0);
    (0..2).for_each(|copy| disk.write(fat.table(copy, 1), &fat.table_sector(&entries, 1)));
    [created.since(&before), disk.dead().since(&created)]
}

#[test]
fn a_cluster_costs_a_byte_and_a_write_of_the_table_a_read_or_two() {
    // 64 MiB with the smallest clusters, and 32 GB with the usual clusters of cards.
    for (megabytes, clusters, per_cluster) in [(64, 128_900, 1), (32_000, 975_000, 64)] {
        let fat = Fat::new(64, clusters, per_cluster);
        let sectors = fat.begin + fat.total();
        assert!(sectors * 512 < megabytes << 20);
        let mut disk = Disk::with(sectors, 1, Drops::AtOnce, |c| c.small_media = false);
        disk.write(0, &mbr(&[(0x0c, fat.begin, fat.total())]));
        disk.write_all(&fat.format());
        let [created, deleted] = create_and_delete(&mut disk, &fat);
        let memory = disk.dead().memory_bytes;
        eprintln!("{megabytes} MB: {memory} bytes; {created:?}; {deleted:?}");
        assert_eq!((created.extra_reads, created.sectors_marked), (2, 0));
        assert_eq!((deleted.extra_reads, deleted.sectors_marked), (4, 128));
        assert!(memory < u64::from(clusters) + 2048, "{memory} bytes");
    }
}

#[test]
fn a_write_of_the_bitmap_costs_one_read() {
    let image = ExFatImage::new(0, 1_000_000, 64);
    let mut disk = Disk::new(image.total(), 1);
    disk.write_all(&image.format());
    let mut used = image.empty();
    let before = disk.dead().extra_reads;
    for is_used in [true, false] {
        disk.write(image.cluster(500).start, &stamp(1, 1));
        used[500] = is_used;
        let sector = image.bitmap_sector(500);
        disk.write(sector, &image.bitmap_content(&used, sector));
    }
    assert_eq!(disk.dead().extra_reads - before, 2);
    assert!(disk.dead().memory_bytes < 1_000_000 + 4096, "{:?}", disk.dead());
}
