//! Finds where file systems may begin: MBR with its chain of EBRs, GPT, or no table.
//!
//! A disk's tables are untrusted. Every number is checked, every chain is bounded, and a table that
//! contradicts itself yields nothing.

use alloc::{vec, vec::Vec};
use core::ops::Range;

use crc::{CRC_32_ISO_HDLC, Crc};

use thermocline_ftl::Layer;

use crate::{
    exfat, ext, fat, ntfs,
    sectors::{Sectors, is_signed, le32, le64, overlap},
};

/// Maximum number of extended boot records followed.
const MAX_LINKS: u32 = 16;
/// Maximum number of partitions examined.
const MAX_PARTITIONS: usize = 16;
/// Maximum size of a GPT's entries in bytes: eight times the usual.
const MAX_ENTRIES: u64 = 128 << 10;

const ENTRIES_AT: usize = 446;
/// FAT12, FAT16 of either size, FAT32 and FAT16 by their logical addresses.
const FAT: [u8; 6] = [0x01, 0x04, 0x06, 0x0b, 0x0c, 0x0e];
/// The type of both exFAT and NTFS.
const EXFAT: u8 = 0x07;
const LINUX: u8 = 0x83;
const EXTENDED: [u8; 2] = [0x05, 0x0f];
const PROTECTIVE: u8 = 0xee;

/// EBD0A0A2-B9E5-4433-87C0-68B6B72699C7 in its stored form.
const BASIC_DATA: [u8; 16] = [
    0xa2, 0xa0, 0xd0, 0xeb, 0xe5, 0xb9, 0x33, 0x44, 0x87, 0xc0, 0x68, 0xb6, 0xb7, 0x26, 0x99, 0xc7,
];
/// C12A7328-F81F-11D2-BA4B-00A0C93EC93B in its stored form.
const EFI_SYSTEM: [u8; 16] = [
    0x28, 0x73, 0x2a, 0xc1, 0x1f, 0xf8, 0xd2, 0x11, 0xba, 0x4b, 0x00, 0xa0, 0xc9, 0x3e, 0xc9, 0x3b,
];

/// 0FC63DAF-8483-4772-8E79-3D69D8477DE4 in its stored form.
const LINUX_DATA: [u8; 16] = [
    0xaf, 0x3d, 0xc6, 0x0f, 0x83, 0x84, 0x72, 0x47, 0x8e, 0x79, 0x3d, 0x69, 0xd8, 0x47, 0x7d, 0xe4,
];

/// The content of a disk's tables.
#[derive(Debug, Default)]
pub(crate) struct Partitions {
    /// Sectors of the tables. A write here may change everything else.
    pub tables: Vec<Range<u64>>,
    /// Ranges that may hold a supported file system. They do not overlap.
    pub candidates: Vec<Range<u64>>,
}

/// An entry of an MBR or EBR, with sector numbers as stored.
#[derive(Clone, Copy)]
struct Entry {
    kind: u8,
    first: u64,
    sectors: u64,
}

impl Entry {
    /// The four entries of a table, if the sector is one and not the text and code of a boot
    /// sector.
    fn all(sector: &[u8]) -> Option<[Self; 4]> {
        let entry = |i: usize| sector.get(ENTRIES_AT + 16 * i..ENTRIES_AT + 16 * (i + 1));
        let mut all = [Self { kind: 0, first: 0, sectors: 0 }; 4];
        for (i, slot) in all.iter_mut().enumerate() {
            let bytes = entry(i)?;
            if bytes[0] & 0x7f != 0 {
                return None;
            }
            let sectors = u64::from(le32(bytes, 12));
            *slot = Self { kind: bytes[4], first: u64::from(le32(bytes, 8)), sectors };
        }
        is_signed(sector).then_some(all)
    }

    fn is_used(&self) -> bool {
        self.kind != 0 && self.sectors != 0
    }

    fn is_of_interest(&self) -> bool {
        self.kind == EXFAT || self.kind == LINUX || FAT.contains(&self.kind)
    }

    fn is_extended(&self) -> bool {
        EXTENDED.contains(&self.kind)
    }

    /// Its sectors, relative to `base`.
    fn from(&self, base: u64) -> Range<u64> {
        base + self.first..base + self.first + self.sectors
    }
}

/// The ranges found so far, and whether they contradict each other.
struct Found {
    /// Ranges of other partitions, which nothing may overlap.
    others: Vec<Range<u64>>,
    result: Partitions,
}

impl Found {
    fn table(&mut self, sectors: Range<u64>) {
        self.result.tables.push(sectors.clone());
        self.others.push(sectors);
    }

    fn partition(&mut self, sectors: Range<u64>, is_of_interest: bool) {
        if is_of_interest && self.result.candidates.len() < MAX_PARTITIONS {
            self.result.candidates.push(sectors);
        } else {
            self.others.push(sectors);
        }
    }

    /// The candidates within the device; none if any ranges overlap.
    fn finish(mut self, sectors: u64) -> Partitions {
        let mut all = self.others;
        all.extend(self.result.candidates.iter().cloned());
        all.sort_unstable_by_key(|range| range.start);
        if all.windows(2).any(|pair| overlap(&pair[0], &pair[1])) {
            self.result.candidates.clear();
        }
        self.result.candidates.retain(|range| range.end <= sectors);
        self.result
    }
}

/// Looks for partitions.
pub(crate) fn find<L: Layer + ?Sized>(
    sectors: &mut Sectors<'_, L>,
    small_media: bool,
) -> Partitions {
    let device = sectors.shape.sectors;
    let sector_size = sectors.shape.sector_size;
    let mut found = Found { others: vec![], result: Partitions::default() };
    found.table(0..1);
    let Some(first) = sectors.read(0) else { return found.result };
    let whole = 0..device;
    let entries = Entry::all(first).filter(|all| all.iter().any(Entry::is_used));
    let is_blank = first.iter().all(|&byte| byte == 0);
    let is_volume = fat::Layout::read(first, &whole, sector_size, small_media).is_some()
        || exfat::Layout::read(first, &whole, sector_size).is_some()
        || ntfs::Boot::read(first, &whole, sector_size).is_some()
        || ext::Layout::read_superblock(&whole, sectors).is_some();
    let Some(entries) = entries else {
        // Without a table the volume is the whole device, and its first sector belongs to it.
        if is_volume {
            return Partitions { tables: vec![], candidates: vec![whole] };
        }
        // An ext volume leaves the first sector blank.
        if is_blank {
            let (home, _) = ext::Layout::home(0, sector_size);
            found.table(home..home + 1);
        }
        return found.result;
    };
    if is_volume {
        // A volume and a table at once: the volume overlaps whatever the table lists.
        return found.result;
    }
    if entries.iter().any(|entry| entry.kind == PROTECTIVE) {
        gpt(sectors, &mut found);
        return found.finish(device);
    }
    let mut containers: Vec<Range<u64>> = vec![];
    let mut links = MAX_LINKS;
    for entry in entries.iter().filter(|entry| entry.is_used()) {
        let range = entry.from(0);
        if !entry.is_extended() {
            found.partition(range, entry.is_of_interest());
        } else if containers.iter().any(|other| overlap(other, &range)) {
            found.result.candidates.clear();
            return found.result;
        } else {
            containers.push(range);
        }
    }
    // Partitions beside the containers must not lie within them.
    let beside = found.others.iter().chain(&found.result.candidates);
    if beside.into_iter().any(|range| containers.iter().any(|c| overlap(c, range))) {
        found.result.candidates.clear();
        return found.result;
    }
    for container in &containers {
        ebr_chain(sectors, container, &mut links, &mut found);
    }
    found.finish(device)
}

/// Follows the logical partitions of an extended one. An invalid chain is discarded with all its
/// partitions.
fn ebr_chain<L: Layer + ?Sized>(
    sectors: &mut Sectors<'_, L>,
    container: &Range<u64>,
    links: &mut u32,
    found: &mut Found,
) {
    let candidates = found.result.candidates.len();
    let mut at = container.start;
    let is_sound = loop {
        if *links == 0 {
            // Longer than any real chain; its rest may overlap what was found.
            break false;
        }
        *links -= 1;
        found.table(at..at + 1);
        let Some([logical, next, ..]) = sectors.read(at).and_then(Entry::all) else { break false };
        if logical.is_used() {
            let range = logical.from(at);
            if logical.first == 0 || range.end > container.end {
                break false;
            }
            found.partition(range, logical.is_of_interest());
        }
        if !next.is_used() {
            break true;
        }
        at = container.start + next.first;
        if !next.is_extended() || !container.contains(&at) || next.first == 0 {
            break false;
        }
    };
    if !is_sound {
        let dropped = found.result.candidates.split_off(candidates);
        found.others.extend(dropped);
    }
}

/// Parses a GUID partition table, if both of its checksums are right.
fn gpt<L: Layer + ?Sized>(sectors: &mut Sectors<'_, L>, found: &mut Found) {
    found.table(1..2);
    let sector_size = sectors.shape.sector_size as u64;
    let Some(header) = sectors.read(1) else { return };
    let crc = Crc::<u32>::new(&CRC_32_ISO_HDLC);
    let length = le32(header, 12) as usize;
    let is_header = header.starts_with(b"EFI PART")
        && (92..=header.len()).contains(&length)
        && le64(header, 24) == 1
        && {
            let mut digest = crc.digest();
            digest.update(&header[..16]);
            digest.update(&[0; 4]);
            digest.update(&header[20..length]);
            digest.finalize() == le32(header, 16)
        };
    let first = le64(header, 72);
    let (count, size) = (u64::from(le32(header, 80)), u64::from(le32(header, 84)));
    let expected = le32(header, 88);
    let is_sane =
        size >= 128 && size.is_power_of_two() && count.saturating_mul(size) <= MAX_ENTRIES;
    if !is_header || !is_sane || count == 0 || first < 2 {
        return;
    }
    let mut left = count * size;
    let Some(end) = first.checked_add(left.div_ceil(sector_size)) else { return };
    if end > sectors.shape.sectors {
        return;
    }
    found.table(first..end);
    let mut digest = crc.digest();
    let mut entries: Vec<(Range<u64>, bool)> = vec![];
    for sector in first..end {
        let Some(bytes) = sectors.read(sector) else { return };
        let bytes = &bytes[..left.min(sector_size) as usize];
        digest.update(bytes);
        left -= bytes.len() as u64;
        // The known fields of an entry are its first 56 bytes. For entries longer than a sector,
        // sectors in which no entry begins are skipped.
        let offset = (sector - first) * sector_size;
        let is_first = |at: &usize| (offset + *at as u64).is_multiple_of(size);
        for at in (0..bytes.len()).step_by(128).filter(is_first) {
            let entry = &bytes[at..];
            if entry[..16] == [0; 16] {
                continue;
            }
            let (from, last) = (le64(entry, 32), le64(entry, 40));
            if from > last || last == u64::MAX {
                return;
            }
            let kind = &entry[..16];
            entries.push((
                from..last + 1,
                [BASIC_DATA, EFI_SYSTEM, LINUX_DATA].iter().any(|one| kind == one),
            ));
        }
    }
    if digest.finalize() == expected {
        for (range, is_of_interest) in entries {
            found.partition(range, is_of_interest);
        }
    }
}
