//! File operations of a host on its volume.

use crate::{
    clock,
    disk::{Disk, STATE},
    geometry::{Geometry, SECTOR},
    host::{Access, Host, Layout, Nanoseconds},
    options::FileOptions,
    tally::Tally,
};
use fatfs::{FatType, File, FileSystem, FormatVolumeOptions, FsOptions};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};
use std::{
    cell::RefCell,
    io::{self, Read, Seek, SeekFrom, Write},
};
use thermocline_trace::{TraceError, generate::random};

/// A page of memory: the unit in which a process passes data.
const PAGE: u64 = 4096;
/// Type of a FAT32 partition addressed in sectors (LBA).
const FAT32_LBA: u8 = 0x0c;

/// A volume in use by a host.
pub(crate) struct Session {
    host: RefCell<Host>,
    geometry: Geometry,
    rng: Xoshiro256PlusPlus,
    seed: u64,
    utilization: f64,
    clusters: u64,
    free_clusters: u64,
    pub tally: Tally,
    /// The workload ends when this many bytes are written.
    pub end: u64,
}

impl Session {
    /// A host with a blank device.
    ///
    /// # Errors
    /// [`TraceError::Usage`] for sizes that do not allow FAT32.
    pub fn new(options: &FileOptions) -> Result<Self, TraceError> {
        Ok(Session {
            host: RefCell::new(Host::new(options.host)),
            geometry: Geometry::new(options.volume_bytes, options.partitioned)?,
            rng: Xoshiro256PlusPlus::seed_from_u64(options.seed),
            seed: options.seed,
            utilization: options.utilization,
            clusters: 0,
            free_clusters: 0,
            tally: Tally::default(),
            end: u64::MAX,
        })
    }

    pub fn host(&mut self) -> &mut Host {
        self.host.get_mut()
    }

    fn disk(&self, mounted: bool) -> Disk<'_> {
        let Geometry { first, sectors, .. } = self.geometry;
        Disk::new(&self.host, first * SECTOR, sectors * SECTOR, mounted)
    }

    /// Creates the partition table and the file system.
    pub fn format(&mut self) -> io::Result<()> {
        let Geometry { first, sectors, cluster } = self.geometry;
        if first > 0 {
            let table = partition_table(first as u32, sectors as u32);
            self.host().write(0, &table);
        }
        let options = FormatVolumeOptions::new()
            .fat_type(FatType::Fat32)
            .bytes_per_cluster((cluster * SECTOR) as u32)
            .volume_id(self.seed as u32 ^ (self.seed >> 32) as u32);
        fatfs::format_volume(self.disk(false), options)?;
        let mut boot = [0; SECTOR as usize];
        self.disk(false).read_exact(&mut boot)?;
        let reserved = u64::from(u16::from_le_bytes([boot[14], boot[15]]));
        let fat = u64::from(u32::from_le_bytes([boot[36], boot[37], boot[38], boot[39]]));
        let info = first + u64::from(u16::from_le_bytes([boot[48], boot[49]]));
        let data_start = first + reserved + u64::from(boot[16]) * fat;
        let host = self.host();
        host.layout = Layout { info, mirror: first + reserved + fat..data_start, data_start };
        host.sync_all();
        Ok(())
    }

    /// Inserts the medium: drops all caches and marks the volume as in use.
    pub fn mount(&mut self) -> io::Result<()> {
        self.host().drop_caches();
        self.mark(1)?;
        self.with_file_system(|_, _| Ok(()))?;
        self.host().sync_all();
        Ok(())
    }

    /// Removes the medium after writing everything back.
    pub fn unmount(&mut self) -> io::Result<()> {
        self.host().sync_all();
        self.mark(0)?;
        self.host().sync_all();
        Ok(())
    }

    fn mark(&mut self, state: u8) -> io::Result<()> {
        self.host().access = Access::Metadata;
        let mut disk = self.disk(false);
        disk.seek(SeekFrom::Start(STATE))?;
        disk.write_all(&[state])
    }

    /// Runs an operation on the file system. FSInfo is then updated in the page cache, as Linux
    /// does with each change of the free space.
    fn with_file_system<R>(
        &mut self,
        act: impl FnOnce(&FileSystem<Disk<'_>>, &RefCell<Host>) -> io::Result<R>,
    ) -> io::Result<R> {
        let host = self.host();
        host.access = Access::Metadata;
        host.run_timer();
        clock::set(host.now);
        let options = FsOptions::new().time_provider(&clock::HOST_CLOCK);
        let fs = FileSystem::new(self.disk(true), options)?;
        let result = act(&fs, &self.host)?;
        let stats = fs.stats()?;
        fs.unmount()?;
        self.clusters = u64::from(stats.total_clusters());
        self.free_clusters = u64::from(stats.free_clusters());
        Ok(result)
    }

    /// Creates a directory in the root.
    pub fn create_directory(&mut self, name: &str) -> io::Result<()> {
        self.with_file_system(|fs, host| {
            fs.root_dir().create_dir(name)?;
            host.borrow_mut().clear_root_parents();
            Ok(())
        })
    }

    /// Creates a file of this many bytes.
    pub fn create(&mut self, path: &str, bytes: u64) -> io::Result<()> {
        self.tally.files_created += 1;
        self.with_file_system(|fs, host| {
            let mut file = fs.root_dir().create_file(path)?;
            write_pages(&mut file, host, bytes, Access::Append)?;
            file.flush()
        })
    }

    /// Appends this many bytes to a file.
    pub fn append(&mut self, path: &str, bytes: u64) -> io::Result<()> {
        self.with_file_system(|fs, host| {
            let mut file = fs.root_dir().open_file(path)?;
            file.seek(SeekFrom::End(0))?;
            write_pages(&mut file, host, bytes, Access::Append)?;
            file.flush()
        })
    }

    /// Overwrites this many existing bytes of a file.
    pub fn update(&mut self, path: &str, at: u64, bytes: u64) -> io::Result<()> {
        self.with_file_system(|fs, host| {
            let mut file = fs.root_dir().open_file(path)?;
            file.seek(SeekFrom::Start(at))?;
            write_pages(&mut file, host, bytes, Access::Update)?;
            file.flush()
        })
    }

    /// Reads this many bytes of a file, with all requests sent at once.
    pub fn read(&mut self, path: &str, at: u64, bytes: u64) -> io::Result<()> {
        self.with_file_system(|fs, host| {
            let mut file = fs.root_dir().open_file(path)?;
            file.seek(SeekFrom::Start(at))?;
            host.borrow_mut().access = Access::Update;
            let read = io::copy(&mut file.take(bytes), &mut io::sink());
            let mut host = host.borrow_mut();
            host.access = Access::Metadata;
            host.send_reads();
            read.map(drop)
        })
    }

    /// Deletes a file. Its dirty data in the page cache are never written.
    pub fn remove(&mut self, path: &str) -> io::Result<()> {
        self.tally.files_deleted += 1;
        self.with_file_system(|fs, host| {
            if host.borrow().has_dirty_clusters() {
                let mut file = fs.root_dir().open_file(path)?;
                host.borrow_mut().access = Access::Discard;
                let passed = io::copy(&mut file, &mut io::sink());
                host.borrow_mut().access = Access::Metadata;
                passed?;
            }
            fs.root_dir().remove(path)
        })
    }

    /// Makes everything but FSInfo durable and waits for it (`fsync`, or the end of a camera's
    /// `close`).
    pub fn sync(&mut self) {
        self.host().sync();
    }

    /// Advances time without file operations.
    pub fn think(&mut self, time: Nanoseconds) {
        self.host().think(time);
    }

    /// Bytes available to new files below the intended utilisation.
    pub fn room(&self) -> u64 {
        let used = self.clusters - self.free_clusters;
        let wanted = libm::ceil(self.clusters as f64 * self.utilization) as u64;
        wanted.saturating_sub(used) * self.geometry.cluster * SECTOR
    }

    /// Bytes left to write before the workload ends.
    pub fn left(&self) -> u64 {
        self.end.saturating_sub(self.host.borrow().written)
    }

    /// Bytes of all clusters.
    pub fn capacity(&self) -> u64 {
        self.clusters * self.geometry.cluster * SECTOR
    }

    /// A uniform number in `0..n`.
    pub fn below(&mut self, n: u64) -> u64 {
        random::below(&mut self.rng, n)
    }

    /// A uniform number in `low..high`.
    pub fn between(&mut self, low: u64, high: u64) -> u64 {
        low + self.below(high - low)
    }

    /// True with this probability.
    pub fn chance(&mut self, share: f64) -> bool {
        random::unit(&mut self.rng) < share
    }

    /// A number between two bounds with a uniform logarithm.
    pub fn magnitude(&mut self, low: u64, high: u64) -> u64 {
        let (low, high) = (libm::log(low as f64), libm::log(high as f64));
        libm::exp(low + random::unit(&mut self.rng) * (high - low)) as u64
    }

    /// An exponentially distributed time with this mean.
    pub fn exponential(&mut self, mean: Nanoseconds) -> Nanoseconds {
        (-libm::log(1.0 - random::unit(&mut self.rng)) * mean as f64) as Nanoseconds
    }
}

/// Passes bytes page by page, as the kernel does in `write`.
fn write_pages(
    file: &mut File<'_, Disk<'_>>,
    host: &RefCell<Host>,
    bytes: u64,
    access: Access,
) -> io::Result<()> {
    const ZEROS: [u8; PAGE as usize] = [0; PAGE as usize];
    let mut left = bytes;
    while left > 0 {
        let now = left.min(PAGE);
        clock::set(host.borrow().now);
        host.borrow_mut().access = access;
        let written = file.write_all(&ZEROS[..now as usize]);
        let mut host = host.borrow_mut();
        host.access = Access::Metadata;
        written?;
        host.throttle();
        left -= now;
    }
    Ok(())
}

/// A partition table with one partition. Cylinders and heads have the values that refer to the
/// sector fields.
fn partition_table(first: u32, sectors: u32) -> [u8; SECTOR as usize] {
    let mut table = [0; SECTOR as usize];
    let entry = &mut table[446..462];
    entry[1..4].copy_from_slice(&[0xfe, 0xff, 0xff]);
    entry[4] = FAT32_LBA;
    entry[5..8].copy_from_slice(&[0xfe, 0xff, 0xff]);
    entry[8..12].copy_from_slice(&first.to_le_bytes());
    entry[12..16].copy_from_slice(&sectors.to_le_bytes());
    table[510..].copy_from_slice(&[0x55, 0xaa]);
    table
}
