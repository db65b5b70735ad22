//! The position of the volume on the device, and its cluster size.

use thermocline_trace::TraceError;
use thermocline_units::format_size;

/// Bytes of a sector, the unit of this module.
pub(crate) const SECTOR: u64 = 512;

/// Reserved sectors of the volumes that `fatfs` makes.
const RESERVED: u64 = 8;
/// Minimum number of clusters of a FAT32 volume; with fewer it is FAT16 (Microsoft's FAT
/// specification).
const MIN_CLUSTERS: u64 = 65_525;
/// The start of the partition aligns the data of cards to this many sectors (SD specification, part
/// 2, boundary unit).
const BOUNDARY: u64 = 64;
/// The largest FAT32 volume supported by Windows and cards.
const MAX_BYTES: u64 = 32 << 30;

/// The position of a FAT32 volume, in sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    /// First sector of the volume; 0 without a partition table.
    pub first: u64,
    /// Sectors of the volume.
    pub sectors: u64,
    /// Sectors of a cluster.
    pub cluster: u64,
}

impl Geometry {
    /// # Errors
    /// [`TraceError::Usage`] if no FAT32 volume fits.
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

/// The largest cluster of 0.5, 1, 2 or 4 KiB that makes a FAT32 volume, 8 KiB from 8 GiB on and 16
/// KiB from 16 GiB on: Microsoft's table within a few sectors.
fn cluster_sectors(sectors: u64) -> Option<u64> {
    let largest = match (sectors * SECTOR) >> 30 {
        0..8 => 8,
        8..16 => 16,
        _ => 32,
    };
    // Leaves room for a partition table, whatever the alignment.
    let usable = sectors.checked_sub(2 * BOUNDARY)?;
    std::iter::successors(Some(largest), |size| Some(size / 2))
        .take_while(|size| *size > 0)
        .find(|size| clusters(usable, *size) >= MIN_CLUSTERS)
}

fn fat_sectors(sectors: u64, cluster: u64) -> u64 {
    let entries_per_sector = SECTOR / 4;
    // Each cluster takes its sectors and an entry in each FAT.
    (sectors - RESERVED + 2 * cluster).div_ceil(entries_per_sector * cluster + 2)
}

fn clusters(sectors: u64, cluster: u64) -> u64 {
    if sectors <= RESERVED {
        return 0;
    }
    (sectors - RESERVED).saturating_sub(2 * fat_sectors(sectors, cluster)) / cluster
}

/// First sector of the partition, chosen so that its data begin on a boundary. It is always behind
/// the partition table.
fn partition_start(sectors: u64, cluster: u64) -> u64 {
    // The FATs may shrink by a sector along the way, so the first boundary may be missed.
    (1..=2 * BOUNDARY)
        .find(|first| {
            let data = first + RESERVED + 2 * fat_sectors(sectors - first, cluster);
            data.is_multiple_of(BOUNDARY)
        })
        .unwrap_or(BOUNDARY)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clusters_grow_with_the_volume() {
        let cluster = |mib: u64| Geometry::new(mib << 20, true).expect("a volume").cluster;
        let sizes = [33, 56, 64, 72, 128, 144, 256, 300, 4096, 8192, 16384, 32768].map(cluster);
        assert_eq!(sizes, [1, 1, 1, 2, 2, 4, 4, 8, 8, 16, 32, 32]);
        assert!(Geometry::new(32 << 20, false).is_err());
        assert!(Geometry::new((32 << 30) + SECTOR, true).is_err());
    }

    #[test]
    fn data_lie_on_a_boundary_and_volumes_end_with_the_device() {
        for mib in 33..200 {
            let Geometry { first, sectors, cluster } =
                Geometry::new(mib << 20, true).expect("a volume");
            assert!(first > 0 && first + sectors == mib << 11);
            let data = first + RESERVED + 2 * fat_sectors(sectors, cluster);
            assert!(data.is_multiple_of(BOUNDARY), "{mib}");
            assert!(clusters(sectors, cluster) >= MIN_CLUSTERS, "{mib}");
        }
    }
}
