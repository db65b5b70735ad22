//! What the medium writes into zones beside the pages: blocks of facts, in the record log and behind full zones.
//!
//! A block is a page long: a head of 64 bytes, then entries of 32. Numbers are little endian.
//!
//! | bytes of the head | |
//! |---|---|
//! | 0..4 | `TZLG` in the record log, `TZTB` in a table |
//! | 4..8 | CRC-32C of the block, with zeros here |
//! | 8..16 | number of the store, drawn when it is made |
//! | 16..24 | generation of the log; in a table the resets of the zone |
//! | 24..28 | number of the block in its zone's log, or in its table |
//! | 28..32 | entries; in a table the number of the erase block |
//! | 32..44 | the zones of the record log |
//! | 44..48 | pages of data in a zone |

use thermocline_flash::{BlockId, Ppn};

use crate::record::{self, Record, checksum};

/// Bytes of an entry.
pub(super) const ENTRY: usize = 32;
const HEAD: usize = 64;
/// Zones of the record log.
pub(super) const LOG_ZONES: usize = 3;
/// Resets of so many zones are in one entry.
const LIVES: usize = 6;

/// The kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Log,
    Table,
}

impl Kind {
    const fn magic(self) -> [u8; 4] {
        match self {
            Self::Log => *b"TZLG",
            Self::Table => *b"TZTB",
        }
    }
}

/// How a zone is divided: pages of data, then a table of what stands beside them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Bytes of a page.
    pub(super) page: u32,
    /// Pages of data.
    pub(super) data: u32,
    /// Bytes that can be written.
    pub(super) capacity: u64,
}

impl Layout {
    /// Of zones of that capacity; nothing where they are too small.
    pub(super) fn of(page: u32, capacity: u64) -> Option<Self> {
        let pages = u32::try_from(capacity / u64::from(page)).ok()?;
        let each = entries(page) as u32;
        let data = pages - pages.div_ceil(each + 1);
        (data >= 2 && pages >= 6).then_some(Self { page, data, capacity })
    }

    /// Entries of a block.
    pub(super) const fn each(&self) -> usize {
        entries(self.page)
    }

    /// Bytes of so many pages.
    pub(super) fn bytes(&self, pages: u32) -> u64 {
        u64::from(pages) * u64::from(self.page)
    }

    /// Blocks of the table of so many pages.
    pub(super) const fn table(&self, pages: u32) -> u32 {
        pages.div_ceil(self.each() as u32)
    }
}

const fn entries(page: u32) -> usize {
    (page as usize - HEAD) / ENTRY
}

/// The head of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) kind: Kind,
    pub(super) store: u64,
    /// In a table the resets of the zone.
    pub(super) generation: u64,
    pub(super) number: u32,
    /// In a table the erase block.
    pub(super) count: u32,
    pub(super) zones: [u32; LOG_ZONES],
    pub(super) data: u32,
}

impl Head {
    /// Writes the head of a block whose entries stand, and the checksum.
    pub(super) fn write(&self, block: &mut [u8]) {
        block[..HEAD].fill(0);
        block[..4].copy_from_slice(&self.kind.magic());
        block[8..16].copy_from_slice(&self.store.to_le_bytes());
        block[16..24].copy_from_slice(&self.generation.to_le_bytes());
        block[24..28].copy_from_slice(&self.number.to_le_bytes());
        block[28..32].copy_from_slice(&self.count.to_le_bytes());
        for (zone, at) in self.zones.iter().zip((32..).step_by(4)) {
            block[at..at + 4].copy_from_slice(&zone.to_le_bytes());
        }
        block[44..48].copy_from_slice(&self.data.to_le_bytes());
        let sum = checksum(block);
        block[4..8].copy_from_slice(&sum.to_le_bytes());
    }

    /// The head of a whole block of that kind.
    pub(super) fn read(kind: Kind, block: &[u8]) -> Option<Self> {
        if block.len() < HEAD || block[..4] != kind.magic() {
            return None;
        }
        let sum = crc32c::crc32c_append(checksum(&block[..4]), &[0; 4]);
        let sum = crc32c::crc32c_append(sum, &block[8..]);
        if sum != u32_at(block, 4) {
            return None;
        }
        Some(Self {
            kind,
            store: u64_at(block, 8),
            generation: u64_at(block, 16),
            number: u32_at(block, 24),
            count: u32_at(block, 28),
            zones: [u32_at(block, 32), u32_at(block, 36), u32_at(block, 40)],
            data: u32_at(block, 44),
        })
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut value = [0; 4];
    value.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(value)
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut value = [0; 8];
    value.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(value)
}

/// The entries of a block, each as it stands there.
pub(super) fn entries_of(block: &[u8]) -> impl Iterator<Item = &Record> {
    block[HEAD..].as_chunks::<ENTRY>().0.iter()
}

/// Puts an entry into a block.
pub(super) fn put_entry(block: &mut [u8], number: usize, entry: &Record) {
    block[HEAD + number * ENTRY..][..ENTRY].copy_from_slice(entry);
}

/// Something that remains true until a later fact says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fact {
    /// What stands beside a page.
    Area(Ppn, Record),
    /// A block was erased, so many times now.
    Erased(BlockId, u32),
    /// A block must not be used.
    Bad(BlockId),
    /// The table of a block's first pages lasts, behind them.
    Tabled(BlockId, u32),
    /// Erases of the blocks from this one on.
    Lives(BlockId, [u32; LIVES]),
    /// So many facts before this one are all that was true when the zone was begun.
    Whole(u32),
}

const AREA: u8 = 0xa1;
const ERASED: u8 = 0xe1;
const BAD: u8 = 0xe2;
const TABLED: u8 = 0xe3;
const LIVES_OF: u8 = 0xe4;
const WHOLE: u8 = 0xe5;

impl Fact {
    pub(super) fn write(&self) -> Record {
        let mut entry = [0; ENTRY];
        let (kind, values): (u8, &[u32]) = match self {
            Self::Area(at, area) => {
                // The checksum of the block stands for that of the area.
                entry = *area;
                entry[28..].copy_from_slice(&at.0.to_le_bytes());
                return entry;
            }
            Self::Erased(block, erases) => (ERASED, &[block.0, *erases]),
            Self::Bad(block) => (BAD, &[block.0]),
            Self::Tabled(block, pages) => (TABLED, &[block.0, *pages]),
            Self::Lives(first, [a, b, c, d, e, f]) => {
                (LIVES_OF, &[first.0, *a, *b, *c, *d, *e, *f])
            }
            Self::Whole(count) => (WHOLE, &[*count]),
        };
        entry[0] = kind;
        for (value, at) in values.iter().zip((4..).step_by(4)) {
            entry[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        entry
    }

    pub(super) fn read(entry: &Record) -> Option<Self> {
        let value = |number: usize| u32_at(entry, 4 + 4 * number);
        Some(match entry[0] {
            AREA => {
                let at = Ppn(u32_at(entry, 28));
                Self::Area(at, record::at_place(entry, at))
            }
            ERASED => Self::Erased(BlockId(value(0)), value(1)),
            BAD => Self::Bad(BlockId(value(0))),
            TABLED => Self::Tabled(BlockId(value(0)), value(1)),
            LIVES_OF => {
                let [a, b, c, d, e, f] = [1, 2, 3, 4, 5, 6].map(value);
                Self::Lives(BlockId(value(0)), [a, b, c, d, e, f])
            }
            WHOLE => Self::Whole(value(0)),
            _ => return None,
        })
    }
}

/// Facts that say how often each block was erased.
pub(super) fn lives(erases: impl Iterator<Item = u32>) -> Vec<Fact> {
    let erases: Vec<u32> = erases.collect();
    let of = |(at, counts): (usize, &[u32])| {
        let mut all = [0; LIVES];
        all[..counts.len()].copy_from_slice(counts);
        counts.iter().any(|count| *count > 0).then_some(Fact::Lives(BlockId(at as u32), all))
    };
    (0..).step_by(LIVES).zip(erases.chunks(LIVES)).filter_map(of).collect()
}

#[cfg(test)]
mod tests {
    use thermocline_flash::{Kind as Chip, Lpn, Oob};

    use super::*;

    #[test]
    fn facts_read_as_they_were_written() {
        let oob = Oob { lpn: Lpn(7), stream: 3, sequence: 1 << 40, time: 9, note: 0x0102 };
        let at = Ppn(77);
        for fact in [
            Fact::Area(at, record::encode(Chip::Nand, at, &oob, 5)),
            Fact::Erased(BlockId(3), 9),
            Fact::Bad(BlockId(4)),
            Fact::Tabled(BlockId(5), 126),
            Fact::Lives(BlockId(6), [1, 2, 3, 4, 5, 6]),
            Fact::Whole(100),
        ] {
            assert_eq!(Fact::read(&fact.write()), Some(fact));
        }
        assert_eq!(Fact::read(&[0; ENTRY]), None);
    }

    #[test]
    fn a_block_in_which_a_bit_turned_is_none() {
        let head = Head {
            kind: Kind::Log,
            store: 1,
            generation: 2,
            number: 3,
            count: 4,
            zones: [5, 6, 7],
            data: 8,
        };
        let mut block = vec![1; 4096];
        head.write(&mut block);
        assert_eq!(Head::read(Kind::Log, &block), Some(head));
        assert_eq!(Head::read(Kind::Table, &block), None);
        for at in [0, 5, 20, 45, 4095] {
            let mut turned = block.clone();
            turned[at] ^= 4;
            assert_eq!(Head::read(Kind::Log, &turned), None, "byte {at}");
        }
    }

    #[test]
    fn a_zone_is_filled_by_its_pages_and_their_table() {
        for pages in 6..1000 {
            let layout = Layout::of(4096, u64::from(pages) * 4096 + 512).expect("large enough");
            let all = layout.data + layout.table(layout.data);
            assert!(all <= pages && all + 2 > pages, "{pages}: {layout:?}");
        }
        assert_eq!(Layout::of(4096, 5 * 4096), None);
    }
}
