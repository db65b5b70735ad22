//! A stick with a FAT32 volume, and a host that uses it and is recorded.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    io::{self, Read, Seek, SeekFrom, Write},
    ops::Range,
    rc::Rc,
};

use fatfs::{FatType, FileSystem, FormatVolumeOptions, FsOptions, format_volume};

use crate::usb::Capture;

pub const SECTOR: usize = 512;
/// Where the partition begins.
const BEGIN: u64 = 64;
/// The fewest clusters of FAT32, and some.
const CLUSTERS: u64 = 66_000;

/// The order in which a host writes back changes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Order {
    DataFirst,
    TablesFirst,
}

/// The sectors that hold anything, and those that the host changed and has not written back.
#[derive(Default)]
struct Sectors {
    all: BTreeMap<u64, [u8; SECTOR]>,
    dirty: BTreeSet<u64>,
}

/// The partition, as the file system sees it.
struct Disk {
    sectors: Rc<RefCell<Sectors>>,
    at: u64,
    length: u64,
}

impl Disk {
    /// The present sector, the offset in it, and the part of `wanted` that fits.
    fn place(&self, wanted: usize) -> (u64, usize, usize) {
        let offset = (self.at % SECTOR as u64) as usize;
        let left =
            wanted.min(SECTOR - offset).min((self.length - self.at.min(self.length)) as usize);
        (BEGIN + self.at / SECTOR as u64, offset, left)
    }
}

impl Read for Disk {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let (sector, offset, count) = self.place(into.len());
        match self.sectors.borrow().all.get(&sector) {
            Some(bytes) => into[..count].copy_from_slice(&bytes[offset..offset + count]),
            None => into[..count].fill(0),
        }
        self.at += count as u64;
        Ok(count)
    }
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let (sector, offset, count) = self.place(bytes.len());
        let mut sectors = self.sectors.borrow_mut();
        let content = sectors.all.entry(sector).or_insert([0; SECTOR]);
        content[offset..offset + count].copy_from_slice(&bytes[..count]);
        sectors.dirty.insert(sector);
        self.at += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Disk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let (base, by) = match to {
            SeekFrom::Start(at) => (0, at as i64),
            SeekFrom::Current(by) => (self.at, by),
            SeekFrom::End(by) => (self.length, by),
        };
        self.at = base.checked_add_signed(by).ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

/// A formatted stick, and the recording of its host.
pub struct Stick {
    sectors: Rc<RefCell<Sectors>>,
    per_cluster: u64,
    /// Sectors of the partition before the first cluster.
    tables: u64,
    volume: u64,
    capture: Capture,
}

impl Stick {
    /// Formatted before anybody recorded, and a recording that has begun.
    pub fn formatted(per_cluster: u64) -> Self {
        let volume = CLUSTERS * per_cluster + 1100;
        let sectors = Rc::new(RefCell::new(Sectors::default()));
        let mut stick = Self { sectors, per_cluster, tables: 0, volume, capture: Capture::begin() };
        let options = FormatVolumeOptions::new()
            .fat_type(FatType::Fat32)
            .total_sectors(volume as u32)
            .bytes_per_cluster((per_cluster * SECTOR as u64) as u32);
        format_volume(stick.disk(), options).expect("large enough");
        let mut table = [0; SECTOR];
        table[450] = 0x0c;
        table[454..458].copy_from_slice(&(BEGIN as u32).to_le_bytes());
        table[458..462].copy_from_slice(&(volume as u32).to_le_bytes());
        table[510..].copy_from_slice(&[0x55, 0xaa]);
        let boot = stick.sector(BEGIN);
        let reserved = u64::from(u16::from_le_bytes([boot[14], boot[15]]));
        let each = u32::from_le_bytes([boot[36], boot[37], boot[38], boot[39]]);
        assert_eq!((u64::from(boot[13]), boot[16]), (per_cluster, 2));
        stick.tables = reserved + 2 * u64::from(each);
        let mut sectors = stick.sectors.borrow_mut();
        sectors.all.insert(0, table);
        sectors.dirty.clear();
        drop(sectors);
        stick
    }

    /// Sectors of the whole stick.
    pub fn len(&self) -> u64 {
        BEGIN + self.volume + 500
    }

    fn disk(&self) -> Disk {
        let length = self.volume * SECTOR as u64;
        Disk { sectors: Rc::clone(&self.sectors), at: 0, length }
    }

    fn sector(&self, number: u64) -> [u8; SECTOR] {
        self.sectors.borrow().all.get(&number).copied().unwrap_or([0; SECTOR])
    }

    fn bytes(&self, range: Range<u64>) -> Vec<u8> {
        range.flat_map(|number| self.sector(number)).collect()
    }

    /// The host asks how large it is.
    pub fn say_capacity(&mut self) {
        let sectors = self.len();
        self.capture.capacity(sectors as u32);
    }

    /// The host reads the partition table, the boot sectors, FSInfo and both FATs, as its page
    /// cache does it.
    pub fn plug_in(&mut self) {
        let tables = BEGIN..BEGIN + self.tables.next_multiple_of(8);
        self.read(0..8);
        for first in tables.clone().step_by(64) {
            self.read(first..tables.end.min(first + 64));
        }
    }

    fn read(&mut self, range: Range<u64>) {
        let bytes = self.bytes(range.clone());
        self.capture.read(range.start, &bytes);
    }

    /// Writes a file of `clusters` clusters.
    pub fn create(&mut self, name: &str, clusters: u64, order: Order) {
        let bytes = vec![0xa5; (clusters * self.per_cluster) as usize * SECTOR];
        self.mounted(|root| root.create_file(name).and_then(|mut file| file.write_all(&bytes)));
        self.write_back(order);
    }

    pub fn delete(&mut self, name: &str) {
        self.mounted(|root| root.remove(name));
        self.write_back(Order::DataFirst);
    }

    fn mounted(&self, work: impl FnOnce(&fatfs::Dir<'_, Disk>) -> io::Result<()>) {
        let files = FileSystem::new(self.disk(), FsOptions::new()).expect("FAT32");
        assert_eq!(files.fat_type(), FatType::Fat32);
        work(&files.root_dir()).expect("room for it");
        files.unmount().expect("in memory");
    }

    /// Everything that changed goes to the stick, in runs of consecutive sectors, and a flush after
    /// it.
    fn write_back(&mut self, order: Order) {
        let dirty = std::mem::take(&mut self.sectors.borrow_mut().dirty);
        let heap = BEGIN + self.tables;
        let (tables, data): (Vec<u64>, Vec<u64>) = dirty.into_iter().partition(|s| *s < heap);
        let halves = match order {
            Order::DataFirst => [data, tables],
            Order::TablesFirst => [tables, data],
        };
        for half in &halves {
            for run in half.chunk_by(|a, b| a + 1 == *b).flat_map(|run| run.chunks(64)) {
                let bytes = self.bytes(run[0]..run[0] + run.len() as u64);
                self.capture.write(run[0], &bytes);
            }
        }
        self.capture.flush();
        self.capture.pause(2_000_000);
    }

    /// The recording.
    pub fn unplug(self) -> Vec<u8> {
        self.capture.end()
    }
}
