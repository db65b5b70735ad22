//! Where the volume stands on the device, and how large its clusters are.

use super::SECTOR;
use crate::{TraceError, generate::format_size};

/// Reserved sectors of the volumes that `fatfs` makes.
const RESERVED: u64 = 8;
/// A volume of fewer clusters is FAT16 (Microsoft's FAT specification).
const MIN_CLUSTERS: u64 = 65_525;
/// Cards have their data aligned to so many sectors by where the partition begins (SD
/// specification, part 2, boundary unit).
const BOUNDARY: u64 = 64;
/// The largest FAT32 that Windows and cards know.
const MAX_BYTES: u64 = 32 << 30;

/// The place of a FAT32 volume, in sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Geometry {
    /// Where the volume begins; 0 without a partition table.
    pub first: u64,
    /// Sectors of the volume.
    pub sectors: u64,
    /// Sectors of a cluster.
    pub cluster: u64,
}

impl Geometry {
    /// # Errors
    /// [`TraceError::Usage`] where no FAT32 fits.
    pub fn new(device_bytes: u64, partitioned: bool) -> Result<Self, TraceError> {
        let sectors = device_bytes / SECTOR;
        if device_bytes > MAX_BYTES {
            return Err(TraceError::usage(
                format!("a FAT32 volume of {}", format_size(device_bytes)),
                "file workloads take volumes of at most 32GiB",
            ));
        }
        let cluster = cluster_sectors(sectors).ok_or_else(|| {
            TraceError::usage(
                format!("a FAT32 volume of {}", format_size(device_bytes)),
                "file workloads need at least 33MiB: FAT32 has 65525 clusters or more",
            )
        })?;
        let first = if partitioned { partition_start(sectors, cluster) } else { 0 };
        Ok(Geometry { first, sectors: sectors - first, cluster })
    }
}

/// Microsoft's table (0.5 KiB up to 64 MiB, then 1, 2 and from 256 MiB on 4 KiB, 8 beyond 8 GiB, 16
/// beyond 16 GiB), but smaller where it would leave too few clusters.
fn cluster_sectors(sectors: u64) -> Option<u64> {
    let largest = match sectors * SECTOR {
        0..=0x2_0000_0000 => 8,
        ..=0x4_0000_0000 => 16,
        _ => 32,
    };
    // Room for a partition table before it, whatever the alignment asks for.
    let usable = sectors.checked_sub(2 * BOUNDARY)?;
    std::iter::successors(Some(largest), |size| Some(size / 2))
        .take_while(|size| *size > 0)
        .find(|size| clusters(usable, *size) >= MIN_CLUSTERS)
}

fn fat_sectors(sectors: u64, cluster: u64) -> u64 {
    let entries_per_sector = SECTOR / 4;
    // Each cluster takes its sectors and an entry in either FAT.
    (sectors - RESERVED + 2 * cluster).div_ceil(entries_per_sector * cluster + 2)
}

fn clusters(sectors: u64, cluster: u64) -> u64 {
    if sectors <= RESERVED {
        return 0;
    }
    (sectors - RESERVED).saturating_sub(2 * fat_sectors(sectors, cluster)) / cluster
}

/// The partition begins where its data come to lie on a boundary; behind the partition table in
/// any case.
fn partition_start(sectors: u64, cluster: u64) -> u64 {
    (1..=BOUNDARY)
        .find(|first| {
            let data = first + RESERVED + 2 * fat_sectors(sectors - first, cluster);
            data.is_multiple_of(BOUNDARY)
        })
        .unwrap_or(BOUNDARY)
}
