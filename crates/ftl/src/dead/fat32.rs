//! FAT32: what it looks like, and what its tables tell.

use alloc::{vec, vec::Vec};
use core::ops::Range;

use super::{
    Found, Guards, Verdict,
    clusters::Clusters,
    sectors::{Sectors, is_signed, le16, le32, overlap},
};
use crate::{FtlError, Layer};

/// Fewer clusters than this are FAT12 or FAT16, whatever the fields say.
const FEWEST_CLUSTERS: u32 = 65_525;
/// The most that 28 bits can number.
const MOST_CLUSTERS: u64 = 0x0fff_fff5;
/// More entries than that, with any slack behind them, are not a table.
const MOST_ENTRIES: u64 = 1 << 29;

/// An entry's upper four bits belong to nobody.
const ENTRY: u32 = 0x0fff_ffff;
const BAD: u32 = 0x0fff_fff7;
const FIRST_END: u32 = 0x0fff_fff8;
/// Bits of the second entry that say whether the volume was left in order.
const ORDERLY: u32 = 0x0c00_0000;
/// The byte of the boot sector that says the same to others.
const STATE: usize = 65;

/// What the boot sector says, checked.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    begin: u64,
    reserved: u32,
    table_sectors: u32,
    copies: u32,
    /// The only copy that counts, if they are not kept alike.
    active: Option<u32>,
    /// Sectors of a cluster, as a power of two.
    cluster_shift: u32,
    clusters: u32,
    root: u32,
    media: u8,
    information: u32,
    backup: u32,
}

impl Layout {
    /// Reads a boot sector; nothing if any field is not FAT32's, or reaches beyond the partition.
    pub fn read(
        sector: &[u8],
        partition: &Range<u64>,
        sector_size: usize,
        small_media: bool,
    ) -> Option<Self> {
        let is_jump = matches!(sector, [0xeb, _, 0x90, ..] | [0xe9, ..]);
        let per_cluster = *sector.get(13)?;
        let copies = u32::from(*sector.get(16)?);
        let reserved = u32::from(le16(sector, 14));
        let is_sane = is_signed(sector)
            && is_jump
            && usize::from(le16(sector, 11)) == sector_size
            && per_cluster.is_power_of_two()
            && reserved >= 1
            && (1..=2).contains(&copies)
            && le16(sector, 17) == 0
            && le16(sector, 19) == 0
            && le16(sector, 22) == 0
            && le16(sector, 42) == 0;
        let total = u64::from(le32(sector, 32));
        let table_sectors = le32(sector, 36);
        let tables = u64::from(copies) * u64::from(table_sectors);
        let heap = u64::from(reserved) + tables;
        if !is_sane || table_sectors == 0 || total > partition.end - partition.start {
            return None;
        }
        let cluster_shift = per_cluster.trailing_zeros();
        let clusters = total.checked_sub(heap)? >> cluster_shift;
        let entries = u64::from(table_sectors) * (sector_size as u64 / 4);
        if clusters == 0
            || clusters > MOST_CLUSTERS
            || entries < clusters + 2
            || entries > MOST_ENTRIES
        {
            return None;
        }
        let clusters = clusters as u32;
        let root = le32(sector, 44);
        if (clusters < FEWEST_CLUSTERS && !small_media) || !(2..clusters + 2).contains(&root) {
            return None;
        }
        let flags = u32::from(le16(sector, 40));
        let active = (flags & 0x80 != 0).then_some(flags & 0x0f);
        if active.is_some_and(|active| active >= copies) {
            return None;
        }
        Some(Self {
            begin: partition.start,
            reserved,
            table_sectors,
            copies,
            active,
            cluster_shift,
            clusters,
            root,
            media: sector[21],
            information: u32::from(le16(sector, 48)),
            backup: u32::from(le16(sector, 50)),
        })
    }

    fn reserved(&self) -> Range<u64> {
        self.begin..self.begin + u64::from(self.reserved)
    }

    /// A copy of the table.
    fn table(&self, copy: u32) -> Range<u64> {
        let first = self.reserved().end + u64::from(copy) * u64::from(self.table_sectors);
        first..first + u64::from(self.table_sectors)
    }

    fn heap(&self) -> u64 {
        self.table(self.copies).start
    }

    /// The copies that must agree: the others are nobody's.
    fn kept(&self) -> Range<u32> {
        self.active.map_or(0..self.copies, |active| active..active + 1)
    }

    /// Whether a reserved sector, counted from the first, is the FSInfo sector or its backup.
    fn is_information(&self, index: u32) -> bool {
        index == self.information
            || (self.backup != 0 && index == self.backup.saturating_add(self.information))
    }

    /// Whether a sector of the table can be this volume's; `index` counts from the table's first.
    fn is_plausible(&self, index: u32, sector: &[u8]) -> bool {
        let skipped = if index == 0 { 2 } else { 0 };
        (index != 0 || self.is_first_of_table(sector))
            && entries(sector)
                .skip(skipped)
                .all(|entry| entry == 0 || entry >= BAD || (2..self.clusters + 2).contains(&entry))
    }

    fn is_first_of_table(&self, sector: &[u8]) -> bool {
        le32(sector, 0) & ENTRY == 0x0fff_ff00 | u32::from(self.media)
            && (le32(sector, 4) | ORDERLY) & ENTRY >= FIRST_END
    }
}

/// The entries of a sector of the table.
fn entries(sector: &[u8]) -> impl Iterator<Item = u32> {
    sector.chunks_exact(4).map(|entry| le32(entry, 0) & ENTRY)
}

/// Whether a boot sector changed in no more than the byte that says whether the volume is mounted:
/// many hosts set it at the first write and clear it at the last.
fn is_daily(old: &[u8], new: &[u8]) -> bool {
    old.len() == new.len() && old[..STATE] == new[..STATE] && old[STATE + 1..] == new[STATE + 1..]
}

/// Whether a sector is an FSInfo sector.
fn is_information(sector: &[u8]) -> bool {
    le32(sector, 0) == 0x4161_5252
        && le32(sector, 484) == 0x6141_7272
        && le32(sector, 508) == 0xaa55_0000
}

/// Whether the backup of the boot sector, where one is named, tells of the same volume. What clears
/// the way for another file system leaves the first sector alone, but not this one.
fn has_its_backup<L: Layer>(layout: &Layout, sectors: &mut Sectors<'_, L>) -> bool {
    // From the size of a sector to the length of the table, and from the flags to the root.
    const FIELDS: [Range<usize>; 2] = [11..40, 42..48];
    if !(1..layout.reserved).contains(&layout.backup) {
        return true;
    }
    let Some(sector) = sectors.read(layout.begin) else { return false };
    let mut fields = [0; 64];
    fields.copy_from_slice(&sector[..64]);
    let backup = sectors.read(layout.begin + u64::from(layout.backup));
    backup.is_some_and(|backup| {
        is_signed(backup) && FIELDS.into_iter().all(|field| backup[field.clone()] == fields[field])
    })
}

/// Whether another file system, or a volume manager, left its mark where FAT32 writes nothing:
/// their tools leave the first sector alone, and it still looks like FAT32.
fn is_foreign<L: Layer>(layout: &Layout, sectors: &mut Sectors<'_, L>) -> bool {
    const MARKS: [(u64, &[u8]); 8] = [
        (1080, &[0x53, 0xef]),             // ext2, ext3, ext4
        (1024, &[0x10, 0x20, 0xf5, 0xf2]), // F2FS
        (0, b"LABELONE"),                  // LVM, in any of the first four sectors
        (512, b"LABELONE"),
        (1024, b"LABELONE"),
        (1536, b"LABELONE"),
        (4086, b"SWAPSPACE2"),             // Linux swap with pages of 4 KiB
        (4096, &[0xfc, 0x4e, 0x2b, 0xa9]), // md 1.2
    ];
    let sector_size = sectors.shape.sector_size as u64;
    MARKS.iter().any(|&(at, mark)| {
        let index = at / sector_size;
        let offset = (at % sector_size) as usize;
        index < u64::from(layout.reserved)
            && sectors
                .read(layout.begin + index)
                .and_then(|sector| sector.get(offset..))
                .is_some_and(|rest| rest.starts_with(mark))
    })
}

/// A volume that is watched.
pub(super) struct Fat32 {
    layout: Layout,
    clusters: Clusters,
}

impl Fat32 {
    /// Looks for a volume at the beginning of a partition.
    pub fn recognise<L: Layer>(
        partition: &Range<u64>,
        small_media: bool,
        sectors: &mut Sectors<'_, L>,
    ) -> Found<Self> {
        let sector_size = sectors.shape.sector_size;
        let layout = sectors
            .read(partition.start)
            .and_then(|sector| Layout::read(sector, partition, sector_size, small_media));
        let Some(layout) = layout else { return Found::Nothing };
        let mut complete = (1..layout.reserved).contains(&layout.information)
            && sectors
                .read(layout.begin + u64::from(layout.information))
                .is_some_and(is_information)
            && has_its_backup(&layout, sectors)
            && !is_foreign(&layout, sectors);
        for copy in layout.kept() {
            complete &= sectors
                .read(layout.table(copy).start)
                .is_some_and(|sector| layout.is_first_of_table(sector));
        }
        if !complete {
            return Found::Incomplete(layout.decisive());
        }
        let clusters = Clusters::new(layout.heap(), layout.cluster_shift, layout.clusters);
        Found::Complete(Self { layout, clusters })
    }

    /// Where to look again, should it be let go.
    pub fn decisive(&self) -> Vec<Range<u64>> {
        self.layout.decisive()
    }

    pub const fn clusters(&mut self) -> &mut Clusters {
        &mut self.clusters
    }

    pub fn memory(&self) -> usize {
        self.clusters.memory()
    }

    /// Whether any of `sectors` tells something about the others.
    #[inline]
    pub fn is_metadata(&self, sectors: &Range<u64>) -> bool {
        overlap(sectors, &(self.layout.begin..self.clusters.heap().start))
    }

    /// A sector of the volume was written: what it says of clusters in use is taken from it at once,
    /// and the guards are told.
    pub fn written<L: Layer>(
        &mut self,
        sector: u64,
        old: &[u8],
        new: &[u8],
        guards: Guards,
        sectors: &mut Sectors<'_, L>,
    ) -> Result<Verdict, FtlError> {
        let layout = &self.layout;
        if layout.reserved().contains(&sector) {
            let index = (sector - layout.begin) as u32;
            let is_update = layout.is_information(index) && is_information(new)
                || index == 0 && is_daily(old, new);
            return Ok(if is_update { Verdict::Keep } else { Verdict::LookAgain });
        }
        let Some((copy, index)) = self.place(sector, guards) else { return Ok(Verdict::Keep) };
        if !layout.is_plausible(index, new) {
            return Ok(Verdict::Implausible);
        }
        let per_sector = (new.len() / 4) as u32;
        let first = index * per_sector;
        let numbers = first.saturating_sub(2)..(first + per_sector).saturating_sub(2);
        self.clusters.table_written(numbers, copy as usize);
        for (cluster, entry) in self.clusters_of(index, new.len()).zip(entries(new)) {
            if entry != 0 && self.is_ordinary(cluster) {
                self.clusters.allocated(cluster - 2, sectors)?;
            }
        }
        Ok(Verdict::Keep)
    }

    /// The same sector again, when the whole page was looked at: what it says is free.
    pub fn freed<L: Layer>(
        &mut self,
        sector: u64,
        old: &[u8],
        new: &[u8],
        guards: Guards,
        sectors: &mut Sectors<'_, L>,
    ) -> Result<(), FtlError> {
        let Some((copy, index)) = self.place(sector, guards) else { return Ok(()) };
        // Few writes of the table free anything, and only then must the other copy be read.
        let mut is_agreed = !guards.mirror;
        let entries = entries(old).zip(entries(new));
        for (cluster, (before, after)) in self.clusters_of(index, new.len()).zip(entries) {
            if after != 0 || !self.is_ordinary(cluster) || !self.is_freed(cluster, before) {
                continue;
            }
            is_agreed = is_agreed || self.copies_agree(copy, index, new, sectors);
            if !is_agreed {
                return Ok(());
            }
            self.clusters.freed(cluster - 2, guards.twice, sectors)?;
        }
        Ok(())
    }

    /// Which copy of the table a sector belongs to, of those that are looked at, and where in it.
    fn place(&self, sector: u64, guards: Guards) -> Option<(u32, u32)> {
        let mut watched = self.layout.kept();
        if !guards.mirror {
            watched.end = watched.start + 1;
        }
        let copy = watched.into_iter().find(|&copy| self.layout.table(copy).contains(&sector))?;
        let index = (sector - self.layout.table(copy).start) as u32;
        Some((copy, index))
    }

    /// The clusters that a sector of the table tells of.
    fn clusters_of(&self, index: u32, sector_size: usize) -> Range<u32> {
        let per_sector = (sector_size / 4) as u32;
        index * per_sector..(index + 1) * per_sector
    }

    /// Whether a number is that of a cluster that a file may have.
    fn is_ordinary(&self, cluster: u32) -> bool {
        (2..self.clusters.count() + 2).contains(&cluster) && cluster != self.layout.root
    }

    /// Whether a cluster whose entry is zero now was in use until now, or is in doubt.
    fn is_freed(&self, cluster: u32, before: u32) -> bool {
        (before != 0 && before != BAD) || self.clusters.is_suspect(cluster - 2)
    }

    fn copies_agree<L: Layer>(
        &self,
        written: u32,
        index: u32,
        new: &[u8],
        sectors: &mut Sectors<'_, L>,
    ) -> bool {
        self.layout.kept().filter(|&copy| copy != written).all(|copy| {
            let sector = self.layout.table(copy).start + u64::from(index);
            sectors.read(sector) == Some(new)
        })
    }
}

impl Layout {
    /// What decides whether this is a volume: the reserved sectors, and the first of each table.
    fn decisive(&self) -> Vec<Range<u64>> {
        let mut all = vec![self.reserved()];
        all.extend((0..self.copies).map(|copy| {
            let table = self.table(copy);
            table.start..table.start + 1
        }));
        all
    }
}
