//! The layout of an NTFS volume: boot sector, and the records of its own files.

use alloc::{vec, vec::Vec};
use core::ops::Range;

use thermocline_ftl::Layer;

use super::record::Data;
use crate::sectors::{Sectors, is_signed, le16, le32, le64};

/// Bytes of the file `$Boot` at the beginning.
const BOOT: u64 = 8192;
/// Windows writes its header of shadow copies here, in bytes.
const SHADOWS: u64 = 0x1e00;
const SHADOWS_LENGTH: usize = 128;
/// Records of the master file table: of the table itself, of the log, of the bitmap.
const MFT: u64 = 0;
const LOG: u64 = 2;
const BITMAP: u64 = 6;
/// Records that are never anywhere else than together at the beginning of the table.
const FIRST_RECORDS: u64 = 16;
/// The second restart page is one page of the system behind the first, nearly always this.
const SYSTEM_PAGE: u64 = 4096;

/// The checked content of the boot sector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Boot {
    begin: u64,
    sectors: u64,
    sector_size: u64,
    /// Sectors of a cluster, as a power of two.
    pub cluster_shift: u32,
    pub clusters: u32,
    /// The first cluster of the master file table.
    mft: u32,
    /// Sectors of a record.
    record: u64,
}

impl Boot {
    /// Parses a boot sector. `None` if a field is invalid for NTFS or exceeds the partition.
    pub fn read(sector: &[u8], partition: &Range<u64>, sector_size: usize) -> Option<Self> {
        let is_sane = is_signed(sector)
            && sector[3..].starts_with(b"NTFS    ")
            && usize::from(le16(sector, 11)) == sector_size
            && sector[14..21].iter().all(|&byte| byte == 0)
            && le16(sector, 22) == 0
            && le32(sector, 32) == 0;
        let cluster_shift = power(sector[13], 12)?;
        let sectors = le64(sector, 40);
        // The copy of the boot sector follows the volume.
        if !is_sane || sectors >= partition.end - partition.start {
            return None;
        }
        let sector_size = sector_size as u64;
        let clusters = u32::try_from(sectors >> cluster_shift).ok()?;
        let bytes = sector_size << cluster_shift;
        // A number of clusters, or a negative power of two that is a number of bytes.
        let record = match sector[64] {
            size @ 1..0x80 => u64::from(size) * bytes,
            size => 1u64.checked_shl(u32::from(size.wrapping_neg()))?,
        };
        let is_record =
            record.is_power_of_two() && (1024..=4096).contains(&record) && record >= sector_size;
        let mft = u32::try_from(le64(sector, 48)).ok()?;
        let boot = Self {
            begin: partition.start,
            sectors,
            sector_size,
            cluster_shift,
            clusters,
            mft,
            record: record / sector_size,
        };
        let fits = is_record && mft > 0 && boot.first_records().end <= clusters;
        fits.then_some(boot)
    }

    pub const fn begin(&self) -> u64 {
        self.begin
    }

    fn bytes(&self) -> u64 {
        self.sector_size << self.cluster_shift
    }

    /// The clusters with the first records. Beyond the volume if they do not fit.
    fn first_records(&self) -> Range<u32> {
        let bytes = FIRST_RECORDS * self.record * self.sector_size;
        self.mft..self.mft.saturating_add(bytes.div_ceil(self.bytes()) as u32)
    }

    pub fn cluster(&self, cluster: u32) -> u64 {
        self.begin + (u64::from(cluster) << self.cluster_shift)
    }

    fn record(&self, number: u64) -> Range<u64> {
        let first = self.cluster(self.mft) + number * self.record;
        first..first + self.record
    }

    /// The sectors of `$Boot` that decide: the boot sector, and the place of the header of shadow
    /// copies.
    fn boot(&self) -> [Range<u64>; 2] {
        let shadows = self.begin + SHADOWS / self.sector_size;
        [self.begin..self.begin + 1, shadows..shadows + 1]
    }

    /// The sectors that decide whether this is a volume, as far as the boot sector tells.
    pub fn decisive(&self, partition: &Range<u64>) -> Vec<Range<u64>> {
        let records = [MFT, LOG, BITMAP].map(|number| self.record(number));
        let copies = self.copies(partition).map(|sector| sector..sector + 1);
        self.boot().into_iter().chain(records).chain(copies).collect()
    }

    /// Where the copy of the boot sector may be: behind the volume, or at the partition's end.
    fn copies(&self, partition: &Range<u64>) -> [u64; 2] {
        [self.begin + self.sectors, partition.end - 1]
    }

    fn data<L: Layer + ?Sized>(
        &self,
        number: u64,
        is_arriving: bool,
        sectors: &mut Sectors<'_, L>,
    ) -> Option<Data> {
        let mut record = Vec::with_capacity(4096);
        for sector in self.record(number) {
            record.extend_from_slice(sectors.read(sector)?);
        }
        Data::read(record, self.clusters, self.bytes(), is_arriving)
    }

    /// The sector at an offset of a file in bytes.
    fn sector_of(&self, file: &Data, offset: u64) -> Option<u64> {
        let mut cluster = offset / self.bytes();
        for run in &file.runs {
            let length = run.len() as u64;
            if cluster < length {
                let within = offset % self.bytes() / self.sector_size;
                return Some(self.cluster(run.start + cluster as u32) + within);
            }
            cluster -= length;
        }
        None
    }
}

/// A power of two up to 128, or a negative number of at most `most`, which is a power of two itself.
fn power(size: u8, most: u32) -> Option<u32> {
    let shift = u32::from(size.wrapping_neg());
    match size {
        1..=0x80 => size.is_power_of_two().then(|| size.trailing_zeros()),
        _ => (shift > 0 && shift <= most).then_some(shift),
    }
}

/// Sectors of the bitmap that lie together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub sectors: Range<u64>,
    /// The number of its first sector in the bitmap.
    pub index: u64,
}

/// Where a volume and its records are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    pub boot: Boot,
    /// The bitmap, in the order of its sectors.
    pub bitmap: Vec<Piece>,
    /// The first sectors of both restart pages.
    pub restarts: [u64; 2],
    /// Clusters that are in use as long as the volume exists, in order: the boot file, the first
    /// records, log and bitmap.
    pub own: Vec<Range<u32>>,
}

impl Layout {
    /// Reads the records. `None` if one is not intact, if the copy of the boot sector differs, or if
    /// the volume has had shadow copies: these need the old content of clusters that are free now.
    pub fn read<L: Layer + ?Sized>(
        boot: Boot,
        partition: &Range<u64>,
        is_arriving: bool,
        sectors: &mut Sectors<'_, L>,
    ) -> Option<Self> {
        let [_, shadows] = boot.boot();
        let at = (SHADOWS % boot.sector_size) as usize;
        let header = sectors.read(shadows.start)?.get(at..at + SHADOWS_LENGTH)?;
        let is_shadowed = header.iter().any(|&byte| byte != 0);
        let size = boot.sector_size as usize;
        let is_copied = boot.copies(partition).into_iter().any(|copy| {
            let copy = sectors.read(copy).and_then(|copy| Boot::read(copy, partition, size));
            copy.as_ref() == Some(&boot)
        });
        if is_shadowed || !is_copied {
            return None;
        }
        let [mft, log, bitmap] = [MFT, LOG, BITMAP];
        let mft = boot.data(mft, is_arriving, sectors)?;
        let log = boot.data(log, is_arriving, sectors)?;
        let bitmap = boot.data(bitmap, is_arriving, sectors)?;
        let records = boot.first_records();
        let is_first = |run: &Range<u32>| run.start == records.start && run.end >= records.end;
        let needed = u64::from(boot.clusters).div_ceil(8);
        if !mft.runs.first().is_some_and(is_first) || bitmap.size < needed {
            return None;
        }
        let first = boot.sector_of(&log, 0)?;
        let page = sectors.read(first).filter(|page| page.starts_with(b"RSTR"));
        let page = page.map_or(SYSTEM_PAGE, |page| u64::from(le32(page, 16)));
        let is_page = page.is_power_of_two() && page >= boot.sector_size;
        let restarts = [first, boot.sector_of(&log, page).filter(|_| is_page)?];
        let in_boot = 0..BOOT.div_ceil(boot.bytes()) as u32;
        let mut own = vec![in_boot, records];
        own.extend(log.runs);
        own.extend(bitmap.runs.iter().cloned());
        own.sort_unstable_by_key(|range| range.start);
        if own.windows(2).any(|pair| pair[0].end > pair[1].start) {
            return None;
        }
        let bitmap = pieces(&boot, &bitmap.runs, needed.div_ceil(boot.sector_size));
        Some(Self { boot, bitmap, restarts, own })
    }

    /// The number of a sector of the bitmap.
    #[inline]
    pub fn index(&self, sector: u64) -> Option<u32> {
        let behind = self.bitmap.partition_point(|piece| piece.sectors.end <= sector);
        let piece = self.bitmap.get(behind)?;
        let within = sector.checked_sub(piece.sectors.start)?;
        // Below 2³² as the clusters are.
        Some((piece.index + within) as u32)
    }

    /// The sector of the bitmap with this number.
    pub fn sector(&self, index: u32) -> Option<u64> {
        let index = u64::from(index);
        let within = |piece: &Piece| {
            let at = piece.sectors.start + index.checked_sub(piece.index)?;
            piece.sectors.contains(&at).then_some(at)
        };
        self.bitmap.iter().find_map(within)
    }
}

/// The first `left` sectors of the runs, in the order of their sectors.
fn pieces(boot: &Boot, runs: &[Range<u32>], mut left: u64) -> Vec<Piece> {
    let (mut pieces, mut index) = (vec![], 0);
    for run in runs {
        let length = ((run.len() as u64) << boot.cluster_shift).min(left);
        let first = boot.cluster(run.start);
        if length > 0 {
            pieces.push(Piece { sectors: first..first + length, index });
        }
        index += length;
        left -= length;
    }
    pieces.sort_unstable_by_key(|piece| piece.sectors.start);
    pieces
}
