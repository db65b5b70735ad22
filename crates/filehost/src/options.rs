//! The options of a file workload.

use crate::geometry::SECTOR;
use thermocline_trace::TraceError;

/// The settings of a [`FileWorkload`](crate::FileWorkload) besides the scenario.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FileOptions {
    /// Bytes of the device that the volume fills, including the partition table. A partial last
    /// sector is not used.
    pub volume_bytes: u64,
    /// Bytes that the host writes after the prelude, rounded up to whole file operations; `None`
    /// means the scenario's own length.
    pub bytes: Option<u64>,
    /// Seed for sizes, victims and think times.
    pub seed: u64,
    /// Whether the volume is in a partition, as on sticks and cards. Otherwise it begins at sector
    /// 0 (a super-floppy).
    pub partitioned: bool,
    /// Share of the clusters in use at the end of the prelude, which the scripts then maintain;
    /// from 0.5 to 0.9. The thesis has 80 %.
    pub utilization: f64,
    /// The computer.
    pub host: HostOptions,
}

impl FileOptions {
    /// The setting of the thesis on a volume of this many bytes, with seed 1.
    #[must_use]
    pub fn new(volume_bytes: u64) -> Self {
        FileOptions {
            volume_bytes,
            bytes: None,
            seed: 1,
            partitioned: true,
            utilization: 0.8,
            host: HostOptions::default(),
        }
    }

    pub(crate) fn check(&self) -> Result<(), TraceError> {
        if !(0.5..=0.9).contains(&self.utilization) {
            return Err(TraceError::usage(
                format!("a volume of which {} is in use", self.utilization),
                "give a share from 0.5 to 0.9",
            ));
        }
        if self.host.request_bytes < SECTOR {
            return Err(TraceError::usage(
                format!("requests of at most {} bytes", self.host.request_bytes),
                "let requests hold at least one sector of 512 bytes",
            ));
        }
        Ok(())
    }
}

/// The computer that drives the device: its page cache, and the assumed speed of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostOptions {
    /// Bytes of clean sectors in the page cache; dirty ones are additional.
    pub cache_bytes: u64,
    /// Dirty bytes at which the writing process must wait until all of them are written back.
    pub dirty_bytes: u64,
    /// Nanoseconds from the first dirty sector until dirty sectors are written back.
    pub write_back_ns: u64,
    /// Whether data are written back before metadata. Otherwise everything is written in address
    /// order, so the tables at the start of the volume precede the data.
    pub data_first: bool,
    /// Bytes of the largest request.
    pub request_bytes: u64,
    /// Nanoseconds that the device takes to write a sector, without cleaning.
    pub sector_write_ns: u64,
    /// Nanoseconds that the device takes to read a sector.
    pub sector_read_ns: u64,
}

impl Default for HostOptions {
    /// Linux with limits for a slow device: 4 MiB of clean and 1 MiB of dirty data, written back
    /// after 5 s (`dirty_writeback_centisecs`) in requests of 120 KiB (`max_sectors` of
    /// `usb-storage`). The chip of the thesis reads a page in 52 µs and programs one in 400 µs
    /// after a transfer of another 52 µs.
    fn default() -> Self {
        HostOptions {
            cache_bytes: 4 << 20,
            dirty_bytes: 1 << 20,
            write_back_ns: 5_000_000_000,
            data_first: true,
            request_bytes: 120 << 10,
            sector_write_ns: 452_000,
            sector_read_ns: 52_000,
        }
    }
}
