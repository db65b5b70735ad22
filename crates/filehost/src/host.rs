//! A computer with a page cache and a device of given speed.
//!
//! Dirty sectors are collected and written back: at a sync, when there are too many, and some time
//! after the first of them. Data are written before metadata, each in address order, with
//! neighbours merged. The order is that of Linux' `fsync` and `sync` on vfat, which write the pages
//! of files and then the buffers of the volume. Linux' timer keeps no order between them, so a host
//! can also use one elevator for both (`data_first`). The device takes one request at a time; the
//! next one arrives at the earliest when the last is done. Reads and syncs are waited for, timed
//! write-back is not.

use crate::{cache::Resident, geometry::SECTOR, options::HostOptions, outbox::Outbox};
use rustc_hash::FxHashMap;
use std::{collections::BTreeSet, ops::Range};
use thermocline_trace::{Op, Request};

/// Nanoseconds since the start of the host.
pub(crate) type Nanoseconds = u64;

const BLANK: &[u8; SECTOR as usize] = &[0; SECTOR as usize];

/// The kind of bytes being written or read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// The medium is being formatted: everything is metadata, and nothing needs to be read.
    Format,
    /// Metadata at any address.
    Metadata,
    /// Data of a file, except below the first cluster. Sectors accessed from their start are new.
    Append,
    /// Data of a file that overwrite older data, except below the first cluster.
    Update,
    /// Data of a file that is about to be deleted; dirty sectors of it need not be written.
    Discard,
}

/// The layout of the volume as known to the host, in sectors of the device.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// FSInfo. A sync of files leaves it to the timer.
    pub info: u64,
    /// The second FAT. Its sectors are copied from the first and never read.
    pub mirror: Range<u64>,
    /// The first sector of the clusters.
    pub data_start: u64,
}

impl Layout {
    const NONE: Self = Layout { info: u64::MAX, mirror: 0..0, data_start: u64::MAX };
}

/// The host.
pub(crate) struct Host {
    options: HostOptions,
    pub now: Nanoseconds,
    /// When the device has completed everything it was given.
    device_idle_at: Nanoseconds,
    /// When dirty sectors must be written back.
    deadline: Option<Nanoseconds>,
    dirty: BTreeSet<u64>,
    /// Clean sectors in the cache. Metadata are used repeatedly and stay cached during a stream of
    /// data, as on Linux' list of active pages, so they have their own half.
    resident: Resident,
    resident_metadata: Resident,
    /// The metadata of the volume. All other sectors are zero: data of files, and sectors never
    /// written.
    metadata: FxHashMap<u64, [u8; SECTOR as usize]>,
    /// The layout of the volume, once it exists.
    pub layout: Layout,
    pub access: Access,
    /// Requested sectors of files that are not in the cache.
    missing: Vec<u64>,
    pub outbox: Outbox,
    /// Requests sent, and bytes that they wrote.
    pub requests: u64,
    pub written: u64,
    /// Bytes of metadata among them.
    pub written_metadata: u64,
}

impl Host {
    pub fn new(options: HostOptions) -> Self {
        Host {
            options,
            now: 0,
            device_idle_at: 0,
            deadline: None,
            dirty: BTreeSet::new(),
            resident: Resident::new(options.cache_bytes / SECTOR / 2),
            resident_metadata: Resident::new(options.cache_bytes / SECTOR / 2),
            metadata: FxHashMap::default(),
            layout: Layout::NONE,
            access: Access::Format,
            missing: Vec::new(),
            outbox: Outbox::default(),
            requests: 0,
            written: 0,
            written_metadata: 0,
        }
    }

    /// Reads from byte `at`, at most to the end of the sector. Returns the number of bytes.
    pub fn read(&mut self, at: u64, buffer: &mut [u8]) -> usize {
        let (sector, range) = piece(at, buffer.len());
        if self.access == Access::Discard && sector >= self.layout.data_start {
            self.dirty.remove(&sector);
        } else if !self.is_cached(sector) {
            if self.is_file_data(sector) {
                self.missing.push(sector);
            } else {
                self.send_read(sector..sector + 1);
            }
        }
        let length = range.len();
        buffer[..length].copy_from_slice(&self.bytes(sector)[range]);
        length
    }

    /// Writes from byte `at`, at most to the end of the sector. Returns the number of bytes.
    pub fn write(&mut self, at: u64, bytes: &[u8]) -> usize {
        let (sector, range) = piece(at, bytes.len());
        let length = range.len();
        let new = self.access == Access::Append && range.start == 0 && self.is_file_data(sector);
        let whole = length == SECTOR as usize || new || self.layout.mirror.contains(&sector);
        if !self.is_cached(sector) && !whole {
            self.send_read(sector..sector + 1);
        }
        if self.is_file_data(sector) {
            self.metadata.remove(&sector);
        } else {
            let kept = self.metadata.entry(sector).or_insert(*BLANK);
            kept[range].copy_from_slice(&bytes[..length]);
        }
        if self.dirty.is_empty() {
            self.deadline = Some(self.now.saturating_add(self.options.write_back_ns));
        }
        self.dirty.insert(sector);
        length
    }

    /// Whether the sector is in the cache; it is from now on.
    fn is_cached(&mut self, sector: u64) -> bool {
        let clean = match self.is_file_data(sector) {
            true => self.resident.touch(sector),
            false => self.resident_metadata.touch(sector),
        };
        clean || self.access == Access::Format || self.dirty.contains(&sector)
    }

    fn is_file_data(&self, sector: u64) -> bool {
        sector >= self.layout.data_start && matches!(self.access, Access::Append | Access::Update)
    }

    fn is_metadata(&self, sector: u64) -> bool {
        sector < self.layout.data_start || self.metadata.contains_key(&sector)
    }

    fn bytes(&self, sector: u64) -> &[u8; SECTOR as usize] {
        self.metadata.get(&sector).unwrap_or(BLANK)
    }

    /// Whether file data or directories wait to be written back.
    pub fn has_dirty_clusters(&self) -> bool {
        self.dirty.range(self.layout.data_start..).next().is_some()
    }

    /// Sends the missing reads of a file, in as few requests as its layout allows.
    pub fn send_reads(&mut self) {
        let wanted = std::mem::take(&mut self.missing);
        for run in runs(wanted.iter().copied(), self.options.request_bytes / SECTOR) {
            self.send_read(run);
        }
    }

    fn send_read(&mut self, sectors: Range<u64>) {
        self.send(Op::Read, sectors);
        self.now = self.device_idle_at;
    }

    /// Throttles a writing process between its pages: waits if there are too many dirty ones.
    pub fn throttle(&mut self) {
        self.run_timer();
        if self.dirty.len() as u64 * SECTOR > self.options.dirty_bytes {
            self.sync_all();
        }
    }

    /// Writes everything but FSInfo back and waits for it, as Linux does for `fsync`.
    pub fn sync(&mut self) {
        let info = self.dirty.remove(&self.layout.info);
        let deadline = self.deadline;
        self.sync_all();
        if info {
            self.dirty.insert(self.layout.info);
            self.deadline = deadline;
        }
    }

    /// Writes everything back and waits for it.
    pub fn sync_all(&mut self) {
        self.write_back();
        self.now = self.now.max(self.device_idle_at);
    }

    /// Advances time.
    pub fn think(&mut self, time: Nanoseconds) {
        let until = self.now.saturating_add(time);
        if let Some(deadline) = self.deadline.filter(|deadline| *deadline <= until) {
            self.now = self.now.max(deadline);
            self.write_back();
        }
        self.now = until;
    }

    /// Writes back whatever the timer should have written back by now.
    pub fn run_timer(&mut self) {
        if self.deadline.is_some_and(|deadline| deadline <= self.now) {
            self.write_back();
        }
    }

    fn write_back(&mut self) {
        let dirty = std::mem::take(&mut self.dirty);
        self.deadline = None;
        let (first, then): (Vec<u64>, Vec<u64>) = dirty
            .into_iter()
            .partition(|sector| self.options.data_first && !self.is_metadata(*sector));
        for sectors in [first, then] {
            for run in runs(sectors.into_iter(), self.options.request_bytes / SECTOR) {
                self.send(Op::Write, run);
            }
        }
    }

    fn send(&mut self, op: Op, sectors: Range<u64>) {
        let count = sectors.end - sectors.start;
        let time_ns = self.now.max(self.device_idle_at);
        let (each, written) = match op {
            Op::Write => (self.options.sector_write_ns, count),
            _ => (self.options.sector_read_ns, 0),
        };
        self.device_idle_at = time_ns.saturating_add(count.saturating_mul(each));
        let (offset, len) = (sectors.start * SECTOR, count * SECTOR);
        let request = Request { time_ns, offset, len, volume: 0, op, hint: 0 };
        let metadata = sectors.clone().filter(|sector| self.is_metadata(*sector)).count() as u64;
        if metadata > 0 {
            let kept = &self.metadata;
            let bytes = sectors.map(|sector| &kept.get(&sector).unwrap_or(BLANK)[..]);
            self.outbox.push_with(request, bytes);
        } else {
            self.outbox.push(request);
        }
        self.requests += 1;
        self.written += written * SECTOR;
        self.written_metadata += written.min(metadata) * SECTOR;
    }

    /// Sets the parent entries of new directories to 0 if the parent is the root. `fatfs` enters
    /// the root by its number, Microsoft's specification (section 6.5) requires 0.
    pub fn clear_root_parents(&mut self) {
        for sector in self.dirty.range(self.layout.data_start..) {
            if let Some(bytes) = self.metadata.get_mut(sector)
                && bytes.starts_with(b".          ")
                && bytes[32..].starts_with(b"..         ")
            {
                bytes[32 + 20..][..2].fill(0);
                bytes[32 + 26..][..2].fill(0);
            }
        }
    }

    /// Drops all caches when the medium is removed and inserted again.
    pub fn drop_caches(&mut self) {
        self.resident.clear();
        self.resident_metadata.clear();
    }
}

/// The sector of a byte, and the part of the sector covered by `length` bytes from there.
fn piece(at: u64, length: usize) -> (u64, Range<usize>) {
    let start = (at % SECTOR) as usize;
    (at / SECTOR, start..(start + length).min(SECTOR as usize))
}

/// Merges consecutive sectors into runs of at most `longest`.
fn runs(sectors: impl Iterator<Item = u64>, longest: u64) -> impl Iterator<Item = Range<u64>> {
    let mut sectors = sectors.peekable();
    std::iter::from_fn(move || {
        let start = sectors.next()?;
        let mut end = start + 1;
        while end - start < longest && sectors.next_if_eq(&end).is_some() {
            end += 1;
        }
        Some(start..end)
    })
}
