//! Deleted files are found dead: which sectors, and when (conformance vector 7).

use crate::{
    disk::{Disk, Drops, Sector, stamp},
    fat_image::{END, Fat},
    tables_image::mbr,
};

/// A simple host that writes sectors in the given order.
struct Plain {
    disk: Disk,
    fat: Fat,
    entries: Vec<u32>,
}

impl Plain {
    fn new(fat: Fat, per_page: usize, drops: Drops) -> Self {
        let mut disk = Disk::with(fat.begin + fat.total() + 64, per_page, drops, |_| {});
        disk.write(0, &mbr(&[(0x0c, fat.begin, fat.total())]));
        disk.write_all(&fat.format());
        assert!(disk.is_watched());
        Self { disk, fat, entries: fat.empty() }
    }

    fn sector(&self, index: u32) -> Sector {
        self.fat.table_sector(&self.entries, index)
    }

    fn write_copy(&mut self, copy: u8, index: u32) {
        self.disk.write(self.fat.table(copy, index), &self.sector(index));
    }

    fn flush_table(&mut self, index: u32) {
        for copy in 0..self.fat.copies {
            self.write_copy(copy, index);
        }
    }

    fn write_data(&mut self, cluster: u32) {
        for sector in self.fat.cluster(cluster) {
            self.disk.write(sector, &stamp(sector, 1));
        }
    }

    fn chain(&mut self, clusters: &[u32]) {
        for (i, cluster) in clusters.iter().enumerate() {
            self.entries[*cluster as usize] = clusters.get(i + 1).copied().unwrap_or(END);
        }
    }

    fn free(&mut self, clusters: &[u32]) {
        clusters.iter().for_each(|cluster| self.entries[*cluster as usize] = 0);
    }

    fn create(&mut self, clusters: &[u32]) {
        clusters.iter().for_each(|cluster| self.write_data(*cluster));
        self.chain(clusters);
        self.flush_table(0);
    }

    fn reads(&mut self, cluster: u32) -> bool {
        self.fat.cluster(cluster).all(|sector| self.disk.read(sector) == stamp(sector, 1))
    }
}

#[test]
fn narrow_entries_are_read_and_one_that_lies_in_two_sectors_is_never_believed() {
    for (clusters, bits) in [(700, 12), (5000, 16)] {
        let mut host = Plain::new(Fat::narrow(64, clusters, 1, bits), 1, Drops::AtOnce);
        // FAT12's entry 341 has four bits in the first sector and eight in the second.
        let file = [10, 11, 255, 256, 340, 341, 342, 600];
        for _ in 0..2 {
            file.iter().for_each(|cluster| host.write_data(*cluster));
            host.chain(&file);
            (0..host.fat.table_sectors).for_each(|index| host.flush_table(index));
            host.free(&file);
            (0..host.fat.table_sectors).for_each(|index| host.flush_table(index));
        }
        let kept: Vec<u32> = file.into_iter().filter(|cluster| host.reads(*cluster)).collect();
        assert_eq!(kept, if bits == 12 { vec![341] } else { vec![] }, "FAT{bits}");
    }
}

#[test]
fn a_deleted_file_is_dead_when_both_copies_say_so() {
    for (per_cluster, per_page) in [(1, 1), (4, 1), (8, 8), (64, 8), (8, 4)] {
        // Aligned, so that pages do not cross the ends of clusters.
        let mut fat = Fat::new(64, 300, per_cluster);
        fat.reserved += (64 - (fat.heap() % 64) as u16) % 64;
        let mut host = Plain::new(fat, per_page, Drops::AtOnce);
        host.create(&[10, 11, 12]);
        host.free(&[10, 11, 12]);
        host.write_copy(0, 0);
        assert_eq!(host.disk.dead().sectors_marked, 0, "the second copy may still be used");
        host.write_copy(1, 0);
        assert_eq!(host.disk.dead().sectors_marked, 3 * u64::from(per_cluster));
        assert_eq!(host.disk.dropped(), 3 * u64::from(per_cluster));
        assert!((10..=12).all(|cluster| !host.reads(cluster)));
    }
}

#[test]
fn a_page_is_dead_when_all_of_its_clusters_are() {
    let mut fat = Fat::new(64, 300, 2);
    fat.reserved += (64 - (fat.heap() % 64) as u16) % 64;
    let mut host = Plain::new(fat, 8, Drops::AtOnce);
    // Clusters 6 to 9 form a page.
    host.create(&[6, 7, 8, 9]);
    for (freed, marked) in [(7, 0), (9, 0), (6, 0), (8, 8)] {
        host.free(&[freed]);
        host.flush_table(0);
        assert_eq!(host.disk.dead().sectors_marked, marked, "after cluster {freed}");
    }
    // One of them is reused. The page with the remains of the others becomes valid, and dies with
    // it.
    host.create(&[7]);
    host.free(&[7]);
    host.flush_table(0);
    assert_eq!(host.disk.dead().sectors_marked, 16);
}

#[test]
fn a_page_between_two_clusters_needs_both() {
    // The heap begins in the middle of a page.
    let mut fat = Fat::new(64, 300, 8);
    fat.reserved += (64 - (fat.heap() % 64) as u16) % 64 + 4;
    let mut host = Plain::new(fat, 8, Drops::AtOnce);
    host.create(&[10, 11, 12]);
    host.free(&[11]);
    host.flush_table(0);
    assert_eq!(host.disk.dead().sectors_marked, 0);
    assert!(host.reads(10) && host.reads(12));
    host.free(&[12]);
    host.flush_table(0);
    assert_eq!(host.disk.dead().sectors_marked, 8);
    assert!(host.reads(10));
}

#[test]
fn a_cluster_in_use_again_is_revived() {
    let mut host = Plain::new(Fat::new(64, 300, 4), 1, Drops::Never);
    host.create(&[10, 11]);
    host.free(&[10, 11]);
    host.flush_table(0);
    assert_eq!(host.disk.layer.inner().marked(), 8);
    // Undelete: the table says that the cluster is in use, and the data were not written again.
    host.chain(&[11]);
    host.write_copy(0, 0);
    assert_eq!(host.disk.layer.inner().marked(), 4, "one copy is enough to revive");
    assert_eq!(host.disk.dead().sectors_revived, 4);
    assert!(host.reads(11));
    // A write alone revives only what it writes.
    let first = host.fat.cluster(10).start;
    host.disk.write(first, &stamp(first, 1));
    assert_eq!(host.disk.layer.inner().marked(), 3);
}

#[test]
fn data_younger_than_the_table_are_believed_dead_one_write_later() {
    let mut host = Plain::new(Fat::new(64, 300, 1), 1, Drops::AtOnce);
    host.create(&[10]);
    host.write_data(10);
    host.free(&[10]);
    host.flush_table(0);
    assert_eq!(host.disk.dead().sectors_marked, 0, "the zero may be older than the data");
    host.chain(&[20]);
    host.flush_table(0);
    assert_eq!(host.disk.dead().sectors_marked, 1);
}

#[test]
fn only_the_active_table_counts_where_they_are_not_kept_alike() {
    for active in 0..2 {
        let mut fat = Fat::new(64, 300, 1);
        fat.flags = 0x80 | u16::from(active);
        let mut host = Plain::new(fat, 1, Drops::AtOnce);
        host.write_data(10);
        host.chain(&[10]);
        host.write_copy(active, 0);
        host.free(&[10]);
        host.write_copy(1 - active, 0);
        assert_eq!(host.disk.dead().sectors_marked, 0);
        host.write_copy(active, 0);
        assert_eq!(host.disk.dead().sectors_marked, 1);
    }
}

#[test]
fn the_root_directory_and_bad_clusters_never_die() {
    let mut host = Plain::new(Fat::new(64, 300, 1), 1, Drops::AtOnce);
    host.write_data(2);
    host.write_data(9);
    host.entries[9] = 0x0fff_fff7;
    host.flush_table(0);
    host.flush_table(0);
    host.entries[9] = 0;
    host.entries[2] = 0;
    host.flush_table(0);
    assert_eq!(host.disk.dead().sectors_marked, 0);
}

#[test]
fn a_free_cluster_that_stays_free_is_not_touched() {
    // Data in clusters that no file owns: nothing was freed.
    let mut host = Plain::new(Fat::new(64, 300, 1), 1, Drops::AtOnce);
    host.write_data(50);
    for used in 10..20 {
        host.create(&[used]);
    }
    assert!(host.reads(50));
    assert_eq!(host.disk.dead().sectors_marked, 0);
}

#[test]
fn a_refused_write_tells_nothing() {
    let mut host = Plain::new(Fat::new(64, 300, 1), 1, Drops::AtOnce);
    host.create(&[10]);
    host.free(&[10]);
    host.write_copy(0, 0);
    let sector = host.sector(0);
    host.disk.layer.inner_mut().fails = true;
    let lpn = thermocline_flash::Lpn(host.fat.table(1, 0) as u32);
    let result = thermocline_ftl::PageIo::write(&mut host.disk.layer, lpn, &sector, 0);
    assert_eq!(result, Err(thermocline_ftl::FtlError::NoSpace));
    assert_eq!(host.disk.dead().sectors_marked, 0);
    host.write_copy(1, 0);
    assert_eq!(host.disk.dead().sectors_marked, 1);
}

/// A host with a file of two clusters, of which the first is dead.
fn with_a_dead_cluster() -> Plain {
    let mut host = Plain::new(Fat::new(64, 300, 1), 1, Drops::Never);
    host.create(&[10, 11]);
    host.free(&[10]);
    host.flush_table(0);
    assert_eq!(host.disk.layer.inner().marked(), 1);
    host
}

#[test]
fn a_host_that_trims_is_no_longer_watched() {
    let mut host = with_a_dead_cluster();
    let cluster = host.fat.cluster(200).start;
    host.disk.trim(cluster);
    assert_eq!(host.disk.layer.inner().marked(), 0, "its marks are taken back");
    assert!(!host.disk.is_watched());
    let reformat = host.fat.format();
    host.disk.write_all(&reformat);
    host.disk.write(0, &mbr(&[(0x0c, host.fat.begin, host.fat.total())]));
    assert!(!host.disk.is_watched(), "and nothing brings it back");
    assert!(host.disk.power_cycle().is_watched(), "but the next power-up");
}

#[test]
fn zeros_are_written_and_not_trims() {
    let mut host = with_a_dead_cluster();
    let cluster = host.fat.cluster(200).start;
    host.disk.zero(cluster);
    assert!(host.disk.is_watched());
    assert_eq!(host.disk.layer.inner().marked(), 1, "data elsewhere change no mark");
    let freed = host.fat.cluster(10).start;
    host.disk.zero(freed);
    assert_eq!(host.disk.layer.inner().marked(), 0, "a page that is zeroed is new");
    let boot = host.fat.begin;
    host.disk.zero(boot);
    assert!(!host.disk.is_watched(), "a boot sector of zeros is none");
    let reformat = host.fat.format();
    host.disk.write_all(&reformat);
    assert!(host.disk.is_watched(), "and the next one is seen");
}

#[test]
fn unknown_contents_of_the_table_end_it() {
    let mut host = Plain::new(Fat::new(64, 300, 1), 1, Drops::Never);
    host.create(&[10, 11]);
    host.free(&[10]);
    host.flush_table(0);
    let write = |host: &mut Plain, sector: u64| {
        let lpn = thermocline_flash::Lpn(sector as u32);
        thermocline_ftl::PageIo::write(&mut host.disk.layer, lpn, &[], 0).expect("written");
    };
    let data = host.fat.cluster(30).start;
    write(&mut host, data);
    assert!(host.disk.is_watched(), "nobody asks what is in the data");
    let table = host.fat.table(1, 1);
    write(&mut host, table);
    assert!(!host.disk.is_watched());
    assert_eq!(host.disk.layer.inner().marked(), 0);
}
