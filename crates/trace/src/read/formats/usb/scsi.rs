//! The SCSI commands of USB disks, decoded from their command blocks (SBC-4; SPC-5 for the common
//! ones). Numbers are big endian.

/// Plausible sector sizes; other values in a reply are noise.
const SECTORS: std::ops::RangeInclusive<u64> = 256..=65_536;

/// Bytes of an UNMAP parameter list before its ranges, and of each range.
const UNMAP_HEADER: usize = 8;
const UNMAP_RANGE: usize = 16;

/// The bit of WRITE SAME that makes it a trim.
const UNMAP_BIT: u8 = 0x08;

/// A decoded command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Command {
    Read(Blocks),
    Write(Blocks),
    /// One sector of data, written to the whole range.
    WriteSame(Blocks),
    /// WRITE SAME whose UNMAP bit is set.
    Trim(Blocks),
    /// The ranges are in the data, which have this many bytes.
    Unmap(u16),
    Flush,
    /// The sector size is in the reply. The 16-byte command has a longer reply.
    Capacity {
        long: bool,
    },
    Other,
}

/// A range in sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Blocks {
    pub(super) first: u64,
    pub(super) count: u64,
}

impl Command {
    /// Decodes a command block padded with zeros to 16 bytes.
    pub(super) fn of(cdb: &[u8; 16]) -> Command {
        let ten = || Blocks { first: be(&cdb[2..6]), count: be(&cdb[7..9]) };
        let twelve = || Blocks { first: be(&cdb[2..6]), count: be(&cdb[6..10]) };
        let sixteen = || Blocks { first: be(&cdb[2..10]), count: be(&cdb[10..14]) };
        // 21 bits of address; a count of 0 means 256.
        let six = || Blocks {
            first: be(&cdb[1..4]) & 0x1f_ffff,
            count: if cdb[4] == 0 { 256 } else { u64::from(cdb[4]) },
        };
        let same = |blocks| match cdb[1] & UNMAP_BIT {
            0 => Command::WriteSame(blocks),
            _ => Command::Trim(blocks),
        };
        match cdb[0] {
            0x08 => Command::Read(six()),
            0x28 => Command::Read(ten()),
            0xa8 => Command::Read(twelve()),
            0x88 => Command::Read(sixteen()),
            0x0a => Command::Write(six()),
            // WRITE, and WRITE AND VERIFY, which has the same layout.
            0x2a | 0x2e => Command::Write(ten()),
            0xaa | 0xae => Command::Write(twelve()),
            0x8a | 0x8e => Command::Write(sixteen()),
            0x41 => same(ten()),
            0x93 => same(sixteen()),
            0x42 => Command::Unmap(be(&cdb[7..9]) as u16),
            0x35 | 0x91 => Command::Flush,
            0x25 => Command::Capacity { long: false },
            // Service action 10h of SERVICE ACTION IN(16).
            0x9e if cdb[1] & 0x1f == 0x10 => Command::Capacity { long: true },
            _ => Command::Other,
        }
    }
}

/// The sector size in bytes in the reply to READ CAPACITY, if plausible.
pub(super) fn sector_of(long: bool, reply: &[u8]) -> Option<u64> {
    let at = if long { 8 } else { 4 };
    sector(be(reply.get(at..at + 4)?))
}

/// The size of the disk in bytes in the same reply; `None` if it does not fit that reply.
pub(super) fn disk_of(long: bool, reply: &[u8]) -> Option<u64> {
    let (last, most) = if long { (8, u64::MAX) } else { (4, u64::from(u32::MAX)) };
    let last = Some(be(reply.get(..last)?)).filter(|last| *last < most)?;
    (last + 1).checked_mul(sector_of(long, reply)?)
}

/// `bytes` if they are a plausible sector size.
pub(super) fn sector(bytes: u64) -> Option<u64> {
    (SECTORS.contains(&bytes) && bytes.is_power_of_two()).then_some(bytes)
}

/// The ranges of an UNMAP parameter list that are available.
pub(super) fn ranges(list: &[u8]) -> impl DoubleEndedIterator<Item = Blocks> + '_ {
    let there = list.get(UNMAP_HEADER..).unwrap_or_default();
    let there = &there[..there.len().min(ranges_bytes(list))];
    there
        .chunks_exact(UNMAP_RANGE)
        .map(|range| Blocks { first: be(&range[..8]), count: be(&range[8..12]) })
}

/// Whether all ranges of an UNMAP parameter list are available.
pub(super) fn is_whole(list: &[u8]) -> bool {
    list.len() >= UNMAP_HEADER && list.len() - UNMAP_HEADER >= ranges_bytes(list)
}

/// Whether these bytes can only be an UNMAP parameter list.
pub(super) fn is_unmap_list(bytes: &[u8]) -> bool {
    bytes.len() > UNMAP_HEADER
        && be(&bytes[..2]) as usize == bytes.len() - 2
        && be(&bytes[2..4]) as usize == bytes.len() - UNMAP_HEADER
        && (bytes.len() - UNMAP_HEADER).is_multiple_of(UNMAP_RANGE)
}

/// The length of the ranges in bytes as stated by the list.
fn ranges_bytes(list: &[u8]) -> usize {
    list.get(2..4).map_or(0, |length| be(length) as usize)
}

fn be(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(bytes: &[u8]) -> Command {
        let mut cdb = [0; 16];
        cdb[..bytes.len()].copy_from_slice(bytes);
        Command::of(&cdb)
    }

    #[test]
    fn each_length_of_a_command_keeps_its_numbers_elsewhere() {
        let blocks = |first, count| Blocks { first, count };
        assert_eq!(command(&[0x08, 0xff, 2, 3, 0]), Command::Read(blocks(0x1f_0203, 256)));
        assert_eq!(command(&[0x0a, 0, 2, 3, 9]), Command::Write(blocks(0x203, 9)));
        assert_eq!(
            command(&[0x28, 0, 1, 2, 3, 4, 0, 5, 6, 0]),
            Command::Read(blocks(0x0102_0304, 0x506))
        );
        assert_eq!(
            command(&[0xaa, 0, 1, 2, 3, 4, 5, 6, 7, 8]),
            Command::Write(blocks(0x0102_0304, 0x0506_0708))
        );
        assert_eq!(
            command(&[0x88, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]),
            Command::Read(blocks(0x0102_0304_0506_0708, 0x090a_0b0c))
        );
        assert_eq!(
            command(&[0x93, 8, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 2]),
            Command::Trim(blocks(7, 2))
        );
        assert_eq!(command(&[0x41, 0, 0, 0, 0, 7, 0, 0, 2]), Command::WriteSame(blocks(7, 2)));
        assert_eq!(command(&[0x42, 0, 0, 0, 0, 0, 0, 0, 24]), Command::Unmap(24));
        assert_eq!(command(&[0x9e, 0x10]), Command::Capacity { long: true });
        assert_eq!(command(&[0x9e, 0x12]), Command::Other, "GET LBA STATUS");
    }

    #[test]
    fn a_cut_list_of_ranges_gives_those_that_are_there() {
        let mut list = vec![0, 38, 0, 32, 0, 0, 0, 0];
        for (first, count) in [(5_u64, 6_u32), (7, 8)] {
            list.extend(first.to_be_bytes());
            list.extend(count.to_be_bytes());
            list.extend([0; 4]);
        }
        let two = [Blocks { first: 5, count: 6 }, Blocks { first: 7, count: 8 }];
        assert_eq!(ranges(&list).collect::<Vec<_>>(), two);
        assert!(is_whole(&list) && is_unmap_list(&list));
        let cut = &list[..32];
        assert_eq!(ranges(cut).collect::<Vec<_>>(), two[..1]);
        assert!(!is_whole(cut) && !is_unmap_list(cut));
        assert!(!is_whole(&[]) && ranges(&[]).next().is_none());
    }

    #[test]
    fn impossible_sector_sizes_are_not_believed() {
        let reply = |sector: u32| [[0, 0, 0, 9], sector.to_be_bytes()].concat();
        assert_eq!(sector_of(false, &reply(512)), Some(512));
        assert_eq!(sector_of(false, &reply(0)), None);
        assert_eq!(sector_of(false, &reply(1000)), None);
        assert_eq!(sector_of(false, &reply(512)[..7]), None);
        assert_eq!(sector_of(true, &[0; 8]), None);
    }
}
