//! The layout of an ext2, ext3 or ext4 volume: superblock and group descriptors.

use alloc::{vec, vec::Vec};
use core::ops::Range;

use thermocline_ftl::Layer;

use crate::sectors::{Sectors, le16, le32};

/// The superblock begins here, in bytes. Before it a boot loader may stand, or another file system.
const SUPERBLOCK: u64 = 1024;
const MAGIC: u16 = 0xef53;
/// Set while a volume with a journal is mounted.
const RECOVER: u32 = 0x4;
const WIDE: u32 = 0x80;
/// Incompatible features that do not change where bitmaps are and what they mean: file types, journal replay needed,
/// extents, 64 bits, flexible groups, large attributes, seed of checksums, large directories, data in inodes,
/// encryption, case folding.
const INCOMPATIBLE: u32 =
    0x2 | RECOVER | 0x40 | WIDE | 0x200 | 0x400 | 0x2000 | 0x4000 | 0x8000 | 0x1_0000 | 0x2_0000;
/// The same of features that matter only to writers: sparse superblocks, large and huge files, checksums of groups and
/// of metadata, many links, large inodes, quotas, projects, read-only, verity, orphan file. Clusters of several blocks
/// are not among them.
const WRITERS: u32 =
    0x1 | 0x2 | 0x8 | 0x10 | 0x20 | 0x40 | 0x100 | 0x400 | 0x1000 | 0x2000 | 0x8000 | 0x1_0000;
/// Compatible features that change where things are, or where allocations stand first: fewer copies of the superblock,
/// fast commits.
const REFUSED: u32 = 0x200 | 0x400;
const HAS_JOURNAL: u32 = 0x4;
/// The inode of the journal.
const JOURNAL: u32 = 8;
const JOURNAL_MAGIC: u32 = 0xc03b_3998;
/// The kernel found an error.
const HAS_ERRORS: u16 = 2;
/// Groups at most: 128 TiB with blocks of 4 KiB.
const MOST_GROUPS: u64 = 1 << 20;

/// The fields of a superblock that do not change while a volume is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    blocks: u64,
    /// The first block of the first group: 1 where blocks have 1 KiB.
    first: u32,
    block_shift: u32,
    per_group: u32,
    /// Blocks of the inode table of a group.
    table: u32,
    incompatible: u32,
    writers: u32,
    descriptor: usize,
    inode: u32,
    has_journal: bool,
}

impl Superblock {
    /// Parses a superblock. `None` if a field is invalid, or a feature may mean other bitmaps.
    fn read(bytes: &[u8]) -> Option<Self> {
        let is_dynamic = le32(bytes, 76) >= 1;
        let feature = |at| if is_dynamic { le32(bytes, at) } else { 0 };
        let (incompatible, writers) = (feature(96) & !RECOVER, feature(100));
        let is_wide = incompatible & WIDE != 0;
        let high = if is_wide { u64::from(le32(bytes, 336)) << 32 } else { 0 };
        let log = le32(bytes, 24);
        let inode = if is_dynamic { u32::from(le16(bytes, 88)) } else { 128 };
        let inodes = le32(bytes, 40);
        let descriptor = if is_wide { usize::from(le16(bytes, 254)) } else { 32 };
        let compatible = feature(92);
        let has_journal = compatible & HAS_JOURNAL != 0;
        let is_sane = le16(bytes, 56) == MAGIC
            && le16(bytes, 58) & HAS_ERRORS == 0
            && compatible & REFUSED == 0
            && (!has_journal || le32(bytes, 224) == JOURNAL && le32(bytes, 228) == 0)
            && incompatible & !INCOMPATIBLE == 0
            && writers & !WRITERS == 0
            && log <= 6
            && le32(bytes, 28) == log
            && inode.is_power_of_two()
            && (128..=4096).contains(&inode)
            && [32, 64, 128, 256, 512].contains(&descriptor)
            && (!is_wide || descriptor >= 64);
        if !is_sane {
            return None;
        }
        let block_shift = 10 + log;
        let superblock = Self {
            blocks: high | u64::from(le32(bytes, 4)),
            first: le32(bytes, 20),
            block_shift,
            per_group: le32(bytes, 32),
            table: (u64::from(inodes) * u64::from(inode)).div_ceil(1 << block_shift) as u32,
            incompatible,
            writers,
            descriptor,
            inode,
            has_journal,
        };
        let fits = superblock.first == u32::from(log == 0)
            && superblock.blocks > u64::from(superblock.first)
            && superblock.blocks < u64::from(u32::MAX)
            && (8..=8 << block_shift).contains(&superblock.per_group)
            && superblock.per_group.is_multiple_of(8)
            && superblock.table > 0
            && superblock.table < superblock.per_group
            && superblock.groups() <= MOST_GROUPS;
        fits.then_some(superblock)
    }

    /// The sectors of the group descriptors, behind the superblock's block.
    fn descriptors(&self, begin: u64, sector_size: usize) -> Range<u64> {
        let size = sector_size as u64;
        let first = begin + (u64::from(self.first + 1) << self.block_shift) / size;
        first..first + (self.groups() * self.descriptor as u64).div_ceil(size)
    }

    fn groups(&self) -> u64 {
        (self.blocks - u64::from(self.first)).div_ceil(self.per_group.into())
    }
}

/// Where a volume and its records are.
#[derive(Clone, Debug)]
pub struct Layout {
    pub begin: u64,
    superblock: Superblock,
    sector_size: usize,
    /// Sectors of a block, as a power of two.
    pub block_shift: u32,
    /// The block bitmap of each group.
    bitmaps: Vec<u32>,
    /// The sector of the journal's superblock.
    pub journal: Option<u64>,
    /// Sectors that may make it a volume, if it has a journal that was not found.
    pub missing: Vec<Range<u64>>,
    /// Blocks that are in use as long as the volume exists, in order: bitmaps and inode tables.
    pub own: Vec<Range<u32>>,
}

impl Layout {
    /// The sector with the superblock's fields, and where in it they begin.
    pub fn home(begin: u64, sector_size: usize) -> (u64, usize) {
        let size = sector_size as u64;
        (begin + SUPERBLOCK / size, (SUPERBLOCK % size) as usize)
    }

    /// The sectors up to the superblock, which decide whether this may be a volume.
    pub fn head(begin: u64, sector_size: usize) -> Range<u64> {
        begin..Self::home(begin, sector_size).0 + 1
    }

    /// Reads the superblock: `None` if there is none, or something else stands before it.
    pub fn read_superblock<L: Layer + ?Sized>(
        partition: &Range<u64>,
        sectors: &mut Sectors<'_, L>,
    ) -> Option<Superblock> {
        let sector_size = sectors.shape.sector_size;
        let (home, at) = Self::home(partition.start, sector_size);
        for sector in partition.start..home {
            if sectors.read(sector)?.iter().any(|&byte| byte != 0) {
                return None;
            }
        }
        let sector = sectors.read(home)?;
        if sector.get(..at)?.iter().any(|&byte| byte != 0) {
            return None;
        }
        let superblock = Superblock::read(sector.get(at..at + 512)?)?;
        let bytes = superblock.blocks << superblock.block_shift;
        let fits = bytes / sector_size as u64 <= partition.end - partition.start
            && 1 << superblock.block_shift >= sector_size;
        fits.then_some(superblock)
    }

    /// The sectors that decide whether there is a volume with this superblock.
    pub fn decisive(begin: u64, superblock: &Superblock, sector_size: usize) -> Vec<Range<u64>> {
        vec![Self::head(begin, sector_size), superblock.descriptors(begin, sector_size)]
    }

    /// Reads the group descriptors: `None` if one of them cannot be.
    pub fn read<L: Layer + ?Sized>(
        begin: u64,
        superblock: Superblock,
        sectors: &mut Sectors<'_, L>,
    ) -> Option<Self> {
        let sector_size = sectors.shape.sector_size;
        let groups = superblock.groups() as usize;
        let mut layout = Self {
            begin,
            block_shift: superblock.block_shift - sector_size.trailing_zeros(),
            superblock,
            sector_size,
            bitmaps: vec![],
            journal: None,
            missing: vec![],
            own: vec![],
        };
        let Superblock { first, table, .. } = layout.superblock;
        let last = layout.block_of(layout.descriptors().end - 1);
        let (mut own, mut first_table) = (vec![], None);
        own.push(first..last + 1);
        for sector in layout.descriptors() {
            let bytes = sectors.read(sector)?;
            for descriptor in layout.each_descriptor(bytes) {
                if layout.bitmaps.len() == groups {
                    break;
                }
                let [bitmap, inodes, inode_table] = descriptor?;
                let end = inode_table.checked_add(table)?;
                first_table.get_or_insert(inode_table);
                own.extend([bitmap..bitmap + 1, inodes..inodes + 1, inode_table..end]);
                layout.bitmaps.push(bitmap);
            }
        }
        own.sort_unstable_by_key(|range| range.start);
        let is_apart = own.windows(2).all(|pair| pair[0].end <= pair[1].start);
        let fits = own.last().is_some_and(|range| u64::from(range.end) <= layout.superblock.blocks);
        layout.own = own;
        if !is_apart || !fits || layout.bitmaps.len() != groups {
            return None;
        }
        if layout.superblock.has_journal {
            layout.find_journal(first_table?, sectors);
        }
        Some(layout)
    }

    /// Finds the journal's superblock by its inode, in the first inode table.
    fn find_journal<L: Layer + ?Sized>(&mut self, table: u32, sectors: &mut Sectors<'_, L>) {
        let at = u64::from((JOURNAL - 1) * self.superblock.inode);
        let size = self.sector_size as u64;
        let sector = self.sector(table) + at / size;
        self.missing.push(sector..sector + 1);
        let inode = sectors.read(sector).and_then(|sector| sector.get((at % size) as usize..));
        let first = inode.map_or(0, first_block);
        if self.superblock.first < first && u64::from(first) < self.superblock.blocks {
            let sector = self.sector(first);
            self.missing.push(sector..sector + 1);
            self.journal = sectors.read(sector).is_some_and(is_journal).then_some(sector);
        }
        if self.journal.is_some() {
            self.missing.clear();
        }
    }

    /// Where the group descriptors in a sector say that bitmaps and inode table are; nothing where they lie beyond the
    /// volume.
    fn each_descriptor<'b>(&self, bytes: &'b [u8]) -> impl Iterator<Item = Option<[u32; 3]>> + 'b {
        let Superblock { blocks, first, descriptor, .. } = self.superblock;
        bytes.chunks_exact(descriptor).map(move |bytes| {
            let field = |low, high| {
                let high = if descriptor >= 64 { u64::from(le32(bytes, high)) << 32 } else { 0 };
                let block = high | u64::from(le32(bytes, low));
                // Below 2³², as all blocks are.
                (u64::from(first) < block && block < blocks).then_some(block as u32)
            };
            Some([field(0, 32)?, field(4, 36)?, field(8, 40)?])
        })
    }

    /// The sectors of the group descriptors.
    pub fn descriptors(&self) -> Range<u64> {
        self.superblock.descriptors(self.begin, self.sector_size)
    }

    /// The group of a block that is counted from the first.
    pub const fn group_of(&self, block: u32) -> u32 {
        block / self.superblock.per_group
    }

    /// The blocks of a group, counted from the first.
    pub fn group(&self, group: u32) -> Range<u32> {
        let (per_group, (_, count)) = (self.superblock.per_group, self.blocks());
        let first = group * per_group;
        first..first.saturating_add(per_group).min(count)
    }

    /// Whether group descriptors still say where the bitmaps are.
    pub fn is_told_by(&self, sector: u64, new: &[u8]) -> bool {
        let here = (self.sector_size / self.superblock.descriptor) as u64;
        let first = (sector - self.descriptors().start) * here;
        let known = self.bitmaps.iter().skip(first as usize);
        known.zip(self.each_descriptor(new)).all(|(bitmap, descriptor)| {
            descriptor.is_some_and(|descriptor| descriptor[0] == *bitmap)
        })
    }

    /// Whether the superblock's sector still has the same superblock, and nothing before it.
    pub fn is_same(&self, new: &[u8]) -> bool {
        let (_, at) = Self::home(self.begin, self.sector_size);
        let head = new.get(..at).is_some_and(|bytes| bytes.iter().all(|&byte| byte == 0));
        let superblock = new.get(at..at + 512).and_then(Superblock::read);
        head && superblock.as_ref() == Some(&self.superblock)
    }

    pub const fn sector_size(&self) -> usize {
        self.sector_size
    }

    /// The first sector of a block.
    pub fn sector(&self, block: u32) -> u64 {
        self.begin + (u64::from(block) << self.block_shift)
    }

    fn block_of(&self, sector: u64) -> u32 {
        ((sector - self.begin) >> self.block_shift) as u32
    }

    /// The first block that bitmaps speak of, and how many there are.
    pub fn blocks(&self) -> (u32, u32) {
        let first = self.superblock.first;
        (first, (self.superblock.blocks - u64::from(first)) as u32)
    }

    /// Bitmaps: where each begins, and its group, in the order of their sectors.
    pub fn bitmaps(&self) -> Vec<(u64, u32)> {
        let mut bitmaps: Vec<_> =
            self.bitmaps.iter().map(|&block| self.sector(block)).zip(0..).collect();
        bitmaps.sort_unstable();
        bitmaps
    }

    /// The blocks whose bits are in a sector of a group's bitmap, counted from the first.
    pub fn blocks_of(&self, group: u32, sector: u64) -> Range<u32> {
        let per_group = u64::from(self.superblock.per_group);
        let bits = self.sector_size as u64 * 8;
        let end = (u64::from(group) + 1) * per_group;
        let (_, count) = self.blocks();
        let first = u64::from(group) * per_group + sector * bits;
        let limit = end.min(count.into());
        first.min(limit) as u32..(first + bits).min(limit) as u32
    }
}

/// The first block of a file: of a list of blocks, or of the only leaf of a tree of extents. 0 if there is none.
fn first_block(inode: &[u8]) -> u32 {
    let is_tree = le32(inode, 32) & 0x8_0000 != 0;
    let is_leaf = le16(inode, 40) == 0xf30a && le16(inode, 42) > 0 && le16(inode, 46) == 0;
    match (is_tree, is_leaf && le32(inode, 52) == 0) {
        (false, _) => le32(inode, 40),
        (true, true) => le32(inode, 60),
        (true, false) => 0,
    }
}

/// Whether a sector is the journal's superblock. Its fields are big-endian.
pub fn is_journal(sector: &[u8]) -> bool {
    le32(sector, 0) == JOURNAL_MAGIC.swap_bytes()
}

/// Where a recovery begins: the number of a transaction, and its block.
pub fn tail(sector: &[u8]) -> [u32; 2] {
    [le32(sector, 24), le32(sector, 28)]
}
