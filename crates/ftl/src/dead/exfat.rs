//! exFAT: what it looks like, and what its allocation bitmap tells.
//!
//! There is one bitmap and no mirror, so the only guard is that a sector of the bitmap was written
//! twice since the data. It keeps what a host that reorders writes has reused. What it cannot see is
//! the directory: if power fails after a bitmap that frees a file's clusters and before the
//! directory entry that forgets the file, the file is still there, and where FAT32's chain would
//! have been gone its extent reads as zeros. The host wanted it deleted, or had it moved; the
//! standard has hosts write the directory entry first (exFAT specification §8.1).

use alloc::{vec, vec::Vec};
use core::ops::Range;

use super::{
    Found, Guards, Verdict,
    clusters::Clusters,
    sectors::{Sectors, is_signed, le32, le64, overlap},
};
use crate::{FtlError, Layer};

/// Sectors of a boot region, of which there are two.
const BOOT_REGION: u64 = 12;
/// Bytes of the boot sector that change in daily use: the volume's flags, and how full it is.
const VOLATILE: [usize; 3] = [106, 107, 112];
const BAD: u32 = 0xffff_fff7;
const END: u32 = 0xffff_ffff;
/// The entry of the root directory that tells of the bitmap, and an entry's length.
const BITMAP: u8 = 0x81;
const ENTRY: usize = 32;
/// Clusters of the root directory searched for that entry; all formatters put it among the first
/// three entries.
const MAX_ROOT: usize = 64;
/// Clusters of the bitmap followed in the FAT.
const MAX_BITMAP: u64 = 1 << 16;

/// What the boot sector says, checked.
#[derive(Clone, Debug)]
pub(super) struct Layout {
    begin: u64,
    fat: Range<u64>,
    heap: u64,
    clusters: u32,
    root: u32,
    cluster_shift: u32,
}

impl Layout {
    /// Reads a boot sector; nothing if any field is not exFAT's, or reaches beyond the partition.
    pub fn read(sector: &[u8], partition: &Range<u64>, sector_size: usize) -> Option<Self> {
        let is_sane = is_signed(sector)
            && sector.starts_with(b"\xeb\x76\x90EXFAT   ")
            && sector[11..64].iter().all(|&byte| byte == 0)
            && sector[105] == 1
            // One FAT and one bitmap: TexFAT has two of each, and takes them in turn.
            && sector[110] == 1
            && sector[106] & 1 == 0
            && (9..=12).contains(&sector[108])
            && 1 << sector[108] == sector_size
            && sector[109] <= 25 - sector[108];
        let length = le64(sector, 72);
        if !is_sane || length > partition.end - partition.start {
            return None;
        }
        let (fat, fat_sectors) = (u64::from(le32(sector, 80)), u64::from(le32(sector, 84)));
        let (heap, clusters) = (u64::from(le32(sector, 88)), le32(sector, 92));
        let cluster_shift = u32::from(sector[109]);
        let entries = fat_sectors * (sector_size as u64 / 4);
        let root = le32(sector, 96);
        let fits = fat >= 2 * BOOT_REGION
            && fat + fat_sectors <= heap
            && heap + (u64::from(clusters) << cluster_shift) <= length
            && entries >= u64::from(clusters) + 2
            && (1..=u32::MAX - 10).contains(&clusters)
            && (2..clusters + 2).contains(&root);
        let begin = partition.start;
        fits.then(|| Self {
            begin,
            fat: begin + fat..begin + fat + fat_sectors,
            heap: begin + heap,
            clusters,
            root,
            cluster_shift,
        })
    }

    fn contains(&self, cluster: u32) -> bool {
        (2..self.clusters + 2).contains(&cluster)
    }

    /// The sectors of a cluster.
    fn cluster(&self, cluster: u32) -> Range<u64> {
        let first = self.heap + (u64::from(cluster - 2) << self.cluster_shift);
        first..first + (1 << self.cluster_shift)
    }

    fn is_plausible(&self, entry: u32) -> bool {
        entry == 0 || entry == BAD || entry == END || self.contains(entry)
    }

    fn next<L: Layer>(&self, cluster: u32, sectors: &mut Sectors<'_, L>) -> Option<u32> {
        let per_sector = (sectors.shape.sector_size / 4) as u32;
        let sector = sectors.read(self.fat.start + u64::from(cluster / per_sector))?;
        Some(le32(sector, (cluster % per_sector) as usize * 4))
    }

    /// What decides whether this is a volume.
    fn decisive(&self) -> Vec<Range<u64>> {
        let boot = self.begin..self.begin + 2 * BOOT_REGION;
        vec![boot, self.fat.start..self.fat.start + 1, self.cluster(self.root)]
    }
}

/// Whether the main boot region is whole: its checksum fills its last sector.
fn is_whole<L: Layer>(begin: u64, sectors: &mut Sectors<'_, L>) -> bool {
    let mut sum = 0u32;
    for index in 0..BOOT_REGION - 1 {
        let Some(sector) = sectors.read(begin + index) else { return false };
        for (at, &byte) in sector.iter().enumerate() {
            if index != 0 || !VOLATILE.contains(&at) {
                sum = sum.rotate_right(1).wrapping_add(u32::from(byte));
            }
        }
    }
    let last = sectors.read(begin + BOOT_REGION - 1);
    last.is_some_and(|sector| sector.chunks_exact(4).all(|word| le32(word, 0) == sum))
}

fn is_first_of_fat(sector: &[u8]) -> bool {
    le32(sector, 0) | 0xff == END && sector[0] >= 0xf0 && le32(sector, 4) == END
}

/// Where the bitmap is, and who says so.
struct Bitmap {
    /// The root directory up to its entry, by clusters.
    root: Vec<u32>,
    /// The sector of the entry, where in it, and what it says.
    entry_sector: u64,
    entry_at: usize,
    entry: [u8; ENTRY],
    first: u32,
    clusters: u32,
    /// Its sectors that hold bits of clusters.
    sectors: Range<u64>,
}

impl Bitmap {
    fn find<L: Layer>(layout: &Layout, sectors: &mut Sectors<'_, L>) -> Option<Self> {
        let mut root = vec![layout.root];
        loop {
            for sector in layout.cluster(*root.last()?) {
                for (at, entry) in sectors.read(sector)?.chunks_exact(ENTRY).enumerate() {
                    match entry[0] {
                        0 => return None,
                        BITMAP => {
                            let entry = *entry.first_chunk()?;
                            let found = (sector, at * ENTRY, entry);
                            return Self::check(root, found, layout, sectors);
                        }
                        _ => {}
                    }
                }
            }
            let next = layout.next(*root.last()?, sectors)?;
            if !layout.contains(next) || root.len() == MAX_ROOT {
                return None;
            }
            root.push(next);
        }
    }

    /// Follows the entry. A bitmap in pieces is refused: no formatter makes one, and Linux would not
    /// read it either.
    fn check<L: Layer>(
        root: Vec<u32>,
        (entry_sector, entry_at, entry): (u64, usize, [u8; ENTRY]),
        layout: &Layout,
        sectors: &mut Sectors<'_, L>,
    ) -> Option<Self> {
        let (first, length) = (le32(&entry, 20), le64(&entry, 24));
        let sector_size = sectors.shape.sector_size as u64;
        let needed = u64::from(layout.clusters).div_ceil(8);
        let clusters = length.div_ceil(sector_size << layout.cluster_shift);
        if entry[1] & 1 != 0 || length < needed || clusters > MAX_BITMAP || first < 2 {
            return None;
        }
        let clusters = clusters as u32;
        let last = first.checked_add(clusters - 1)?;
        if !layout.contains(last) || root.iter().any(|c| (first..=last).contains(c)) {
            return None;
        }
        for cluster in first..=last {
            let expected = if cluster == last { END } else { cluster + 1 };
            if layout.next(cluster, sectors)? != expected {
                return None;
            }
        }
        let start = layout.cluster(first).start;
        let sectors = start..start + needed.div_ceil(sector_size);
        Some(Self { root, entry_sector, entry_at, entry, first, clusters, sectors })
    }

    fn holds(&self, cluster: u32) -> bool {
        (self.first..self.first + self.clusters).contains(&cluster)
    }
}

/// A volume that is watched.
pub(super) struct ExFat {
    layout: Layout,
    bitmap: Bitmap,
    clusters: Clusters,
}

impl ExFat {
    /// Looks for a volume at the beginning of a partition.
    pub fn recognise<L: Layer>(
        partition: &Range<u64>,
        sectors: &mut Sectors<'_, L>,
    ) -> Found<Self> {
        let sector_size = sectors.shape.sector_size;
        let layout = sectors
            .read(partition.start)
            .and_then(|sector| Layout::read(sector, partition, sector_size));
        let Some(layout) = layout else { return Found::Nothing };
        let is_sound = is_whole(layout.begin, sectors)
            && sectors.read(layout.fat.start).is_some_and(is_first_of_fat);
        let bitmap = if is_sound { Bitmap::find(&layout, sectors) } else { None };
        let Some(bitmap) = bitmap else { return Found::Incomplete(layout.decisive()) };
        let clusters = Clusters::new(layout.heap, layout.cluster_shift, layout.clusters);
        Found::Complete(Self { layout, bitmap, clusters })
    }

    /// Where to look again, should it be let go.
    pub fn decisive(&self) -> Vec<Range<u64>> {
        self.layout.decisive()
    }

    pub const fn clusters(&mut self) -> &mut Clusters {
        &mut self.clusters
    }

    pub fn memory(&self) -> usize {
        self.clusters.memory() + self.bitmap.root.capacity() * size_of::<u32>()
    }

    /// Whether any of `sectors` tells something about the others.
    #[inline]
    pub fn is_metadata(&self, sectors: &Range<u64>) -> bool {
        overlap(sectors, &(self.layout.begin..self.layout.heap))
            || overlap(sectors, &self.bitmap.sectors)
            || self.bitmap.root.iter().any(|&c| overlap(sectors, &self.layout.cluster(c)))
    }

    /// A sector of the volume was written: what it says of clusters in use is taken from it at once,
    /// and the guard is told.
    pub fn written<L: Layer>(
        &mut self,
        sector: u64,
        old: &[u8],
        new: &[u8],
        sectors: &mut Sectors<'_, L>,
    ) -> Result<Verdict, FtlError> {
        let layout = &self.layout;
        if sector < layout.heap {
            let index = sector - layout.begin;
            return Ok(if layout.fat.contains(&sector) {
                self.fat_written(sector - layout.fat.start, old, new)
            } else if index.is_multiple_of(BOOT_REGION)
                && index <= BOOT_REGION
                && is_daily(old, new)
            {
                Verdict::Keep
            } else {
                Verdict::LookAgain
            });
        }
        if self.bitmap.sectors.contains(&sector) {
            let index = sector - self.bitmap.sectors.start;
            return self.bitmap_written(index, old, new, sectors);
        }
        let is_in_root = self.bitmap.root.iter().any(|&c| layout.cluster(c).contains(&sector));
        let tells_the_same = !is_in_root || self.has_its_entries(sector, new);
        Ok(if tells_the_same { Verdict::Keep } else { Verdict::LookAgain })
    }

    /// A sector of the FAT was written. It does not tell who is free: a file in one piece is not in
    /// it. But it links the root directory, and strange entries are somebody else's.
    fn fat_written(&self, index: u64, old: &[u8], new: &[u8]) -> Verdict {
        if index == 0 && !is_first_of_fat(new) {
            return Verdict::Implausible;
        }
        let first = index * (new.len() as u64 / 4);
        let skipped = if index == 0 { 2 } else { 0 };
        let pairs = old.chunks_exact(4).zip(new.chunks_exact(4));
        // Entries of no chain may be anything since before the volume was made.
        let changed = (first..).zip(pairs).skip(skipped).filter(|(_, (a, b))| a != b);
        for (cluster, (_, after)) in changed {
            let after = le32(after, 0);
            if !self.layout.is_plausible(after) {
                return Verdict::Implausible;
            }
            let Ok(cluster) = u32::try_from(cluster) else { continue };
            // The root directory may grow behind the part that is watched.
            let is_tail = self.bitmap.root.last() == Some(&cluster) && after != 0;
            let is_link = self.bitmap.root.contains(&cluster) || self.bitmap.holds(cluster);
            if is_link && !is_tail {
                return Verdict::LookAgain;
            }
        }
        Verdict::Keep
    }

    /// Whether a sector of the root directory still tells of the same bitmap, and of no other.
    fn has_its_entries(&self, sector: u64, new: &[u8]) -> bool {
        let bitmap = &self.bitmap;
        let is_known = |at: usize| sector == bitmap.entry_sector && at == bitmap.entry_at;
        let entries = new.chunks_exact(ENTRY).enumerate();
        let others = entries.filter(|(i, entry)| entry[0] == BITMAP && !is_known(i * ENTRY));
        let known = new.get(bitmap.entry_at..bitmap.entry_at + ENTRY);
        others.count() == 0
            && (sector != bitmap.entry_sector || known == Some(bitmap.entry.as_slice()))
    }

    /// A sector of the bitmap was written: ones are clusters in use.
    fn bitmap_written<L: Layer>(
        &mut self,
        index: u64,
        old: &[u8],
        new: &[u8],
        sectors: &mut Sectors<'_, L>,
    ) -> Result<Verdict, FtlError> {
        let numbers = self.clusters_of(index, new.len());
        // The bitmap's own clusters and the root directory's are in use as long as there is a volume.
        let here = numbers.start + 2..numbers.end + 2;
        let own = self.bitmap.first.max(here.start)
            ..(self.bitmap.first + self.bitmap.clusters).min(here.end);
        let root = self.bitmap.root.iter().copied().filter(|cluster| here.contains(cluster));
        let is_short_of_own = own.chain(root).any(|cluster| !is_set(new, cluster - here.start));
        let mut beyond = numbers.len() as u32..new.len() as u32 * 8;
        if is_short_of_own || beyond.any(|bit| is_set(new, bit) && !is_set(old, bit)) {
            return Ok(Verdict::Implausible);
        }
        self.clusters.table_written(numbers.clone(), 0);
        for cluster in numbers.clone() {
            if is_set(new, cluster - numbers.start) {
                self.clusters.allocated(cluster, sectors)?;
            }
        }
        Ok(Verdict::Keep)
    }

    /// The same sector again, when the whole page was looked at: zeros that were ones are freed.
    pub fn freed<L: Layer>(
        &mut self,
        sector: u64,
        old: &[u8],
        new: &[u8],
        guards: Guards,
        sectors: &mut Sectors<'_, L>,
    ) -> Result<(), FtlError> {
        if !self.bitmap.sectors.contains(&sector) {
            return Ok(());
        }
        let numbers = self.clusters_of(sector - self.bitmap.sectors.start, new.len());
        for cluster in numbers.clone() {
            let bit = cluster - numbers.start;
            let was_used = is_set(old, bit) || self.clusters.is_suspect(cluster);
            if was_used && !is_set(new, bit) {
                self.clusters.freed(cluster, guards.twice, sectors)?;
            }
        }
        Ok(())
    }

    /// The clusters, counted from 0, that a sector of the bitmap tells of.
    fn clusters_of(&self, index: u64, sector_size: usize) -> Range<u32> {
        let bits = sector_size as u64 * 8;
        let count = u64::from(self.clusters.count());
        (index * bits).min(count) as u32..((index + 1) * bits).min(count) as u32
    }
}

fn is_set(bits: &[u8], bit: u32) -> bool {
    bits[(bit / 8) as usize] >> (bit % 8) & 1 != 0
}

/// Whether a boot sector differs only in what changes every day.
fn is_daily(old: &[u8], new: &[u8]) -> bool {
    let mut pairs = old.iter().zip(new).enumerate();
    new[106] & 1 == 0 && pairs.all(|(at, (a, b))| a == b || VOLATILE.contains(&at))
}
