//! The layout of a FAT12, FAT16 or FAT32 volume.

use alloc::{vec, vec::Vec};
use core::ops::Range;

use thermocline_ftl::Layer;

use crate::sectors::{Sectors, is_signed, le16, le32};

/// Maximum number of entries in a table, including any slack behind them.
const MOST_ENTRIES: u64 = 1 << 29;
/// Lowest valid media descriptor.
const FEWEST_MEDIA: u8 = 0xf0;

/// Width of a table entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// Two entries in three bytes: FAT12.
    Twelve,
    /// FAT16.
    Sixteen,
    /// FAT32. The upper four bits are reserved.
    ThirtyTwo,
}

impl Width {
    /// The width, which depends on the number of clusters alone. The volume's own name for its type
    /// is ignored.
    const fn of(clusters: u64) -> Option<Self> {
        match clusters {
            1..4085 => Some(Self::Twelve),
            4085..65_525 => Some(Self::Sixteen),
            65_525..=0x0fff_fff5 => Some(Self::ThirtyTwo),
            _ => None,
        }
    }

    const fn bits(self) -> u32 {
        match self {
            Self::Twelve => 12,
            Self::Sixteen => 16,
            Self::ThirtyTwo => 32,
        }
    }

    /// The significant bits.
    const fn mask(self) -> u32 {
        match self {
            Self::Twelve => 0xfff,
            Self::Sixteen => 0xffff,
            Self::ThirtyTwo => 0x0fff_ffff,
        }
    }

    /// The value of a bad cluster. Greater ones end a chain.
    pub const fn bad(self) -> u32 {
        self.mask() - 8
    }

    /// Bits of the second entry that say whether the volume was unmounted cleanly.
    const fn orderly(self) -> u32 {
        match self {
            Self::Twelve => 0,
            Self::Sixteen => 0xc000,
            Self::ThirtyTwo => 0x0c00_0000,
        }
    }

    /// Offset of the byte in the boot sector with the same information.
    const fn state(self) -> usize {
        if matches!(self, Self::ThirtyTwo) { 65 } else { 37 }
    }

    /// The entries that are completely in one sector of the table. Some of FAT12's entries begin in
    /// one sector and end in the next. Those are ignored, so their clusters are never dead.
    pub fn entries_in(self, index: u32, sector_size: usize) -> Range<u32> {
        let bits = sector_size as u64 * 8;
        let (first, end) = (u64::from(index) * bits, (u64::from(index) + 1) * bits);
        let width = u64::from(self.bits());
        first.div_ceil(width) as u32..(end / width) as u32
    }

    /// These entries of a sector of the table, with their numbers.
    pub fn entries(self, index: u32, sector: &[u8]) -> impl Iterator<Item = (u32, u32)> {
        let begins = u64::from(index) * sector.len() as u64 * 8;
        self.entries_in(index, sector.len()).map(move |number| {
            let at = u64::from(number) * u64::from(self.bits()) - begins;
            let (byte, odd) = ((at / 8) as usize, at % 8);
            let word = match self {
                Self::ThirtyTwo => le32(sector, byte),
                Self::Twelve | Self::Sixteen => u32::from(le16(sector, byte)) >> odd,
            };
            (number, word & self.mask())
        })
    }
}

/// The checked content of the boot sector.
#[derive(Clone, Debug)]
pub struct Layout {
    pub begin: u64,
    pub reserved: u32,
    table_sectors: u32,
    copies: u32,
    /// The only copy in use, if the copies are not mirrored.
    active: Option<u32>,
    /// Sectors of a cluster, as a power of two.
    pub cluster_shift: u32,
    pub clusters: u32,
    pub width: Width,
    /// Sectors between the tables and the clusters: the fixed root directory, if there is one.
    root_sectors: u32,
    /// The first cluster of the root directory, if it is not fixed.
    pub root: Option<u32>,
    media: u8,
    /// The FSInfo sector and the backup of the boot sector, counted from the first sector; FAT32
    /// only.
    pub information: Option<u32>,
    backup: u32,
}

impl Layout {
    /// Parses a boot sector. `None` if a field is invalid for FAT or exceeds the partition.
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
            && (1..=2).contains(&copies);
        let (root_entries, short_table) = (le16(sector, 17), le16(sector, 22));
        let is_wide = root_entries == 0 && le16(sector, 19) == 0 && short_table == 0;
        let root_bytes = u32::from(root_entries) * 32;
        // The older kinds have fewer signs, so such a volume must have all of the optional ones.
        let is_kind = match is_wide {
            true => le16(sector, 42) == 0,
            false => {
                copies == 2
                    && root_bytes != 0
                    && root_bytes.is_multiple_of(sector_size as u32)
                    && sector[21] >= FEWEST_MEDIA
            }
        };
        let is_sane = is_sane && is_kind;
        let total = match u64::from(le16(sector, 19)) {
            0 => u64::from(le32(sector, 32)),
            short => short,
        };
        let table_sectors = if is_wide { le32(sector, 36) } else { u32::from(short_table) };
        let tables = u64::from(copies) * u64::from(table_sectors);
        let root_sectors = root_bytes / sector_size as u32;
        let heap = u64::from(reserved) + tables + u64::from(root_sectors);
        if !is_sane || table_sectors == 0 || total > partition.end - partition.start {
            return None;
        }
        let cluster_shift = per_cluster.trailing_zeros();
        let clusters = total.checked_sub(heap)? >> cluster_shift;
        let width = Width::of(clusters)?;
        let width = if is_wide && small_media { Width::ThirtyTwo } else { width };
        let entries = u64::from(table_sectors) * sector_size as u64 * 8 / u64::from(width.bits());
        let fits = (clusters + 2..=MOST_ENTRIES).contains(&entries);
        if !fits || is_wide != (width == Width::ThirtyTwo) {
            return None;
        }
        let clusters = clusters as u32;
        let root = is_wide.then(|| le32(sector, 44));
        if root.is_some_and(|root| !(2..clusters + 2).contains(&root)) {
            return None;
        }
        let flags = if is_wide { u32::from(le16(sector, 40)) } else { 0 };
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
            width,
            root_sectors,
            root,
            media: sector[21],
            information: is_wide.then(|| u32::from(le16(sector, 48))),
            backup: if is_wide { u32::from(le16(sector, 50)) } else { 0 },
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
        self.table(self.copies).start + u64::from(self.root_sectors)
    }

    /// The copies that must agree. Others are unused.
    pub fn kept(&self) -> Range<u32> {
        self.active.map_or(0..self.copies, |active| active..active + 1)
    }

    /// Whether a reserved sector, counted from the first, is the FSInfo sector or its backup.
    pub fn is_information(&self, index: u32) -> bool {
        self.information.is_some_and(|information| {
            index == information
                || (self.backup != 0 && index == self.backup.saturating_add(information))
        })
    }

    /// Whether a sector may belong to this volume's table; `index` counts from the table's first.
    pub fn is_plausible(&self, index: u32, sector: &[u8]) -> bool {
        let (bad, of_files) = (self.width.bad(), 2..self.clusters + 2);
        (index != 0 || self.is_first_of_table(sector))
            && (self.width.entries(index, sector).filter(|(number, _)| *number >= 2))
                .all(|(_, entry)| entry == 0 || entry >= bad || of_files.contains(&entry))
    }

    pub fn is_first_of_table(&self, sector: &[u8]) -> bool {
        let width = self.width;
        let mut entries = width.entries(0, sector).map(|(_, entry)| entry);
        entries.next() == Some(width.mask() & !0xff | u32::from(self.media))
            && entries.next().is_some_and(|second| second | width.orderly() > width.bad())
    }

    /// Whether a boot sector changed in at most the byte that says whether the volume is mounted.
    /// Many hosts set it at the first write and clear it at the last.
    pub fn is_daily(&self, old: &[u8], new: &[u8]) -> bool {
        let state = self.width.state();
        old.len() == new.len()
            && old[..state] == new[..state]
            && old[state + 1..] == new[state + 1..]
    }

    /// The sectors that decide whether this is a volume: the reserved ones, and the first of each
    /// table.
    pub fn decisive(&self) -> Vec<Range<u64>> {
        let mut all = vec![self.reserved()];
        all.extend((0..self.copies).map(|copy| {
            let table = self.table(copy);
            table.start..table.start + 1
        }));
        all
    }
}

/// Whether a sector is an FSInfo sector.
pub fn is_information(sector: &[u8]) -> bool {
    le32(sector, 0) == 0x4161_5252
        && le32(sector, 484) == 0x6141_7272
        && le32(sector, 508) == 0xaa55_0000
}

/// Whether the backup of the boot sector, if there is one, describes this volume. Tools that
/// prepare a partition for another file system leave the first sector alone, but not the backup.
pub fn has_its_backup<L: Layer + ?Sized>(layout: &Layout, sectors: &mut Sectors<'_, L>) -> bool {
    // From the sector size to the length of the table, and from the flags to the root directory.
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

/// Whether another file system or a volume manager left its magic number before the clusters. Such
/// tools leave the first sector alone, so it still looks like FAT. With few reserved sectors a
/// table entry may look like a magic number; such a volume is not watched.
pub fn is_foreign<L: Layer + ?Sized>(layout: &Layout, sectors: &mut Sectors<'_, L>) -> bool {
    let size = sectors.shape.sector_size as u64;
    let before = layout.begin..layout.heap().min(layout.begin + MARKED.div_ceil(size));
    before.into_iter().any(|sector| {
        let content = sectors.read(sector);
        content.is_some_and(|content| is_marked(sector - layout.begin, content))
    })
}

/// Bytes of a partition that may contain magic numbers.
const MARKED: u64 = 4100;

/// Whether a sector of a partition, counted from its first, has the magic number of another file
/// system or a volume manager.
pub fn is_marked(index: u64, sector: &[u8]) -> bool {
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
    let begins = index * sector.len() as u64;
    MARKS.iter().any(|&(at, mark)| {
        let offset = at.checked_sub(begins).and_then(|offset| usize::try_from(offset).ok());
        let rest = offset.and_then(|offset| sector.get(offset..));
        rest.is_some_and(|rest| rest.starts_with(mark))
    })
}
