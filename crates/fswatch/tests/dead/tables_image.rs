//! Partition tables built by hand.

use std::ops::Range;

use crc::{CRC_32_ISO_HDLC, Crc};

use crate::disk::{SECTOR, Sector};

/// An MBR or EBR of up to four entries: type, first sector as stored, number of sectors.
pub fn mbr(entries: &[(u8, u64, u64)]) -> Sector {
    let mut s = [0; SECTOR];
    for (i, (kind, first, sectors)) in entries.iter().enumerate() {
        let entry = &mut s[446 + 16 * i..446 + 16 * (i + 1)];
        entry[4] = *kind;
        entry[8..12].copy_from_slice(&(*first as u32).to_le_bytes());
        entry[12..16].copy_from_slice(&(*sectors as u32).to_le_bytes());
    }
    s[510..].copy_from_slice(&[0x55, 0xaa]);
    s
}

pub const BASIC_DATA: &str = "EBD0A0A2-B9E5-4433-87C0-68B6B72699C7";
pub const EFI_SYSTEM: &str = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B";
pub const LINUX: &str = "0FC63DAF-8483-4772-8E79-3D69D8477DE4";

/// A GUID in its stored form: its first three fields are little-endian.
fn guid(text: &str) -> [u8; 16] {
    let digits: String = text.chars().filter(|c| *c != '-').collect();
    let mut bytes = u128::from_str_radix(&digits, 16).expect("a GUID").to_be_bytes();
    bytes[..4].reverse();
    bytes[4..6].reverse();
    bytes[6..8].reverse();
    bytes
}

fn crc(bytes: &[u8]) -> [u8; 4] {
    Crc::<u32>::new(&CRC_32_ISO_HDLC).checksum(bytes).to_le_bytes()
}

/// A protective MBR, a header and 128 entries.
pub fn gpt(device: u64, partitions: &[(&str, Range<u64>)]) -> Vec<(u64, Sector)> {
    let mut entries = vec![0; 128 * 128];
    for (entry, (kind, range)) in entries.chunks_exact_mut(128).zip(partitions) {
        entry[..16].copy_from_slice(&guid(kind));
        entry[16] = 1;
        entry[32..40].copy_from_slice(&range.start.to_le_bytes());
        entry[40..48].copy_from_slice(&(range.end - 1).to_le_bytes());
    }
    let mut header = [0; SECTOR];
    header[..8].copy_from_slice(b"EFI PART");
    header[10] = 1;
    header[12..16].copy_from_slice(&92u32.to_le_bytes());
    header[24..32].copy_from_slice(&1u64.to_le_bytes());
    header[32..40].copy_from_slice(&(device - 1).to_le_bytes());
    header[40..48].copy_from_slice(&34u64.to_le_bytes());
    header[48..56].copy_from_slice(&(device - 34).to_le_bytes());
    header[72..80].copy_from_slice(&2u64.to_le_bytes());
    header[80..84].copy_from_slice(&128u32.to_le_bytes());
    header[84..88].copy_from_slice(&128u32.to_le_bytes());
    header[88..92].copy_from_slice(&crc(&entries));
    let sum = crc(&header[..92]);
    header[16..20].copy_from_slice(&sum);
    let mut image = vec![(0, mbr(&[(0xee, 1, device - 1)])), (1, header)];
    for (i, sector) in entries.chunks_exact(SECTOR).enumerate() {
        image.push((2 + i as u64, sector.try_into().expect("a sector")));
    }
    image
}
