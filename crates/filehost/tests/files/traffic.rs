//! The traffic of a workload, and the resulting device.

use std::{
    collections::BTreeSet,
    ops::Range,
    sync::{Mutex, OnceLock},
};
use thermocline_filehost::{FileOptions, FileWorkload, Scenario, Tally};
use thermocline_trace::{Op, Request, Source};

pub const SECTOR: usize = 512;
/// Seven eighths of the 64 MB of the thesis.
pub const VOLUME: u64 = 56 << 20;
/// Duration of a fold on the chip of the thesis (spec of the block-mapped layer: 20,128 µs).
pub const FOLD: u64 = 20_128_000;

/// A request with its data, if they are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub request: Request,
    pub bytes: Option<Vec<u8>>,
}

/// All requests of a workload.
pub struct Traffic {
    pub sent: Vec<Sent>,
    pub prelude: usize,
    pub tally: Tally,
}

impl Traffic {
    pub fn of(scenario: Scenario, options: &FileOptions) -> Traffic {
        let mut source = FileWorkload::new(scenario, options).expect("a volume");
        let (mut batch, mut sent) = (Vec::new(), Vec::new());
        loop {
            source.next_batch(&mut batch, 777).expect("generators do not fail");
            if batch.is_empty() {
                break;
            }
            assert!(batch.len() <= 777);
            sent.extend(batch.iter().enumerate().map(|(i, request)| Sent {
                request: *request,
                bytes: source.contents().of(i).map(<[u8]>::to_vec),
            }));
        }
        Traffic { sent, prelude: source.prelude() as usize, tally: source.tally() }
    }

    /// The scenario with default settings, generated once for all tests.
    pub fn usual(scenario: Scenario) -> &'static Traffic {
        static ALL: OnceLock<Vec<(Scenario, OnceLock<Traffic>)>> = OnceLock::new();
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        let all = ALL.get_or_init(|| Scenario::ALL.map(|s| (s, OnceLock::new())).into());
        let slot = all.iter().find(|(s, _)| *s == scenario).expect("all are there");
        let _turn = ONE_AT_A_TIME.lock();
        slot.1.get_or_init(|| Traffic::of(scenario, &FileOptions::new(VOLUME)))
    }

    /// Requests after the prelude.
    pub fn proper(&self) -> &[Sent] {
        &self.sent[self.prelude..]
    }

    /// Gaps between arrivals after the prelude, in nanoseconds.
    pub fn gaps(&self) -> Vec<u64> {
        self.proper().windows(2).map(|w| w[1].request.time_ns - w[0].request.time_ns).collect()
    }
}

/// The device after some requests.
pub fn image(sent: &[Sent], volume_bytes: u64, known_only: bool) -> Vec<u8> {
    let mut image = vec![0; volume_bytes as usize];
    for Sent { request, bytes } in sent.iter().filter(|sent| sent.request.op == Op::Write) {
        let place = request.offset as usize..(request.offset + request.len) as usize;
        match bytes {
            Some(bytes) => image[place].copy_from_slice(bytes),
            None if known_only => {}
            None => image[place].fill(0),
        }
    }
    image
}

/// A FAT32 volume, parsed by Microsoft's specification and not by the library that created it.
pub struct Fat {
    pub first: usize,
    pub cluster: usize,
    pub clusters: usize,
    pub reserved: usize,
    pub fat_sectors: usize,
    root: u32,
}

fn word(bytes: &[u8], at: usize) -> usize {
    usize::from(u16::from_le_bytes([bytes[at], bytes[at + 1]]))
}

fn long(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize
}

impl Fat {
    /// Parses the volume of a device with or without a partition table.
    pub fn read(image: &[u8], partitioned: bool) -> Fat {
        let first = if partitioned {
            assert_eq!((image[510], image[511], image[446 + 4]), (0x55, 0xaa, 0x0c));
            long(image, 446 + 8)
        } else {
            0
        };
        let boot = &image[first * SECTOR..][..SECTOR];
        assert_eq!((boot[510], boot[511], word(boot, 11)), (0x55, 0xaa, SECTOR));
        assert_eq!((boot[16], word(boot, 17), word(boot, 19), word(boot, 22)), (2, 0, 0, 0));
        let (reserved, fat_sectors, sectors) = (word(boot, 14), long(boot, 36), long(boot, 32));
        let cluster = usize::from(boot[13]);
        let clusters = (sectors - reserved - 2 * fat_sectors) / cluster;
        assert!(clusters >= 65_525, "FAT32");
        assert!(first + sectors <= image.len() / SECTOR);
        if partitioned {
            assert_eq!(long(image, 446 + 12), sectors);
        }
        Fat { first, cluster, clusters, reserved, fat_sectors, root: long(boot, 44) as u32 }
    }

    pub fn fat(&self, copy: usize) -> Range<usize> {
        let start = self.first + self.reserved + copy * self.fat_sectors;
        start..start + self.fat_sectors
    }

    pub fn data_start(&self) -> usize {
        self.fat(1).end
    }

    pub fn entry(&self, image: &[u8], copy: usize, cluster: u32) -> u32 {
        let at = self.fat(copy).start * SECTOR + cluster as usize * 4;
        long(image, at) as u32 & 0x0fff_ffff
    }

    pub fn used(&self, image: &[u8]) -> usize {
        (2..self.clusters as u32 + 2).filter(|c| self.entry(image, 0, *c) != 0).count()
    }

    fn chain(&self, image: &[u8], first: u32) -> Vec<u32> {
        let mut chain = Vec::new();
        let mut next = first;
        while (2..0x0fff_fff7).contains(&next) {
            assert!((next as usize) < self.clusters + 2 && chain.len() <= self.clusters);
            chain.push(next);
            next = self.entry(image, 0, next);
        }
        chain
    }

    pub fn sectors_of(&self, cluster: u32) -> Range<usize> {
        let start = self.data_start() + (cluster as usize - 2) * self.cluster;
        start..start + self.cluster
    }

    /// Sectors of all directories, and the clusters of each file.
    pub fn walk(&self, image: &[u8]) -> (BTreeSet<usize>, Vec<Vec<u32>>) {
        let (mut sectors, mut files, mut open) = (BTreeSet::new(), Vec::new(), vec![self.root]);
        while let Some(directory) = open.pop() {
            for sector in self.chain(image, directory).into_iter().flat_map(|c| self.sectors_of(c))
            {
                sectors.insert(sector);
                for entry in image[sector * SECTOR..][..SECTOR].chunks(32) {
                    if matches!(entry[0], 0 | 0xe5 | b'.') || entry[11] & 0x08 != 0 {
                        continue;
                    }
                    let first = (word(entry, 20) << 16 | word(entry, 26)) as u32;
                    if entry[11] & 0x10 != 0 {
                        open.push(first);
                        continue;
                    }
                    let clusters = self.chain(image, first);
                    let bytes = self.cluster * SECTOR;
                    assert_eq!(clusters.len(), long(entry, 28).div_ceil(bytes), "size and chain");
                    files.push(clusters);
                }
            }
        }
        (sectors, files)
    }
}
