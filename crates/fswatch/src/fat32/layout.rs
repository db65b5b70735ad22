//! What a FAT32 volume looks like.

use alloc::{vec, vec::Vec};
use core::ops::Range;

use thermocline_ftl::Layer;

use crate::sectors::{Sectors, is_signed, le16, le32};

/// Fewer clusters than this are FAT12 or FAT16, whatever the fields say.
const FEWEST_CLUSTERS: u32 = 65_525;
/// The most that 28 bits can number.
const MOST_CLUSTERS: u64 = 0x0fff_fff5;
/// More entries than that, with any slack behind them, are not a table.
const MOST_ENTRIES: u64 = 1 << 29;

/// An entry's upper four bits belong to nobody.
const ENTRY: u32 = 0x0fff_ffff;
pub const BAD: u32 = 0x0fff_fff7;
const FIRST_END: u32 = 0x0fff_fff8;
/// Bits of the second entry that say whether the volume was left in order.
const ORDERLY: u32 = 0x0c00_0000;
/// The byte of the boot sector that says the same to others.
const STATE: usize = 65;

/// What the boot sector says, checked.
#[derive(Clone, Debug)]
pub struct Layout {
    pub begin: u64,
    pub reserved: u32,
    table_sectors: u32,
    copies: u32,
    /// The only copy that counts, if they are not kept alike.
    active: Option<u32>,
    /// Sectors of a cluster, as a power of two.
    pub cluster_shift: u32,
    pub clusters: u32,
    pub root: u32,
    media: u8,
    pub information: u32,
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

    pub fn reserved(&self) -> Range<u64> {
        self.begin..self.begin + u64::from(self.reserved)
    }

    /// A copy of the table.
    pub fn table(&self, copy: u32) -> Range<u64> {
        let first = self.reserved().end + u64::from(copy) * u64::from(self.table_sectors);
        first..first + u64::from(self.table_sectors)
    }

    pub fn heap(&self) -> u64 {
        self.table(self.copies).start
    }

    /// The copies that must agree: the others are nobody's.
    pub fn kept(&self) -> Range<u32> {
        self.active.map_or(0..self.copies, |active| active..active + 1)
    }

    /// Whether a reserved sector, counted from the first, is the FSInfo sector or its backup.
    pub fn is_information(&self, index: u32) -> bool {
        index == self.information
            || (self.backup != 0 && index == self.backup.saturating_add(self.information))
    }

    /// Whether a sector of the table can be this volume's; `index` counts from the table's first.
    pub fn is_plausible(&self, index: u32, sector: &[u8]) -> bool {
        let skipped = if index == 0 { 2 } else { 0 };
        (index != 0 || self.is_first_of_table(sector))
            && entries(sector)
                .skip(skipped)
                .all(|entry| entry == 0 || entry >= BAD || (2..self.clusters + 2).contains(&entry))
    }

    pub fn is_first_of_table(&self, sector: &[u8]) -> bool {
        le32(sector, 0) & ENTRY == 0x0fff_ff00 | u32::from(self.media)
            && (le32(sector, 4) | ORDERLY) & ENTRY >= FIRST_END
    }

    /// What decides whether this is a volume: the reserved sectors, and the first of each table.
    pub fn decisive(&self) -> Vec<Range<u64>> {
        let mut all = vec![self.reserved()];
        all.extend((0..self.copies).map(|copy| {
            let table = self.table(copy);
            table.start..table.start + 1
        }));
        all
    }
}

/// The entries of a sector of the table.
pub fn entries(sector: &[u8]) -> impl Iterator<Item = u32> {
    sector.chunks_exact(4).map(|entry| le32(entry, 0) & ENTRY)
}

/// Whether a boot sector changed in no more than the byte that says whether the volume is mounted:
/// many hosts set it at the first write and clear it at the last.
pub fn is_daily(old: &[u8], new: &[u8]) -> bool {
    old.len() == new.len() && old[..STATE] == new[..STATE] && old[STATE + 1..] == new[STATE + 1..]
}

/// Whether a sector is an FSInfo sector.
pub fn is_information(sector: &[u8]) -> bool {
    le32(sector, 0) == 0x4161_5252
        && le32(sector, 484) == 0x6141_7272
        && le32(sector, 508) == 0xaa55_0000
}

/// Whether the backup of the boot sector, where one is named, describes this volume. What clears
/// the way for another file system leaves the first sector alone, but not this one.
pub fn has_its_backup<L: Layer + ?Sized>(layout: &Layout, sectors: &mut Sectors<'_, L>) -> bool {
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
pub fn is_foreign<L: Layer + ?Sized>(layout: &Layout, sectors: &mut Sectors<'_, L>) -> bool {
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
